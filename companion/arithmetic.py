"""The arithmetic of float64 that all of the package shares: its epsilon, sizes, symmetry, a ratio that may be 0/0."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)  # the smallest normal number, which nothing that counts is below
ROUNDING = 1e-12  # numbers that differ by this part of their terms are equal: it is the rounding of 4,500 of them
Bounds = float | np.ndarray  # one for all variables, or one for each
CANCELS = 1e3  # of the terms of a sum to its value: from here on the sum is made with more digits
BLOCK = 2**24  # entries of a matrix that is made at once: 128 MB
_SMALL = 2**16  # entries of a matrix, whose products are made one by one
_SPLIT = 2.0**27 + 1.0  # Veltkamp: halves of 26 bits, whose products are exact


def apart(value: float, limit: float, allowed: float = 0.0) -> tuple[str, str]:
    """Return a value and a limit as text, with six digits, or as many as tell them apart if they differ.

    Where `allowed` has the sign of what may be added to the limit, it is rounded to that side: who types it from a
    message is not refused.

    Examples
    --------
    >>> apart(0.9, 8 / 9, -1.0), apart(2 / 3 + 1e-9, 2 / 3, -1.0), apart(1.0 + 1e-9, 1.0)
    (('0.9', '0.888888'), ('0.666667', '0.666666'), ('1.000000001', '1'))
    """
    for digits in range(6, 18):  # 17 tell all floats apart
        one, two = (f"{number:.{digits}g}" for number in (value, limit))
        if (float(two) - limit) * allowed < -16.0 * EPS * abs(limit):
            unit = 10.0 ** (math.floor(math.log10(abs(limit))) + 1 - digits)
            two = f"{limit + math.copysign(0.5 * unit, allowed):.{digits}g}"
        if one != two or value == limit:
            return one, two
    return repr(float(value)), repr(float(limit))


def beyond(value: float, limit: float) -> tuple[str, str]:
    """Return a residual and the tolerance that it misses as text, with as many digits as show that it does.

    Examples
    --------
    >>> beyond(2.34e-3, 1e-9), beyond(1.0004e-9, 1e-9), beyond(1.6e-9, 1.5e-9)
    (('2.3e-03', '1e-09'), ('1.0004e-09', '1e-09'), ('1.6e-09', '1.5e-09'))
    """
    one = (f"{value:.{n}e}" for n in range(1, 17))
    two = (f"{limit:.{n}e}" for n in range(17))
    told = next((text for text in one if float(text) > limit), f"{value:.1e}")
    return told, next((text for text in two if float(text) == limit), repr(limit))


def largest(values: np.ndarray) -> float:
    """Return the largest absolute value of an array of any shape, 0 for an empty one.

    Examples
    --------
    >>> largest(np.array([[1.0, -3.0], [2.0, 0.0]])), largest(np.zeros(0))
    (3.0, 0.0)
    """
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def exact_product(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return M x with each entry rounded once: what cancels leaves nothing of its rounding.

    Where x has the shape of M, each row has factors of its own.

    A product of two floating-point numbers is a sum of two (Dekker 1971), and ``math.fsum`` rounds a sum once.

    Examples
    --------
    >>> M, x = np.array([[1.0, 1.0, -1.0]]), np.array([1e17, 3.0, 1e17])
    >>> exact_product(M, x)
    array([3.])
    """
    return np.array([math.fsum(row) for row in _exact_terms(M, x)])


