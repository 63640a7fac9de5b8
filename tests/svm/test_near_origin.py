"""A penalized b of points near the origin: s'a = -b is next to nothing beside the multipliers, and b has its digits."""

import mpmath as mp
import numpy as np
import pytest

from companion.certificates import verify
from companion.svm import SVMs3, SVMs5

BLUE, RED = 8, 6
S = np.repeat([1.0, -1.0], [BLUE, RED])


def points(seed: int, away: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(BLUE + RED, 2)) + S[:, None] + away


def exact_levels(machine: SVMs3 | SVMs5, X: np.ndarray) -> tuple[float, float]:
    """Return b and eta from the KKT equations of the multipliers that are free, solved with 60 digits."""
    mp.mp.dps = 60
    squared, n = isinstance(machine, SVMs5), len(S)
    K, total = mp.mpf(machine.K_), mp.mpf(machine.Km_)
    a = np.empty(n)
    a[S > 0], a[S < 0] = machine.lambda_, machine.mu_
    full = [] if squared else list(np.flatnonzero(a >= machine.K_))
    free = [i for i in np.flatnonzero(a > 0.0) if i not in full]
    x = [[mp.mpf(float(t)) for t in row] for row in X]

    def entry(i: int, j: int) -> mp.mpf:
        inner = S[i] * S[j] * mp.fdot(x[i], x[j])
        return inner + 1 / (2 * K) if squared and i == j else inner

    f = len(free)
    matrix, right = mp.zeros(f + 2), mp.zeros(f + 2, 1)
    for k, i in enumerate(free):
        for m, j in enumerate(free):
            matrix[k, m] = entry(i, j)
        matrix[k, f] = matrix[f, k] = S[i]
        matrix[k, f + 1] = matrix[f + 1, k] = 1
        right[k] = -sum((entry(i, j) * K for j in full), mp.mpf(0))
    matrix[f, f] = -1  # s'a = -b
    right[f] = -sum((S[j] * K for j in full), mp.mpf(0))
    right[f + 1] = total - len(full) * K
    solution = mp.lu_solve(matrix, right)
    return -float(solution[f]), -float(solution[f + 1])


@pytest.mark.parametrize("size", [1e-3, 1e-4, 3e-5, 1e-5, 5e-6, 1e-6, 1e-8, 1e-20])
@pytest.mark.parametrize(
    ("machine", "nu", "K"), [(SVMs3, 0.5, None), (SVMs3, 0.43, 1e10), (SVMs5, 0.5, 1e7), (SVMs5, 0.43, 1e12)]
)  # fmt: skip
def test_b_has_its_digits(machine: type, nu: float, K: float | None, size: float) -> None:
    X = size * points(0)
    found = machine(nu=nu, K=K).fit(X, S)
    b, eta = exact_levels(found, X)
    assert found.certificate_.ok
    assert verify(found, X, S).ok
    assert found.b_ == pytest.approx(b, rel=1e-8)
    assert found.eta_ == pytest.approx(eta, rel=1e-8)


@pytest.mark.parametrize("away", [1e2, 1e4])
@pytest.mark.parametrize(("machine", "K"), [(SVMs3, None), (SVMs5, 1e13)])
def test_points_that_are_far_from_the_origin_for_their_distances(
    machine: type, K: float | None, away: float
) -> None:
    """eta and the norm of w forget where the origin is, b does not."""
    size = 1e-8
    here, there = (machine(nu=0.5, K=K).fit(size * points(0, far), S) for far in (0.0, away))
    assert there.eta_ == pytest.approx(here.eta_, rel=1e-6)
    assert there.norm_ == pytest.approx(here.norm_, rel=1e-6)
    assert there.b_ == pytest.approx(exact_levels(there, size * points(0, away))[0], rel=1e-6)


def test_the_smallest_b_of_many() -> None:
    """With nu = 1 all multipliers are K and s'a = 0: many b are left, and the penalty takes 0."""
    u, v = np.array([[3.0], [4.0]]), np.array([[1.0], [2.0]])
    for size in (1e-4, 1e-7):
        found = SVMs3(nu=1.0, K=1.0).fit_uv(size * u, size * v)
        w = 4.0 * size  # all multipliers are 1: w = 3 + 4 - 1 - 2
        assert found.norm_ == pytest.approx(w, rel=1e-12)
        assert found.certificate_.ok
        assert found.b_ == 0.0


@pytest.mark.filterwarnings("error::companion.exceptions.ConvergenceWarning")
def test_a_b_that_does_not_settle_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    X = 3e-4 * points(0)
    SVMs3(nu=0.43).fit(X, S)
    monkeypatch.setattr("companion.svm.estimator._REPETITIONS", 1)
    with pytest.raises(UserWarning, match="of its size only; scale the data up"):
        SVMs3(nu=0.43).fit(X, S)
