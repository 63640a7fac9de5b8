"""Appendix A: orthogonal families, Bessel, Parseval, Legendre and Fourier."""

import warnings
from functools import partial
from itertools import combinations

import numpy as np
import pytest
import sympy
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import iv

from companion import kernels
from companion.exceptions import ConvergenceWarning
from companion.kernels import Fourier, Legendre, VectorFamily, expand, orthogonalize
from tests.kernels import for_all, normal, seeds
from tests.refusals import refusals


def random_family(seed, m=3, orthonormal=False):
    U = orthogonalize(normal(seed, m, 5))
    return VectorFamily(U if orthonormal else U * np.linspace(0.2, 3.0, m)[:, None])


@for_all(seeds, st.booleans())
def test_bessel_and_projection(seed, orthonormal):
    """Proposition A.2 with the weights |u_k|^2; the partial sum is the projection."""
    family, v = random_family(seed, orthonormal=orthonormal), normal(seed + 1, 5)
    e, U = expand(v, family), family.U
    assert_allclose(e.coefficients, [np.vdot(u, v) / np.vdot(u, u) for u in U])
    assert e.energy <= e.norm_squared * (1 + 1e-12)
    assert_allclose(U.conj() @ (v - e()), 0, atol=1e-10)
    assert np.linalg.norm(v - e()) ** 2 == pytest.approx(e.squared_distance(), abs=1e-10)
    if orthonormal:
        assert np.sum(np.abs(e.coefficients) ** 2) == pytest.approx(e.energy)


@for_all(seeds)
def test_parseval_and_isometry(seed):
    """Propositions A.4 and A.5, Theorem A.1, on a full orthogonal basis."""
    family = random_family(seed, m=5)
    v, w = normal(seed + 1, 5), normal(seed + 2, 5)
    e, d = expand(v, family), expand(w, family)
    assert_allclose(e(), v, atol=1e-10)
    assert e.energy == pytest.approx(e.norm_squared)
    assert e.inner(d) == pytest.approx(np.vdot(w, v), abs=1e-9)


@pytest.mark.parametrize("family", [Fourier(), Fourier(scale=1.0), Legendre()], ids=repr)
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


@pytest.mark.parametrize("n", range(9))
def test_legendre_polynomials(n):
    """Rodrigues' formula, the explicit sum and the recurrence agree; P_n(1) = 1; |P_n|^2 = 2/(2n+1)."""
    x, t = sympy.symbols("x"), np.linspace(-1, 1, 7)
    rodrigues = sympy.diff((x**2 - 1) ** n, x, n) / (2**n * sympy.factorial(n))
    explicit = sum(sympy.Rational(str(c)) * x**i for i, c in enumerate(Legendre.polynomial(n)))
    assert sympy.expand(rodrigues - explicit) == 0
    assert sum(Legendre.polynomial(n)) == 1
    assert sympy.integrate(sympy.expand(explicit**2), (x, -1, 1)) == sympy.Rational(2, 2 * n + 1)
    assert_allclose(Legendre()(n, t), [float(explicit.subs(x, v)) for v in t], atol=1e-12)


def test_gram_schmidt_drops_dependent_vectors():
    H = 1.0 / (np.arange(8)[:, None] + np.arange(8) + 1)  # nearly dependent
    Q = orthogonalize(H, tol=1e-14)
    assert_allclose(Q @ Q.T, np.eye(len(Q)), atol=1e-12)
    assert len(orthogonalize([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])) == 1
    assert kernels.orthogonal_complement([[0.0, 0.0, 0.0], [1e-70, 0.0, 0.0]]).shape == (2, 3)


@for_all(st.lists(st.integers(-9, 9), min_size=1, max_size=8))
def test_largest_finite_sum_by_enumeration(terms):
    sums = (sum(J) for m in range(len(terms) + 1) for J in combinations(terms, m))
    assert kernels.largest_finite_sum(terms) == max(map(abs, sums))


EXP, E2 = expand(np.exp, Legendre(), 2), VectorFamily(np.eye(2))

test_errors = refusals(
    (lambda: VectorFamily([[1.0, 0.0], [1.0, 1.0]]), "rows 0 and 1 are not"),
    (lambda: VectorFamily([[1.0, 0.0], [0.0, 0.0]]), "row 1 is zero"),
    (lambda: VectorFamily(np.empty((0, 2))), "at least one row"),
    (lambda: expand([1.0, 2.0, 3.0], E2), "length 2"),
    (lambda: expand([1.0, 2.0], Fourier(), 3), "must be a function", TypeError),
    (lambda: expand(np.exp, Fourier()), "order is needed", TypeError),
    (lambda: expand(np.exp, Fourier(), 2, breaks=[4.0]), "breaks"),
    (lambda: expand(lambda x: x[:2], Legendre(), 2), "got shape"),
    (lambda: expand(lambda x: x * np.nan, Legendre(), 2), "finite"),
    (lambda: EXP(), "x must be", TypeError),
    (lambda: Legendre()(-1, 0.5), ">= 0"),
    (lambda: EXP.inner(expand([1.0, 2.0], E2)), "same family"),
    (lambda: EXP.inner(expand(np.exp, Legendre(), 3)), "same index set"),
    (lambda: EXP.restrict([7]), "in the index set"),
    (lambda: kernels.rearranged([1.0, -1.0], np.nan, 1), "target must be"),
    (lambda: Fourier(scale=-1.0), "scale must be"),
)


WAVES, PEAK = lambda x: np.cos(300 * x), lambda x: np.exp(-1e5 * (x - 0.3) ** 2)


@pytest.mark.parametrize(
    ("v", "family"),
    [(np.sign, Fourier()), (np.abs, Legendre()), (WAVES, Fourier()), (PEAK, Legendre())],
)
def test_a_function_that_the_nodes_do_not_resolve(v, family):
    """cos 300 x had coefficients of 0.1 for |k| <= 5, where they are 0."""
    for evaluate in (lambda: expand(v, family, 5), lambda: family.inner(v, np.exp)):
        with pytest.warns(ConvergenceWarning, match="give breaks") as heard:
            evaluate()
        assert heard[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expand(v, family, 5, breaks=[0.0, *np.linspace(*family.interval, 60)[1:-1]])