def _exact_terms(M: np.ndarray, x: np.ndarray) -> list[list[float]]:
    def halves(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        large = _SPLIT * v
        high = large - (large - v)
        return high, v - high

    products = M * x
    (M1, M2), (x1, x2) = halves(M), halves(x)
    return np.hstack([products, ((M1 * x1 - products) + M1 * x2 + M2 * x1) + M2 * x2]).tolist()


def accurate_product(M: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return M x with each entry rounded once, what that rounding has taken away, and a bound of what else is lost.

    For large arrays, both factors are cut into three slices of so few bits that BLAS adds their products without
    rounding (Ozaki, Ogita, Oishi and Rump 2012).

    Examples
    --------
    >>> product, rest, lost = accurate_product(np.array([[1.0, 1.0, -1.0]]), np.array([1e17, 3.0, 0.0]))
    >>> product, rest, lost < 1e-15
    (array([1.e+17]), array([3.]), True)
    """
    lost = 0.0
    if M.size <= _SMALL:
        rows = _exact_terms(M, x)
    else:
        bits = (52 - math.ceil(math.log2(max(x.size, 2)))) // 2
        products = [A @ np.column_stack(_slices(x, bits)) for A in _slices(M, bits)]
        rows = np.hstack(products).tolist()
        lost = 4.0 * x.size * math.ldexp(largest(M) * largest(x), -3 * bits)
    product = np.array([math.fsum(row) for row in rows])
    rest = np.array([math.fsum((*row, -value)) for row, value in zip(rows, product.tolist())])
    return product, rest, lost + EPS * largest(rest)


def _slices(rest: np.ndarray, bits: int) -> list[np.ndarray]:
    unit, parts = math.ldexp(1.0, math.frexp(largest(rest))[1] - bits), []
    for _ in range(3):
        parts.append(np.rint(rest / unit) * unit)
        rest, unit = rest - parts[-1], math.ldexp(unit, -bits)
    return parts


def rest_of_gaussians(K: np.ndarray, X: np.ndarray, sigma: float) -> np.ndarray:
    r"""Return what rounding has taken from the numbers :math:`K_{ij} = e^{-|x_i - x_j|^2/2\sigma^2}`.

    Examples
    --------
    >>> K, X = np.array([[1.0, 0.625], [0.625, 1.0]]), np.array([[0.0], [1.0]])
    >>> round(float(0.625 + rest_of_gaussians(K, X, 1.0)[0, 1]), 12)  # exp(-1/2)
    0.606530659713
    """
    rest = np.zeros(K.shape)
    with localcontext(prec=40):
        points, unit = [list(map(Decimal, x)) for x in X.tolist()], -2 * Decimal(sigma) ** 2
        for i, x in enumerate(points):
            for j, y in enumerate(points[:i]):
                square = sum((a - b) ** 2 for a, b in zip(x, y))
                rest[i, j] = rest[j, i] = (square / unit).exp() - Decimal(float(K[i, j]))
    return rest


def rounded_together(G: np.ndarray, c: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return floats near c + rest, one rounded after another: what a large one misses, smaller ones take up.

    So x'G x is small for the vector x of what they miss: it is the nearest plane of Babai (1986), by a factor of G.
    """
    order = np.argsort(np.abs(c))
    values, V = np.linalg.eigh(G[np.ix_(order, order)])  # rounding may have made G indefinite
    root = np.sqrt(np.maximum(values, 1e-14 * largest(values)))
    L = np.linalg.qr(root[:, None] * V.T)[1].T
    rounded, missed = c.copy(), np.zeros(c.size)
    for i in reversed(range(c.size)):
        k = order[i]
        rounded[k] += rest[k] - L[i + 1 :, i] @ missed[i + 1 :] / L[i, i]
        missed[i] = rounded[k] - c[k] - rest[k]
    return rounded


def is_symmetric(P: np.ndarray, tolerance: float = 1e-10) -> bool:
    """Return whether a square matrix is symmetric up to a part of the larger of its diagonal and its row sums.

    Its products with one vector from the left and from the right are compared, which reads P once: no skew matrix is
    likely to have these cosines in its kernel. One entry that differs from its mirror image shows in one product.

    Examples
    --------
    >>> is_symmetric(np.array([[2.0, 1.0], [1.0, 2.0]])), is_symmetric(np.array([[2.0, 1.0], [0.9, 2.0]]))
    (True, False)
    """
    probe = np.cos(np.arange(len(P)))
    left, right = P @ probe, probe @ P
    return largest(left - right) <= tolerance * max(largest(left), largest(P.diagonal()))


def ratio(value: Any, scale: Any) -> Any:
    """Return value / scale for values and scales that are not negative, with 0/0 = 0, entry by entry.

    Examples
    --------
    >>> ratio(0.0, 0.0), ratio(1.0, 4.0), ratio(1.0, -0.0)
    (0.0, 0.25, inf)
    """
    if isinstance(value, float) and isinstance(scale, float):
        return value / scale if scale > 0.0 else math.inf * value if value else 0.0
    with np.errstate(all="ignore"):
        out = np.where(np.equal(value, 0.0), 0.0, np.divide(value, np.abs(scale)))
    return float(out) if out.ndim == 0 else out


def linear_program(cost: np.ndarray, method: str = "highs", **program: Any) -> Any:
    """Let HiGHS solve a linear program. What it needs is slow to import, and most pages do not ask for it."""
    from scipy.optimize import linprog

    return linprog(cost, method=method, **program)
