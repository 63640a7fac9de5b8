"""Appendix A: orthogonal families, Bessel, Parseval, Legendre and Fourier."""

import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import iv

from companion.exceptions import ConvergenceWarning
from companion.kernels import Fourier, Legendre, expand
from tests.refusals import refusals

families = pytest.mark.parametrize("family", [Fourier(), Fourier(scale=1.0), Legendre()], ids=repr)


@families
def test_bessel_and_projection(family):
    """Proposition A.2 with the weights |u_k|^2; the partial sum is the projection."""
    v = np.exp
    e = expand(v, family, 4)
    rest = lambda x: v(x) - e(x)  # noqa: E731
    assert_allclose([family.inner(rest, partial(family, k)) for k in e.indices], 0, atol=1e-12)
    assert e.energy < e.norm_squared
    assert family.inner(rest, rest) == pytest.approx(e.squared_distance())


@families
def test_families_are_orthogonal(family):
    ks = family.indices(9)
    G = [[family.inner(partial(family, k), partial(family, j)) for j in ks] for k in ks]
    assert_allclose(G, np.diag(family.norm_squared(ks)), atol=1e-12)


def test_fourier_coefficients_against_the_fft():
    f = lambda x: np.exp(np.cos(x)) + 1j * np.sin(3 * x)  # noqa: E731
    e = expand(f, Fourier(), 8)
    samples = f(2 * np.pi * np.arange(64) / 64)
    assert_allclose(e.coefficients, (np.fft.fft(samples) / 64)[e.indices], atol=1e-13)
    assert_allclose(e.coefficients[8:], [iv(0, 1), *e.coefficients[9:]])


test_errors = refusals(
    (lambda: expand(np.exp, Legendre(), -1), "order"), (lambda: Fourier(scale=-1.0), "scale"),
)  # fmt: skip


def wave(x):
    return np.cos(300 * x)


def peak(x):
    return np.exp(-1e5 * (x - 0.3) ** 2)


def jump(x):
    return np.sign(x - 0.3)


@families
@pytest.mark.parametrize(("v", "jumps"), [(wave, []), (peak, [0.3]), (jump, [0.3])])
def test_waves_peaks_and_jumps_are_resolved(v, jumps, family):
    """Against the same integrals between many breaks."""
    found, (a, b) = expand(v, family, 5), family.interval
    ends = np.unique([a, *jumps, *np.linspace(a, b, 400)])
    t, w = np.polynomial.legendre.leggauss(20)
    x = np.concatenate([c + (d - c) * (t + 1) / 2 for c, d in pairwise(ends)])
    w = np.concatenate([(d - c) * w / 2 for c, d in pairwise(ends)])
    products = family.scale * (w * v(x)) @ family(found.indices, x).conj()
    assert_allclose(found.coefficients, products / family.norm_squared(found.indices), atol=1e-11)


def test_an_integral_that_is_not_found_warns():
    with pytest.warns(ConvergenceWarning, match="may be off by") as heard:
        expand(lambda x: np.random.default_rng(int(x * 1e9) + 2**32).normal(), Legendre(), 2)
    assert heard[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert expand(lambda x: 0.0, Legendre(), 2).energy == 0.0
