"""Certificates of optimality: numbers that prove an answer, computed from the problem's data alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from scipy.linalg.blas import idamax

from companion.checks import as_matrix, as_scalar, as_vector, count_axes
from companion.engine.certificate import certify
from companion.results import Certificate

if TYPE_CHECKING:
    from companion.regression.lasso import L1Path
    from companion.verification import Finding

__all__ = ["Certificate", "Verification", "certify_qp", "max_norm", "verify"]


@dataclass(frozen=True, eq=False, repr=False)
class Verification(Certificate):
    """A certificate that was computed anew without rounding, next to the stored one.

    Parameters
    ----------
    primal_residual, dual_residual, complementarity, gap : float
        The exact values, rounded once.
    tolerance : float
        That of the stored certificate.
    stored : Certificate
        What the result says about itself.
    rounding : float
        By how much rounding may move a residual of the stored certificate.
    digits : int
        Decimal digits of the longest number that occurs in the exact residuals.
    """

    stored: Certificate
    rounding: float
    digits: int

    @property
    def agrees(self) -> bool:
        """Whether the stored certificate promises no more than is true.

        No exact residual exceeds twice the stored one by more than rounding, and a stored verdict "ok" is right. A
        residual above 1 says no more than 1: nothing is right.
        """
        names = ("primal_residual", "dual_residual", "complementarity", "gap")
        honest = all(
            min(getattr(self, n), 1.0) <= 2.0 * getattr(self.stored, n) + self.rounding
            for n in names
        )
        return honest and (self.ok or not self.stored.ok)

    def _rows(self) -> list[tuple[str, str]]:
        return [*super()._rows(), ("agrees", str(self.agrees)), ("digits", str(self.digits))]


@overload
def verify(result: list | tuple | L1Path, X: Any = None, y: Any = None) -> list[Verification]: ...


@overload
def verify(result: Any, X: Any = None, y: Any = None) -> Verification: ...


def verify(result: Any, X: Any = None, y: Any = None) -> Verification | list[Verification]:
    r"""Recompute the certificate of a result from the data of its problem, without rounding.

    Floating-point numbers are fractions. So the residuals and the duality gap of an answer are rational numbers,
    which this function computes exactly: it shares no arithmetic with the solver.

    Parameters
    ----------
    result : a result, a fitted estimator, or a list of them
        The answer of :func:`~companion.admm.solve_qp`, :func:`~companion.admm.qsolve1`, of an l1 problem of
        ``companion.admm``, of :func:`~companion.admm.consensus` with blocks in this process, of the training
        algorithms of ``companion.svm``, of :func:`~companion.svm.solve_indefinite`, of
        :func:`~companion.regression.lasso_path`, :func:`~companion.regression.lasso_dual`,
        :func:`~companion.regression.lasso_admm` or :func:`~companion.regression.elastic_net_dual`; or an estimator of
        ``companion.svm``, ``companion.svr`` or ``companion.regression``, or a
        :class:`~companion.kernels.KernelPCA`. A list may be what :func:`~companion.svm.nu_path` and
        :func:`~companion.svm.K_path` return.
    X, y : array-like
        The data that the estimator was fitted to. Results know their problem.

    Returns
    -------
    Verification, or a list of them
        A certificate with exact numbers. ``ok`` says whether they meet the tolerance, ``agrees`` whether the
        certificate that the result carries is true. A list for a list, and for the points of a lasso path.

    Raises
    ------
    TypeError
        If the kind of result is not known, or an estimator comes without its data.
    ValueError
        If a result has no problem or no certificate.

    Notes
    -----
    The multipliers of a support vector machine or regression are tested in its dual program, with b, eta (or epsilon)
    and the slacks as the multipliers of that program: all that the fitted machine says enters. With the linear kernel
    the program is made from the points themselves, and the stored w is compared with the multipliers. For other
    kernels the floating-point kernel matrix is the problem. Least-squares problems are tested by a dual point
    made from the exact residual. Square roots and logarithms (group lasso, logistic loss) have 60 digits. Matrices
    that have to be positive semidefinite (indefinite kernels) are examined as U U'. That kernel PCA has left no larger
    eigenvalue out is the one claim that is tested in floating-point numbers.

    In a quadratic program, a gradient that half a unit in the last place of x explains counts as zero, up to a part of
    1e-5 of its terms: where P x cancels, no floating-point answer has a smaller one.

    A product with a dense matrix costs about 0.03 microseconds for each entry: the numbers are cut into slices of few
    bits, of which floating-point arithmetic forms exact sums of products.

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import replace
    >>> from companion.admm import solve_qp
    >>> result = solve_qp(np.eye(2), [-2.0, -0.5], [[1.0, 1.0]], [1.0], upper=1.0)
    >>> verify(result)
    Verification
      primal_residual  ok
      dual_residual    ok
      complementarity  ok
      gap              ok
      tolerance        1e-09
      ok               True
      agrees           True
      digits           1

    An answer that was changed a little keeps its old certificate, which is now false:

    >>> verify(replace(result, x=result.x + 1e-6)).agrees
    False

    >>> from companion.datasets import zm_fourteen
    >>> from companion.svm import SVMs2prime
    >>> data = zm_fourteen()
    >>> verify(SVMs2prime(nu=0.3).fit(data.X, data.y), data.X, data.y).ok
    True
    """
    # imports the packages that import this module
    from companion.verification import L1Path, examine, path_findings

    if isinstance(result, (list, tuple)):
        return [_verified(examine(part, X, y)) for part in result]
    if isinstance(result, L1Path):
        return [_verified(finding) for finding in path_findings(result)]
    return _verified(examine(result, X, y))


def _verified(finding: Finding) -> Verification:
    exact = finding[:4]
    rational = [v for v in exact if not isinstance(v, float)]
    bits = [max(abs(v.numerator), v.denominator).bit_length() for v in rational]
    return Verification(
        primal_residual=_as_float(finding.primal),
        dual_residual=_as_float(finding.dual),
        complementarity=_as_float(finding.complementarity),
        gap=_as_float(finding.gap),
        tolerance=finding.stored.tolerance,
        stored=finding.stored,
        rounding=finding.rounding,
        digits=max((int(0.30103 * b) + 1 for b in bits), default=0),
    )


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def max_norm(vector: np.ndarray) -> float:
    """Return the largest absolute value of a finite vector's entries; 0 for an empty one."""
    return abs(float(vector[idamax(vector)])) if vector.size else 0.0


def _ratio(value: float, scale: float) -> float:
    """``value / scale`` with 0/0 = 0."""
    if value == 0.0:
        return 0.0
    return float(value / scale) if scale > 0.0 else np.inf


def _vector(value: Any, name: str, n: int) -> np.ndarray:
    """Return a vector of length n. Numbers that are not finite pass: no certificate is good for them."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == (n,):
        return value
    return as_vector(value, name, n, finite=False)


def _as_bounds(bound: Any, name: str, n: int) -> np.ndarray:
    if type(bound) is float:
        return np.full(n, bound)
    if count_axes(bound, name) == 0:
        return np.full(n, as_vector(bound, name, 1, finite=False)[0])
    return _vector(bound, name, n)


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
    lower, upper = _as_bounds(lower, "lower", n), _as_bounds(upper, "upper", n)
    z_lower, z_upper = _vector(z_lower, "z_lower", n), _vector(z_upper, "z_upper", n)
    return certify(P, q, A, b, lower, upper, x, y, z_lower, z_upper, tolerance, Px)
