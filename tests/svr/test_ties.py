"""Values that are equal, while the bounds let w do little: then w decides between them, not the order of the points.

The objective hardly depends on w there, so any choice among the ties would pass for a solution. Truth comes from the
program of the tied points alone, in rational numbers, and from the same program at a larger C.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from companion.kernels import Gaussian
from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR

pytestmark = pytest.mark.filterwarnings("error")

X6, Y6 = np.array([[-3.0], [1.0], [2.0], [0.5], [4.0], [-1.0]]), np.array([0.0, 0, 0, 1, 1, 1])
X5, Y5 = X6[:5], Y6[:5]
PRICES = [1e-6, 1e-8, 1e-10, 1e-12, 1e-14]


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


@pytest.mark.parametrize("nu", [1e-9, 1e-11, 1e-13])
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
    for C in (1e-3, 1e-5, 1e-7, 1e-9, 1e-13):
        for seed in range(2):
            order = np.random.default_rng(seed).permutation(60)
            model = kind(t, C=C, kernel=kernel).fit(X[order], y[order])
            assert model.certificate_.ok
            norms.append(model.norm_ / C)
    assert_allclose(norms, norms[0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", [NuSVR, EpsilonSVR, NuSVRPenalizedBias])
def test_thousands_of_points_whose_rows_come_when_needed(kind):
    """No point was free, and the block of no points was asked for; another way wanted -P."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2100, 2)), rng.integers(0, 4, 2100).astype(float)
    model = kind(0.4, C=1e-9, kernel=Gaussian(1.0)).fit(X, y)
    assert model.certificate_.ok


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


@pytest.mark.parametrize("size", [1e-6, 1e-12, 1e-18, 1e-24, 1e-40, 1e-66])
def test_small_inner_products_beside_a_penalized_b(size):
    """In their sum with 1 they were lost, and w with them; now they are not, or the certificate misses."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 1)), rng.standard_normal(6)
    K = np.exp(-((X - X.T) ** 2))
    one = NuSVRPenalizedBias(1 / 3, C=0.01, kernel="precomputed").fit(K, y)
    assert abs(one.b_) < 1e-15  # two points outside, on both sides: the same b for every unit of K
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = NuSVRPenalizedBias(1 / 3, C=0.01 / size, kernel="precomputed").fit(size * K, y)
    assert bool(heard) != model.certificate_.ok
    if not heard:
        assert model.epsilon_ == pytest.approx(one.epsilon_, rel=1e-9)
        assert_allclose(model.dual_coef_ * size, one.dual_coef_, atol=1e-9)
