"""Digits lost in cancellation: a penalized b far from the origin, classes that nearly touch, zero eigenvalues."""

import warnings

import mpmath
import numpy as np
import pytest
from sklearn.base import clone

from companion.exceptions import ConvergenceWarning, InfeasibleProblemError
from companion.svm import (
    HardMarginSVC,
    SVMs1,
    SVMs2,
    SVMs2l,
    SVMs2prime,
    SVMs3,
    SVMs4,
    SVMs5,
    nu_min,
    spectrum_transform,
)
from companion.svm.estimator import SupportVectorMachine
from tests.exact import verify

U = np.array([[3.0], [4.0], [3.0]])
V = np.array([[1.0], [0.0], [-3.0], [-1.0], [-1.0], [1.0]])


@pytest.mark.parametrize("size", [1e2, 1e3])
def test_the_certificate_of_a_penalized_b_far_from_the_origin(size: float) -> None:
    """For long x, w is next to nothing and s'a is not: a certificate in units of |x|^2 would not see b."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = SVMs3(nu=4 / 9).fit_uv(size * U, size * V)
    # For size 10^k, b = 1/3 - 10^-2k/30 and eta = 2 b up to 10^-2k.
    error = max(abs(found.b_ - 1 / 3), abs(found.eta_ - 2 / 3)) / (2 / 3)
    worst = found.certificate_.worst
    assert error <= 2.0 / size**2 + 100.0 * max(worst, 1e-14) or worst > 0.1
    assert verify(found, size * np.vstack([U, V]), np.repeat([1, -1], [3, 6])).ok == (worst <= 1e-9)
    assert found.certificate_.ok == (not any(issubclass(w.category, ConvergenceWarning) for w in heard))  # fmt: skip


GAPS = [1e-4, 1e-6, 1e-8]


@pytest.mark.parametrize("gap", GAPS)
def test_nearly_touching_classes_are_separable(gap: float) -> None:
    u, v = [[gap], [1.0]], [[-gap], [-1.0]]
    assert nu_min(u, v) == 0.0
    for machine in (SVMs1(K=0.6), SVMs2prime(0.3), SVMs3(0.3)):
        machine.fit_uv(u, v)
        assert not machine.degenerate_
        assert machine.delta_ == pytest.approx(gap, rel=1e-9)
    hard = HardMarginSVC().fit_uv(u, v)
    assert hard.certificate_.ok
    assert verify(hard, np.vstack([u, v]), np.array([1, 1, -1, -1])).ok
    assert hard.w_ == pytest.approx(1.0 / gap, rel=1e-9)
    assert abs(hard.b_) < 1e-9


@pytest.mark.filterwarnings("ignore::companion.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("gap", GAPS)
def test_the_hard_margin_finds_a_narrow_slab(gap: float) -> None:
    u, v = [[1 + gap, 0.0], [1 + gap, 1.0], [5.0, 5.0]], [[1 - gap, 0.5], [-1.0, 2.0], [0.0, 0.0]]
    found = HardMarginSVC().fit_uv(u, v)
    true = ((1 + gap) - (1 - gap)) / 2  # of the numbers that float64 holds
    assert abs(found.delta_ / true - 1.0) <= 10.0 * max(found.certificate_.worst, 1e-9)


@pytest.mark.parametrize("shift", [0.0, 1e-17])
def test_classes_that_touch_are_not(shift: float) -> None:
    u, v = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]], [[shift, 0.0], [-1.0, 1.0], [-1.0, 0.3]]
    assert nu_min(u, v) == pytest.approx(1 / 3)
    with pytest.raises(InfeasibleProblemError, match="convex hulls meet"):
        HardMarginSVC().fit_uv(u, v)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("how", ["clip", "flip"])
def test_an_eigenvalue_of_zero_has_no_sign(n: int, how: str) -> None:
    """All eigenvalues but one are zero; rounding gives them signs."""
    row = np.eye(n)[:1]
    K, mapped = spectrum_transform(np.ones((n, n)), how, rows=row)
    np.testing.assert_allclose(K, np.ones((n, n)), atol=1e-14)
    np.testing.assert_allclose(mapped, np.full((1, n), 1.0 / n), atol=1e-14)


@pytest.mark.parametrize("x", [4.0, 4e3, 4e6, 1e8, 1e10])
def test_a_small_multiplier_of_a_long_feature_is_no_rounding(x: float) -> None:
    """One blue point at 0, one red one at -x: w = mu x, b = mu - lambda, and with K = 1/2 the slacks are lambda, mu.

    The two margins, -b = eta - lambda and w x + b = eta - mu, with lambda + mu = 1 give mu (x^2 + 6) = 3.
    """
    machine = SVMs5(nu=1.0, K=0.5).fit([[0.0], [-x]], [1, -1])
    mu = 3.0 / (x * x + 6.0)
    np.testing.assert_allclose(machine.mu_, mu, rtol=1e-9)
    np.testing.assert_allclose(machine.w_, mu * x, rtol=1e-9)
    assert machine.predict([[0.0], [-x]]).tolist() == [1, -1]


def test_the_zero_kernel_at_zero_is_no_underflow() -> None:
    assert nu_min([[0.0]], [[0.0], [0.0]], kernel=lambda X, Y: X @ Y.T) == pytest.approx(2 / 3)


def exact_norm(machine: SupportVectorMachine, X: np.ndarray) -> float:
    """Return the root of c'Kc for the matrix of the Gaussian, in 50 digits."""
    with mpmath.workdps(50):
        x, c = ([mpmath.mpf(float(v)) for v in values] for values in (X[:, 0], machine.dual_coef_))
        K = [[mpmath.exp(-((p - q) ** 2) / 2) for q in x] for p in x]
        square = sum(a * b * K[i][j] for i, a in enumerate(c) for j, b in enumerate(c))
        return float(mpmath.sqrt(square))


GAUSSIAN = [
    SVMs1(K=0.3, kernel="rbf"),
    SVMs2(K=1.0, kernel="rbf"),
    SVMs2l(kernel="rbf"),
    SVMs2prime(nu=2 / 3, kernel="rbf"),
    SVMs3(nu=2 / 3, kernel="rbf"),
    SVMs4(nu=2 / 3, kernel="rbf"),
]


@pytest.mark.parametrize("machine", GAUSSIAN, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("size", [1.0, 1e-2, 1e-4, 1e-5, 1e-6])
def test_the_digits_of_the_norm_are_told(machine: SupportVectorMachine, size: float) -> None:
    """Points that nearly coincide have images that do so more: the norm of w is what cancels in c'Kc."""
    X = size * np.vstack([U, V])
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = clone(machine).fit(X, np.repeat([1, -1], [3, 6]))
    wrong = abs(found.norm_ / exact_norm(found, X) - 1.0)
    assert wrong <= 2.0 * found.norm_error_ + 1e-14
    told = any("rounding has changed the norm of w" in str(w.message) for w in heard)
    assert told == (found.certificate_.ok and found.norm_error_ > 1e-7)
    assert size > 1e-6 or told or not found.certificate_.ok


@pytest.mark.parametrize("size", [1e-4, 1e-5, 1e-6])
def test_a_linear_program_sees_points_that_nearly_coincide(size: float) -> None:
    """HiGHS took rows that differ by 1e-10 for equal, and w = 0 for the optimum."""
    X, y = size * np.vstack([U, V]), np.repeat([1, -1], [3, 6])
    with pytest.warns(ConvergenceWarning):
        found = SVMs2l(kernel="rbf").fit(X, y)
    assert found.objective_ == pytest.approx(0.0, abs=1e-6)
    assert found.predict(X).tolist() == y.tolist()
