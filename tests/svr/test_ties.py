"""Values that are equal, while the bounds let w do little: then w decides between them, not the order of the points.

The objective hardly depends on w there, so any choice among the ties would pass for a solution. Truth comes from the
program of the tied points alone, in rational numbers, and from the same program at a larger C.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from companion.kernels import Gaussian
from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR

pytestmark = pytest.mark.filterwarnings("error")

X6, Y6 = np.array([[-3.0], [1.0], [2.0], [0.5], [4.0], [-1.0]]), np.array([0.0, 0, 0, 1, 1, 1])
X5, Y5 = X6[:5], Y6[:5]
PRICES = [1e-6]


@pytest.mark.parametrize("C", PRICES)
@pytest.mark.parametrize(
    ("machine", "X", "y", "w"),
    [
        # each half shares C nu / 2, no point more than C/m: 0 = w is possible
        (NuSVR(0.5), X6, Y6, 0.0),
        (NuSVR(0.5), X5, Y5, 0.0),
        # at m nu = 2.5 the two ones are full; half of C/m is left for three zeros, of both colours
        (NuSVRPenalizedBias(0.5), X5, Y5, 0.68),
        (NuSVRPenalizedBias(0.3), X5, Y5, 0.5),
        (EpsilonSVR(0.3), X5, Y5, 0.3),
        # P is (m/2C) I: equal shares, C nu / 6 and C nu / 4
        (QuadraticNuSVR(0.5), X6, Y6, 0.25 * (3.5 / 3.0 - 0.0)),
    ],
)
def test_w_does_not_depend_on_the_order(machine, X, y, w, C):
    machine.set_params(C=C)
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(y))
        model = machine.fit(X[order], y[order])
        assert model.certificate_.ok
        assert_allclose(model.w_ / C, w, atol=5e-6 if C == 1e-6 else 1e-8)


@pytest.mark.parametrize("nu", [1e-9, 1e-11])
def test_squared_slacks_and_a_small_nu(nu):
    """Only the largest and the smallest values have multipliers, and these are tied."""
    expected = QuadraticNuSVR(0.1, C=1.0).fit(X6, Y6)
    for order in (np.arange(6), np.array([1, 0, 5, 3, 2, 4])):
        model = QuadraticNuSVR(nu, C=1.0).fit(X6[order], Y6[order])
        assert_allclose(model.dual_coef_ / nu, expected.dual_coef_[order] * 10.0, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "t"), [(NuSVR, 0.5), (NuSVR, 1.3), (EpsilonSVR, 0.3), (NuSVRPenalizedBias, 0.4)]
)
@pytest.mark.parametrize("kernel", ["linear", Gaussian(1.0)])
def test_integers(kind, t, kernel):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), rng.integers(0, 4, 60).astype(float)
    norms = []
    for C in (1e-3, 1e-5, 1e-7):
        for seed in range(2):
            order = np.random.default_rng(seed).permutation(60)
            model = kind(t, C=C, kernel=kernel).fit(X[order], y[order])
            assert model.certificate_.ok
            norms.append(model.norm_ / C)
    # rounding of C |y| hides a part of |w|^2/2 that is as large
    assert_allclose(norms, norms[0], rtol=1e-6, atol=np.sqrt(2.0 * 2.0**-52 * 3.0 / 1e-7))


@pytest.mark.parametrize("kind", [NuSVR, EpsilonSVR, NuSVRPenalizedBias])
def test_fifty_ties_at_each_value(kind):
    """Which of the tied points are at the bound, only the ninth digit of their residuals says."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 2)), rng.integers(0, 4, 200).astype(float)
    assert kind(0.4, C=1e-9, kernel=Gaussian(1.0)).fit(X, y).certificate_.ok


@pytest.mark.parametrize("C", [1.0, 1e-6, 1e-10, 1e-14])
def test_norm_beside_a_large_ridge(C):
    """m/2C hides the diagonal of the Gram matrix, but w is there."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 2)), rng.standard_normal(12)
    K = Gaussian(1.0)(X)
    for kernel, Z in ((Gaussian(1.0), X), ("precomputed", K)):
        model = QuadraticNuSVR(0.3, C=C, kernel=kernel).fit(Z, y)
        d = model.dual_coef_
        assert model.norm_ == pytest.approx(np.sqrt(d @ K @ d), rel=1e-12)
