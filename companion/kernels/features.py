r"""Explicit feature maps: monomials for polynomial kernels, subsets for the subset kernel."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement, repeat
from typing import Any

import numpy as np
from scipy.special import comb

from companion.arguments import check_kind
from companion.checks import as_scalar, check_count, count_axes, real_or_complex


def polynomial_exponents(n: int, d: int, *, homogeneous: bool = False) -> np.ndarray:
    r"""Return the exponents :math:`(i_1, \dots, i_n)` of the monomials of degree at most d in n variables.

    Parameters
    ----------
    n : int
        Number of variables, at least 1.
    d : int
        Degree, at least 0.
    homogeneous : bool
        Whether only the monomials of degree exactly d are listed.

    Returns
    -------
    ndarray of int of shape (N, n)
        By falling degree; within one degree in the order of the pairs (1,1), (1,2), (2,2) of Example 17.4.
        :math:`N = \binom{n+d}{d}`, or :math:`\binom{n+d-1}{d}` if homogeneous.

    Notes
    -----
    Source: Examples 17.4 and 17.5. (The text prints the dimension of the second as :math:`\binom{m+d}{d}`;
    the m is n.)

    Examples
    --------
    >>> polynomial_exponents(2, 2, homogeneous=True)
    array([[2, 0],
           [1, 1],
           [0, 2]])
    >>> len(polynomial_exponents(3, 4))
    35
    """
    n, d = check_count(n, "n"), check_count(d, "d", at_least=0)
    degrees = [d] if homogeneous else range(d, -1, -1)
    lists = (J for m in degrees for J in combinations_with_replacement(range(n), m))
    return np.array([np.bincount(np.array(J, dtype=int), minlength=n) for J in lists])


def polynomial_features(X: Any, d: int, R: float = 0.0) -> np.ndarray:
    r"""Return features with :math:`\langle \varphi(x), \varphi(y) \rangle = (\langle x, y \rangle + R)^d`.

    .. math::

        & \varphi_{(i_1, \dots, i_n)}(x) \\
        & \quad = \Bigl( \tbinom{d}{m} R^{d-m} \tfrac{m!}{i_1! \cdots i_n!} \Bigr)^{1/2} x_1^{i_1} \cdots x_n^{i_n}, \\
        & m = i_1 + \dots + i_n \le d.

    Parameters
    ----------
    X : array-like of shape (p, n)
        Points, real or complex. One point of shape (n,) gives one row.
    d : int
        Degree, at least 0.
    R : float
        Nonnegative constant. With ``R=0`` only the monomials of degree d remain.

    Returns
    -------
    ndarray of shape (p, N)
        Columns in the order of :func:`polynomial_exponents`; :math:`N = \binom{n+d}{d}`, or
        :math:`\binom{n+d-1}{d}` when R = 0.

    Notes
    -----
    Source: Examples 17.4 and 17.5, Problem 17.2. The text prints the first coordinate of x in every factor
    of the monomial, leaves :math:`\binom{d}{m}` out of the binomial formula, and writes the dimension with
    m for n. The formula above is the one whose inner product is the kernel.

    Examples
    --------
    >>> polynomial_features([3.0, 4.0], 2).round(4)
    array([[ 9.    , 16.9706, 16.    ]])
    >>> Phi = polynomial_features([[1.0, 2.0], [3.0, 4.0]], 3, R=1.0)
    >>> Phi.shape, (Phi @ Phi.T).round(6)
    ((2, 10), array([[  216.,  1728.],
           [ 1728., 17576.]]))
    """
    if count_axes(X, "X") < 2:
        X = np.atleast_2d(X)
    X = real_or_complex(X, "X")
    d, R = check_count(d, "d", at_least=0), as_scalar(R, "R", at_least=0.0)
    exponents = polynomial_exponents(X.shape[1], d, homogeneous=R == 0)
    parts = np.column_stack([d - exponents.sum(axis=1), exponents])  # d - m, i_1, ..., i_n
    counts = comb(parts.cumsum(axis=1), parts).prod(axis=1)  # d! / ((d - m)! i_1! ... i_n!)
    factors = (np.repeat(X, powers, axis=1) for powers in exponents)  # x_1, x_1, x_3
    products = np.column_stack([each.prod(axis=1) for each in factors])
    return np.sqrt(counts * R ** parts[:, 0].astype(float)) * products


def rest_of_features(Phi: np.ndarray, X: np.ndarray, d: int, R: float, gamma: float) -> np.ndarray:
    r"""Return what rounding has taken from the features of :math:`(\gamma \langle x, y \rangle + R)^d`.

    Parameters
    ----------
    Phi : ndarray of shape (p, N)
        `polynomial_features`, as they are in float64.
    X : ndarray of shape (p, n)
        The points.
    d, R, gamma
        The kernel's parameters.

    Examples
    --------
    >>> x = np.array([[0.1, 3.0]])  # the features are 0.01, 3 sqrt(2)/10 and 9
    >>> (1e18 * rest_of_features(polynomial_features(x, 2), x, 2, 0.0, 1.0)).round(1)
    array([[ -0.8, -83.2,   0. ]])
    """
    rest = np.empty(Phi.shape)
    with localcontext(prec=40):
        points = [list(map(Decimal, x)) for x in X.tolist()]
        for k, powers in enumerate(
            polynomial_exponents(X.shape[1], d, homogeneous=R == 0).tolist()
        ):
            m = sum(powers)
            count = math.factorial(d) // math.prod(map(math.factorial, (d - m, *powers)))
            square = count * Fraction(R) ** (d - m) * Fraction(gamma) ** m
            factor = (Decimal(square.numerator) / square.denominator).sqrt()
            for i, x in enumerate(points):
                exact = math.prod(chain.from_iterable(map(repeat, x, powers)), start=factor)
                rest[i, k] = exact - Decimal(float(Phi[i, k]))
    return rest


def subsets(D: Iterable[Hashable]) -> list[tuple]:
    """Return all subsets of D as tuples, the small ones first, in the text's order.

    Parameters
    ----------
    D : iterable of hashable
        The finite set.

    Examples
    --------
    >>> subsets([1, 2, 3])
    [(), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]
    """
    check_kind(D, "D", "a list of hashable elements", lambda D: isinstance({*D}, set))
    D = list(dict.fromkeys(D))
    return [U for size in range(len(D) + 1) for U in combinations(D, size)]


def subset_features(A: Any, D: Sequence[Hashable]) -> np.ndarray:
    r"""Return the feature vector of a subset A of D: :math:`\varphi(A)_U = 1` if :math:`U \subseteq A`, else 0.

    Parameters
    ----------
    A : set, or list of sets
        One subset of D, or several.
    D : sequence of hashable
        The finite set; the 2^|D| subsets U come in the order of :func:`subsets`.

    Returns
    -------
    ndarray of shape (2^|D|,) or (n, 2^|D|)
        Zeros and ones. Inner products count common subsets:
        :math:`\langle\varphi(A), \varphi(B)\rangle = 2^{|A \cap B|}`.

    Notes
    -----
    Source: Example 17.6, Problem 17.3. (The vector of {2, 3, 4} printed there has three wrong
    entries.)

    Examples
    --------
    >>> subset_features({2, 3, 4}, [1, 2, 3, 4]).astype(int).tolist()
    [1, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0]
    """
    family, single = subsets(D), isinstance(A, (set, frozenset))
    A = [A] if single else A
    check_kind(A, "A", "a set, or a list of sets", lambda A: all(isinstance({*a}, set) for a in A))
    rows = [frozenset(a) for a in A]
    for row in rows:
        if not row <= set(D):
            raise ValueError(f"{set(row)} is not a subset of D = {list(D)}")
    features = np.array([[row.issuperset(U) for U in family] for row in rows], dtype=float)
    return features[0] if single else features
