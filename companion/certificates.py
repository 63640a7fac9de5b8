"""Certificates of optimality: numbers that prove an answer, computed from the problem's data alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from companion.checks import as_matrix, as_scalar, as_vector, count_axes
from companion.engine.certificate import certify
from companion.results import Certificate

__all__ = ["Certificate", "certify_qp"]


def _vector(value: Any, name: str, n: int) -> np.ndarray:
    """Return a vector of length n. Numbers that are not finite pass: no certificate is good for them."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == (n,):
        return value
    return as_vector(value, name, n, finite=False)


def _bound(value: Any, name: str, n: int) -> np.ndarray:
    return _vector(np.full(n, value) if count_axes(value, name) == 0 else value, name, n)


def _matrix(value: Any, name: str, shape: tuple[int, int]) -> Any:
    """Return a matrix of this shape; those that are never formed stay as they are."""
    plain = type(value) is np.ndarray and value.dtype == np.float64
    never_formed = getattr(value, "__array_ufunc__", False) is None
    if (plain or never_formed) and value.shape == shape:
        return value
    return as_matrix(value, name, shape)


def _length(value: Any, name: str) -> int:
    count_axes(value, name)
    return np.size(value)


def certify_qp(
    P: Any,
    q: np.ndarray,
    A: np.ndarray | None,
    b: np.ndarray | None,
    lower: float | np.ndarray,
    upper: float | np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    z_lower: np.ndarray,
    z_upper: np.ndarray,
    tolerance: float = 1e-9,
    *,
    Px: np.ndarray | None = None,
) -> Certificate:
    r"""Measure how well a point and its multipliers solve a convex quadratic program.

    The program is ``min 1/2 x'Px + q'x  s.t. A x = b, lower <= x <= upper``. Its dual objective is
    :math:`-\tfrac12 x^\top P x - b^\top y + \ell^\top z_\ell - u^\top z_u`, under the stationarity condition
    :math:`P x + q + A^\top y - z_\ell + z_u = 0` with :math:`z_\ell, z_u \ge 0`.

    Parameters
    ----------
    P : ndarray of shape (n, n) or LowRank
        Anything with ``P @ x`` and ``P.diagonal()``.
    q : ndarray of shape (n,)
    A : ndarray of shape (p, n) or None
    b : ndarray of shape (p,) or None
    lower, upper : float or ndarray of shape (n,)
        Bounds; infinite ones are allowed.
    x : ndarray of shape (n,)
    y : ndarray of shape (p,)
        Multipliers of ``A x = b``.
    z_lower, z_upper : ndarray of shape (n,)
        Multipliers of the bounds.
    tolerance : float
        What each residual is compared with.
    Px : ndarray of shape (n,), optional
        The product of P and x, where it is known.

    Returns
    -------
    Certificate
        As :func:`companion.engine.certificate.certify` defines it: each residual in the unit of its own row or column,
        and a gap that bounds :math:`f(x) - f^*`.

    Examples
    --------
    The minimum of ``x1^2 + x2^2`` on ``x1 + x2 = 1`` is (1/2, 1/2), with multiplier -1.

    >>> import numpy as np
    >>> P, q, A, b = 2 * np.eye(2), np.zeros(2), np.ones((1, 2)), np.ones(1)
    >>> zero = np.zeros(2)
    >>> certify_qp(P, q, A, b, 0.0, np.inf, np.array([0.5, 0.5]), np.array([-1.0]), zero, zero).ok
    True
    >>> wrong = certify_qp(P, q, A, b, 0.0, np.inf, np.array([0.6, 0.4]), np.array([-1.0]), zero, zero)
    >>> round(wrong.dual_residual, 3), round(wrong.primal_residual, 3)
    (0.111, 0.0)
    """
    n, tolerance = _length(x, "x"), as_scalar(tolerance, "tolerance", at_least=0.0)
    if A is None or b is None:
        A, b = np.zeros((0, n)), np.zeros(0)
    p = _length(b, "b")
    P, A = _matrix(P, "P", (n, n)), _matrix(A, "A", (p, n))
    q, x, b, y = _vector(q, "q", n), _vector(x, "x", n), _vector(b, "b", p), _vector(y, "y", p)
    lower, upper = _bound(lower, "lower", n), _bound(upper, "upper", n)
    z_lower, z_upper = _vector(z_lower, "z_lower", n), _vector(z_upper, "z_upper", n)
    return certify(P, q, A, b, lower, upper, x, y, z_lower, z_upper, tolerance, Px)
