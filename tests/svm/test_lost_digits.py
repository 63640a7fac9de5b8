"""The limits of float64: classes that nearly touch, images that nearly coincide, strange units, many points."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from companion.exceptions import InfeasibleProblemError
from companion.kernels import Gaussian
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, nu_min
from tests.exact import verify
from tests.exact.numbers import exact

U = np.array([[3.0], [4.0], [3.0]])
V = np.array([[1.0], [0.0], [-3.0], [-1.0], [-1.0], [1.0]])
MACHINES = [SVMs1(K=0.3), SVMs2(), SVMs2prime(2 / 3), SVMs3(2 / 3), SVMs4(2 / 3)]


@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-8])
def test_nearly_touching_classes_are_separable(gap: float) -> None:
    u, v = [[gap], [1.0]], [[-gap], [-1.0]]
    assert nu_min(u, v) == 0.0
    for machine in (SVMs1(K=0.6), SVMs2prime(0.3), SVMs3(0.3)):
        machine.fit_uv(u, v)
        assert (machine.degenerate_, machine.delta_) == (False, pytest.approx(gap, rel=1e-9))
    hard = HardMarginSVC().fit_uv(u, v)
    assert hard.certificate_.ok
    assert verify(hard, np.vstack([u, v]), np.array([1, 1, -1, -1])).ok
    assert (hard.w_[0], hard.b_) == pytest.approx((1.0 / gap, 0.0), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("gap", [1e-7, 1e-11])
@pytest.mark.parametrize("seed", range(6))
def test_nu_min_sees_a_gap_in_any_direction(gap: float, seed: int) -> None:
    """Multipliers that are negative by a hair would let the hulls meet."""
    rng = np.random.default_rng(seed)
    near, t = np.arange(6) > 2, rng.uniform(0.0, np.pi)
    turn = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
    apart, along = gap + near * rng.random((2, 6)), rng.standard_normal((2, 6))
    u, v = (np.column_stack([side * a, b]) @ turn for side, a, b in zip((1, -1), apart, along))
    assert nu_min(u, v) == 0.0


@pytest.mark.parametrize("shift", [0.0, 1e-17])
def test_classes_that_touch_are_not(shift: float) -> None:
    u, v = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]], [[shift, 0.0], [-1.0, 1.0], [-1.0, 0.3]]
    assert nu_min(u, v) == pytest.approx(1 / 3)
    with pytest.raises(InfeasibleProblemError, match="convex hulls meet"):
        HardMarginSVC().fit_uv(u, v)


def exact_norm(machine, X):
    """Return the root of c'Kc for the matrix of the Gaussian, without rounding."""
    x, c = exact(X[:, 0]), exact(machine.dual_coef_)
    K = np.array([[(-((p - q) ** 2) / 2).exp() for q in x] for p in x])
    return float((c @ K @ c).sqrt())


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
@pytest.mark.parametrize("kernel", ["rbf", 1.0 * Gaussian()], ids=["exact", "rounded"])
@pytest.mark.parametrize("size", [1.0, 1e-4, 1e-6])
def test_the_digits_of_the_norm_are_told(machine, size, kernel):
    """Points that nearly coincide have images that do so more: the norm of w is what cancels in c'Kc.

    The values of a Gaussian kernel are known to more digits where these are needed, those of a multiple of it are not.
    """
    X = size * np.vstack([U, V])
    with warnings.catch_warnings(record=True, action="always") as heard:
        found = clone(machine).set_params(kernel=kernel).fit(X, np.repeat([1, -1], [3, 6]))
    wrong = abs(found.norm_ / exact_norm(found, X) - 1.0)
    assert wrong <= 2.0 * found.norm_error_ + 1e-14
    told = any("rounding has changed the norm of w" in str(w.message) for w in heard)
    assert told == (found.certificate_.ok and found.norm_error_ > 1e-7)
    assert size > 1e-6 or kernel == "rbf" or told or not found.certificate_.ok


def test_memory_is_that_of_the_support_vectors() -> None:
    """6,000 points: the kernel matrix has 288 MB; the rows of the free support vectors, a few."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 3000)
    X = rng.standard_normal((6000, 3)) + y[:, None]
    tracemalloc.start()
    SVMs2(K=1.0, kernel="rbf", kernel_params={"gamma": 0.1}).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6
