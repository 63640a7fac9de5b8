"""Functions of an RKHS: Theorem 17.1, Corollary 17.1, SP Theorems 1.2 and 1.5."""

import warnings

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from companion.exceptions import ConvergenceWarning
from companion.kernels.rkhs import RKHSFunction
from companion.kernels.vectors import FeatureMap, Gaussian, Linear, Polynomial, Sigmoid
from tests.kernels import for_all, seeds
from tests.refusals import refusals

COMPLEX = FeatureMap(lambda x: [np.exp(1j * x[0]), x[1], 1j * x[0] * x[1], 1.0])
kernels = st.sampled_from([Gaussian(1.0), Polynomial(2), Linear(), COMPLEX])


def random_function(kernel, seed, p=4):
    rng = np.random.default_rng(seed)
    alpha = rng.standard_normal(p)
    if kernel is COMPLEX:
        alpha = alpha + 1j * rng.standard_normal(p)
    return RKHSFunction(kernel, rng.standard_normal((p, 2)), alpha)


@for_all(kernels, seeds)
def test_inner_product(kernel, seed):
    """The three forms of the inner product agree; it is Hermitian and linear in the first argument."""
    f, g = random_function(kernel, seed), random_function(kernel, seed + 1, p=3)
    double_sum = f.coefficients @ kernel(f.points, g.points) @ g.coefficients.conj()
    assert f.inner(g) == pytest.approx(double_sum, abs=1e-9)
    assert f.inner(g) == pytest.approx(np.sum(g.coefficients.conj() * f(g.points)), abs=1e-9)
    assert f.inner(g) == pytest.approx(np.sum(f.coefficients * np.conj(g(f.points))), abs=1e-9)
    assert g.inner(f) == pytest.approx(np.conj(f.inner(g)), abs=1e-9)
    h = random_function(kernel, seed + 2)
    assert (2 * f + h).inner(g) == pytest.approx(2 * f.inner(g) + h.inner(g), abs=1e-8)


@for_all(kernels, seeds)
def test_reproducing_property_and_bound(kernel, seed):
    f = random_function(kernel, seed)
    x, y = np.random.default_rng(seed).standard_normal((2, 2))
    kx, ky = RKHSFunction.section(kernel, x), RKHSFunction.section(kernel, y)
    assert f.inner(kx) == pytest.approx(f(x), abs=1e-9)
    assert kx.inner(ky) == pytest.approx(kernel(x, y), abs=1e-9)
    assert abs(f(x)) ** 2 <= f.norm() ** 2 * kernel.diagonal(x).real + 1e-9
    assert kx(y) == pytest.approx(kernel(x, y))


@for_all(kernels, seeds)
def test_representer_theorem(kernel, seed):
    """The projection keeps the values at the data, and what it removes is orthogonal to it."""
    f = random_function(kernel, seed, p=6)
    S = np.random.default_rng(seed + 5).standard_normal((4, 2))
    S[3] = S[0]  # a repeated data point: the Gram matrix is singular
    f_S = f.project(S)
    rest, scale = f - f_S, 1 + f.norm()
    assert_allclose(f_S(S), f(S), atol=1e-6 * scale)
    assert abs(f_S.inner(rest)) < 1e-6 * scale**2
    assert f.norm() ** 2 == pytest.approx(f_S.norm() ** 2 + rest.norm() ** 2, rel=1e-6)
    assert f_S.distance(f_S.project(S)) < 1e-5 * scale


LINE = RKHSFunction.section("linear", [1.0])

test_errors = refusals(
    (lambda: RKHSFunction(Sigmoid(), [[1.0]], [1.0]), "positive definite"),
    (lambda: RKHSFunction("precomputed", [[1.0]], [1.0]), "positive definite"),
    (lambda: RKHSFunction("linear", [1.0, 2.0], [1.0]), "single point"),
    (lambda: RKHSFunction.section("linear", [[1.0], [2.0]]), "2 points need 2 numbers, got 1"),
    (lambda: LINE + RKHSFunction.section("rbf", [1.0]), "spaces"),
    (lambda: LINE * 1e-200, "coefficients has numbers of the size 1e-200"),
    (lambda: LINE.inner(3), "RKHSFunction", TypeError), (lambda: LINE - 3, "RKHSFunction", TypeError),
    (lambda: LINE * LINE, "must be a number, got RKHSFunction", TypeError),
)  # fmt: skip


def test_kernels_that_are_none():
    """The norm was 0, and the interpolant missed every value."""
    X, c = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), [1.0, 2.0, -1.0]
    negative, lopsided = lambda X, Y: -(X @ Y.T), lambda X, Y: X @ Y.T + X[:, :1]
    with pytest.raises(ValueError, match="<f, f> = -"):
        RKHSFunction(negative, X, c).norm()
    for kernel, message in ((negative, "is negative"), (lopsided, "not Hermitian")):
        with pytest.raises(ValueError, match=message):
            RKHSFunction.interpolate(kernel, X, c)
    assert RKHSFunction.section("linear", [0.0, 0.0]).norm() == 0.0


def test_an_interpolant_that_misses_says_so():
    near = np.linspace(-1, 1, 30)[:, None], np.repeat([-1.0, 1.0], 15)
    for points, values in (([[0.0], [0.0]], [1.0, 2.0]), near):
        with pytest.warns(ConvergenceWarning, match="values are missed") as heard:
            f = RKHSFunction.interpolate(Gaussian(3.0), points, values)
        assert heard[0].filename == __file__
        assert np.abs(f(points) - values).max() > 0.1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            RKHSFunction.interpolate(Gaussian(3.0), points, np.zeros(len(points)))
            if points is not near[0]:  # there f has the rounding of terms of 1e7
                f.project(points)
    with pytest.warns(
        ConvergenceWarning, match="values are missed by 1e"
    ):  # the second: one unit is far larger
        RKHSFunction.interpolate("linear", [[1e8, 0.0], [0.0, 1.0]], [1e8, 1.0])
