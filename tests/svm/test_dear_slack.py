"""Squared slacks at a high price: for data that cannot be separated, w is a difference of terms of size K.

So as many digits of w, b and eta are lost as K has, and no more.
"""

import warnings

import mpmath as mp
import numpy as np
import pytest

from companion.datasets import nine_points
from companion.exceptions import ConvergenceWarning
from companion.svm import SVMs3, SVMs4, SVMs5
from tests.exact import verify

PRICES = [1e-2, 1.0, 1e2, 1e4]


def clouds(distance: float) -> tuple[np.ndarray, np.ndarray]:
    s = np.repeat([1.0, -1.0], 15)
    return np.random.default_rng(0).standard_normal((30, 2)) + distance * s[:, None], s


NINE = nine_points()
DATA = {
    "nine points": (NINE.X, np.where(NINE.y > 0, 1.0, -1.0)),
    "mixed": clouds(0.5),
    "apart": clouds(3.0),
}


def exact_plane(X: np.ndarray, s: np.ndarray, K: float, nu: float, penalized: bool) -> np.ndarray:
    """Return (w, b, eta): Newton's method for the primal program, with 60 digits."""
    mp.mp.dps = 60
    n, d = X.shape
    slack = mp.matrix(np.column_stack([-s[:, None] * X, s, np.ones(n)]).tolist())
    H0 = mp.diag([1] * d + [int(penalized), 0])
    gradient = mp.matrix([0] * (d + 1) + [mp.mpf(n) * K * mp.mpf(nu)])
    inside = np.ones(n, dtype=bool)
    for _ in range(50):
        R = mp.matrix([list(slack[i, :]) for i in np.flatnonzero(inside)])
        z = mp.lu_solve(H0 + 2 * mp.mpf(K) * (R.T * R), gradient)
        new = np.array([value > 0 for value in slack * z])
        if (new == inside).all():
            return np.array([float(value) for value in z])
        inside = new
    raise AssertionError("Newton's method does not end")


@pytest.mark.parametrize("K", PRICES)
@pytest.mark.parametrize("machine", [SVMs4, SVMs5])
@pytest.mark.parametrize("data", DATA)
def test_as_many_digits_are_lost_as_K_has(data: str, machine: type, K: float) -> None:
    X, s = DATA[data]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = machine(nu=0.5, K=K).fit(X, s)
    true = exact_plane(X, s, K, 0.5, penalized=machine is SVMs5)
    error = np.linalg.norm(np.array([*found.w_, found.b_, found.eta_]) - true)
    error /= np.linalg.norm(true)
    assert error <= 1e-14 * max(K, 1.0)
    assert found.certificate_.ok == (not any(issubclass(w.category, ConvergenceWarning) for w in heard))  # fmt: skip
    if found.certificate_.ok:
        assert verify(found, X, s).ok


def test_separated_points_bear_any_price() -> None:
    X, s = DATA["apart"]
    for K in PRICES:
        assert SVMs5(nu=0.5, K=K).fit(X, s).certificate_.worst < 1e-14


def test_b_of_a_tenth_digit_is_not_called_zero() -> None:
    """s'a is below 1e-12 of the sum of the multipliers here, and still has digits."""
    X, s = DATA["nine points"]
    with pytest.warns(ConvergenceWarning):
        found = SVMs5(nu=0.5, K=1e10).fit(X, s)
    assert abs(found.b_) < 1e-12 * (found.lambda_.sum() + found.mu_.sum())
    assert found.b_ == pytest.approx(exact_plane(X, s, 1e10, 0.5, penalized=True)[2], rel=1e-3)


@pytest.mark.parametrize(("seed", "nu"), [(0, 0.55), (1, 0.9), (2, 0.7), (3, 0.9)])
def test_multipliers_with_a_bound_have_more_rounding_in_their_sum(seed: int, nu: float) -> None:
    u = 1e4 * (np.random.default_rng(seed).standard_normal((12, 2)) + 0.3)
    found = SVMs3(nu).fit_uv(u, -u)
    # b^2/2 has the curvature 1 beside the |u|^2 of the rest: rounding of the gradient moves b by eps |u|^2 sum(a).
    assert abs(found.b_) <= np.finfo(float).eps * (u * u).sum(axis=1).max() * nu
