r"""Problems with an l1-norm, solved by ADMM and finished exactly.

ADMM finds quickly which entries of the solution are zero and which signs the others have. It is slow to give many
digits. So each solver here runs :func:`companion.admm.splitting.admm` with the text's updates and, at a few steps,
reads the zero pattern from z, solves the problem that is left exactly, and looks at the certificate of the outcome.
The answer is accepted when the certificate holds, that is, when primal and dual point prove each other optimal.
With ``finish=False`` the solvers are the plain methods of the text.

The loop is :func:`_solve`. What differs from problem to problem is a :class:`_Problem`: the two updates, the exact
finish and the certificate.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg
from scipy.optimize import lsq_linear
from scipy.special import entr, expit

from companion.admm.proximal import soft_threshold
from companion.admm.quadratic import LowRank, solve_qp
from companion.admm.splitting import Iterate, admm
from companion.certificates import Certificate
from companion.checks import as_matrix, as_scalar, as_vector, check_count
from companion.exceptions import ConvergenceWarning, InfeasibleProblemError
from companion.results import ADMMResult, Problem

__all__ = [
    "LeastSquaresLoss",
    "LogisticLoss",
    "SmoothLoss",
    "basis_pursuit",
    "generalized_lasso",
    "group_lasso",
    "l1_regularized",
    "lasso",
    "least_absolute_deviations",
]

_EPS = float(np.finfo(np.float64).eps)

# A gap is compared with the objective, or with this part of the size of its terms where that is larger: where
# these cancel, rounding is all that is left.
_FLOOR = 1e-6

# The same for a gradient, which is compared with the multiplier.
_SLOPE_FLOOR = 1e-4

# From this number of entries of A on, least absolute deviations ask the dual program which rows are fitted.
_LARGE = 20_000

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]  # x, z and the multiplier lambda


# ----------------------------------------------------------------------------------------------
# The solvers
# ----------------------------------------------------------------------------------------------


def least_absolute_deviations(
    A: Any,
    b: Any,
    *,
    rho: float | None = None,
    relaxation: float = 1.6,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    finish: bool = True,
    warm_start: ADMMResult | None = None,
    **loop: Any,
) -> ADMMResult:
    r"""Minimise ``|A x - b|_1``, the sum of absolute deviations.

    In ADMM form: minimise :math:`\|z\|_1` subject to :math:`A x - z = b`, with the updates

    .. math::

        x^{k+1} &= (A^\top A)^{-1} A^\top (b + z^k - u^k) \\
        z^{k+1} &= S_{1/\rho}(A x^{k+1} - b + u^k) \\
        u^{k+1} &= u^k + A x^{k+1} - z^{k+1} - b.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data. Columns may depend on each other: then the solver uses a largest set of independent columns, and the
        other coefficients are 0.
    b : array-like of shape (m,)
        Targets.
    rho : float, optional
        Penalty parameter > 0. By default it is chosen from the data, so that units do not matter.
    relaxation : float
        Over-relaxation in (0, 2); 1 gives the updates as printed above.
    tol : float
        Tolerance of the certificate; with ``finish=False`` the stopping tolerance of ADMM, `tol_abs` and `tol_rel`.
    max_iter : int
        Largest number of ADMM steps.
    finish : bool
        Whether the problem is solved exactly once ADMM has found the zero pattern. Without, this is plain ADMM.
    warm_start : ADMMResult, optional
        The result for a similar problem, to start from its z and u.
    **loop
        Further options of :func:`companion.admm.admm`: `callback`, `keep_iterates`, `progress`, `adaptive`, ...

    Returns
    -------
    ADMMResult
        `x` is a solution, `z` its deviations ``A x - b`` with exact zeros where a row is fitted, ``rho * u`` the
        multiplier :math:`\lambda` (a dual solution).

    Warns
    -----
    ConvergenceWarning
        If no certified solution was found in `max_iter` steps (`converged` is then False).

    Raises
    ------
    ValueError, TypeError
        For input of the wrong shape, sign or kind.

    Notes
    -----
    Source: Section 16.8(1). The dual is: maximise :math:`-b^\top \lambda` subject to :math:`A^\top \lambda = 0`,
    :math:`\|\lambda\|_\infty \le 1`. The certificate measures its feasibility and the gap. The exact finish is a
    vertex: a point that fits as many rows exactly as A has independent columns. ADMM proposes the rows; rows are
    exchanged while that helps.

    Examples
    --------
    A single coefficient: the median, whatever the outlier is.

    >>> from companion.admm import least_absolute_deviations
    >>> result = least_absolute_deviations([[1], [1], [1]], [1, 2, 10])
    >>> result.x.round(6), result.z.round(6) + 0.0, result.certificate.ok
    (array([2.]), array([ 1.,  0., -8.]), True)
    """
    A = as_matrix(A, "A")
    b = as_vector(b, "b", _rows_of(A))
    return _solve(
        _LeastAbsolute(A, b),
        given=Problem("least absolute deviations", {"A": A, "b": b}),
        rho=rho,
        relaxation=relaxation,
        tol=tol,
        max_iter=max_iter,
        finish=finish,
        warm_start=warm_start,
        **loop,
    )


def basis_pursuit(
    A: Any,
    b: Any,
    *,
    rho: float | None = None,
    relaxation: float = 1.6,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    finish: bool = True,
    warm_start: ADMMResult | None = None,
    **loop: Any,
) -> ADMMResult:
    r"""Minimise ``|x|_1`` subject to ``A x = b``: the solution of smallest l1-norm.

    In ADMM form: minimise :math:`I_C(x) + \|z\|_1` subject to :math:`x - z = 0`, with C the solutions of
    :math:`A x = b` and the updates

    .. math::

        x^{k+1} &= \Pi_C(z^k - u^k) \\
        z^{k+1} &= S_{1/\rho}(x^{k+1} + u^k) \\
        u^{k+1} &= u^k + x^{k+1} - z^{k+1}.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Matrix of any rank.
    b : array-like of shape (m,)
        Right-hand side, in the column space of A.
    rho : float, optional
        Penalty parameter > 0. By default it is chosen from the data, so that units do not matter.
    relaxation : float
        Over-relaxation in (0, 2); 1 gives the updates as printed above.
    tol : float
        Tolerance of the certificate; with ``finish=False`` the stopping tolerance of ADMM, `tol_abs` and `tol_rel`.
    max_iter : int
        Largest number of ADMM steps.
    finish : bool
        Whether the problem is solved exactly once ADMM has found the zero pattern. Without, this is plain ADMM.
    warm_start : ADMMResult, optional
        The result for a similar problem, to start from its z and u.
    **loop
        Further options of :func:`companion.admm.admm`: `callback`, `keep_iterates`, `progress`, `adaptive`, ...

    Returns
    -------
    ADMMResult
        `x` (and `z`) is a solution with exact zeros, ``rho * u`` the multiplier :math:`\lambda = A^\top y`, y a dual
        solution.

    Warns
    -----
    ConvergenceWarning
        If no certified solution was found in `max_iter` steps (`converged` is then False).

    Raises
    ------
    ValueError, TypeError
        For input of the wrong shape, sign or kind.
    InfeasibleProblemError
        If no x satisfies ``A x = b``. The witness y has ``A'y = 0`` and ``y'b > 0``.

    Notes
    -----
    Source: Section 16.8(2). The text asks for A of rank m; independent rows are enough, and the solver finds them.
    C is an affine subspace. The dual is: maximise :math:`b^\top y` subject to :math:`\|A^\top y\|_\infty \le 1`.
    The certificate measures its feasibility and the gap. The exact finish solves :math:`A x = b` on a support that
    ADMM proposes; entries are exchanged while that helps.

    Examples
    --------
    >>> from companion.admm import basis_pursuit
    >>> result = basis_pursuit([[1, 2]], [2])
    >>> result.x.round(6), round(result.objective, 6), result.certificate.ok
    (array([0., 1.]), 1.0, True)
    """
    A = as_matrix(A, "A")
    b = as_vector(b, "b", _rows_of(A))
    return _solve(
        _BasisPursuit(A, b),
        given=Problem("basis pursuit", {"A": A, "b": b}),
        rho=rho,
        relaxation=relaxation,
        tol=tol,
        max_iter=max_iter,
        finish=finish,
        warm_start=warm_start,
        **loop,
    )


def lasso(
    A: Any,
    b: Any,
    tau: float,
    *,
    rho: float | None = None,
    relaxation: float = 1.6,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    finish: bool = True,
    warm_start: ADMMResult | None = None,
    **loop: Any,
) -> ADMMResult:
    r"""Minimise ``1/2 |A x - b|_2^2 + tau |x|_1``.

    In ADMM form: minimise :math:`(1/2)\|A x - b\|_2^2 + \tau\|z\|_1` subject to :math:`x - z = 0`, with the updates

    .. math::

        x^{k+1} &= (A^\top A + \rho I)^{-1} (A^\top b + \rho (z^k - u^k)) \\
        z^{k+1} &= S_{\tau/\rho}(x^{k+1} + u^k) \\
        u^{k+1} &= u^k + x^{k+1} - z^{k+1}.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data. The matrix is factored once, as n x n or as m x m, whichever is smaller.
    b : array-like of shape (m,)
        Targets.
    tau : float
        Weight of the l1-norm, >= 0. From :math:`\|A^\top b\|_\infty` on, the solution is 0. With 0 the problem is
        least squares.
    rho : float, optional
        Penalty parameter > 0. By default it is chosen from the data, so that units do not matter.
    relaxation : float
        Over-relaxation in (0, 2); 1 gives the updates as printed above.
    tol : float
        Tolerance of the certificate; with ``finish=False`` the stopping tolerance of ADMM, `tol_abs` and `tol_rel`.
    max_iter : int
        Largest number of ADMM steps.
    finish : bool
        Whether the problem is solved exactly once ADMM has found the zero pattern. Without, this is plain ADMM.
    warm_start : ADMMResult, optional
        The result for a similar problem, to start from its z and u.
    **loop
        Further options of :func:`companion.admm.admm`: `callback`, `keep_iterates`, `progress`, `adaptive`, ...

    Returns
    -------
    ADMMResult
        `x` (and `z`) is the solution with exact zeros, ``rho * u`` the multiplier
        :math:`\lambda = A^\top (b - A x)`, with :math:`\lambda_i = \tau\,\mathrm{sign}(x_i)` where x is not zero.

    Warns
    -----
    ConvergenceWarning
        If no certified solution was found in `max_iter` steps (`converged` is then False).

    Raises
    ------
    ValueError, TypeError
        For input of the wrong shape, sign or kind.

    Notes
    -----
    Source: Section 16.8(4). The text prints the ADMM form without the factor 1/2; its updates are those of the problem
    with the factor. The dual is: maximise :math:`(1/2)\|b\|_2^2 - (1/2)\|b - \theta\|_2^2` subject to
    :math:`\|A^\top \theta\|_\infty \le \tau`; the gap in the certificate uses
    :math:`\theta = b - A x`, shrunk until it is feasible. The exact finish solves
    :math:`A_S^\top A_S x_S = A_S^\top b - \tau s` on the support S and the signs s that ADMM proposes.

    Examples
    --------
    >>> from companion.admm import lasso
    >>> result = lasso([[2, 0], [0, 1]], [3, 1], tau=1)
    >>> result.x.round(6), round(result.objective, 6), result.certificate.ok
    (array([1.25, 0.  ]), 1.875, True)
    """
    loss = LeastSquaresLoss(A, b)
    tau = as_scalar(tau, "tau", at_least=0)
    return _solve(
        _Regularized(loss, _L1(np.full(loss.n, tau))),
        given=Problem("lasso", {"A": loss.A, "b": loss.b, "tau": tau}),
        rho=rho,
        relaxation=relaxation,
        tol=tol,
        max_iter=max_iter,
        finish=finish,
        warm_start=warm_start,
        **loop,
    )


def generalized_lasso(
    A: Any,
    b: Any,
    F: Any,
    tau: float,
    *,
    rho: float | None = None,
    relaxation: float = 1.6,
    adaptive: bool = True,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    finish: bool = True,
    warm_start: ADMMResult | None = None,
    **loop: Any,
) -> ADMMResult:
    r"""Minimise ``1/2 |A x - b|_2^2 + tau |F x|_1``.

    In ADMM form: minimise :math:`(1/2)\|A x - b\|_2^2 + \tau\|z\|_1` subject to :math:`F x - z = 0`, with the updates

    .. math::

        x^{k+1} &= (A^\top A + \rho F^\top F)^{-1} (A^\top b + \rho F^\top (z^k - u^k)) \\
        z^{k+1} &= S_{\tau/\rho}(F x^{k+1} + u^k) \\
        u^{k+1} &= u^k + F x^{k+1} - z^{k+1}.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data.
    b : array-like of shape (m,)
        Targets.
    F : array-like of shape (p, n)
        What should be sparse is F x: with rows (..., -1, 1, ...) the jumps of x (total variation).
    tau : float
        Weight of the l1-norm, >= 0.
    rho : float, optional
        Penalty parameter > 0. By default it is chosen from the data, so that units do not matter.
    relaxation : float
        Over-relaxation in (0, 2); 1 gives the updates as printed above.
    tol : float
        Tolerance of the certificate; with ``finish=False`` the stopping tolerance of ADMM, `tol_abs` and `tol_rel`.
    max_iter : int
        Largest number of ADMM steps.
    finish : bool
        Whether the problem is solved exactly once ADMM has found the zero pattern. Without, this is plain ADMM.
    warm_start : ADMMResult, optional
        The result for a similar problem, to start from its z and u.
    **loop
        Further options of :func:`companion.admm.admm`: `callback`, `keep_iterates`, `progress`, ...
    adaptive : bool
        Whether rho is balanced in the first steps, see :func:`companion.admm.admm`. The size of F x is not known
        beforehand, so here this helps.

    Returns
    -------
    ADMMResult
        `x` is the solution, `z` is F x with exact zeros, ``rho * u`` the multiplier :math:`\lambda`.

    Warns
    -----
    ConvergenceWarning
        If no certified solution was found in `max_iter` steps (`converged` is then False).

    Raises
    ------
    ValueError, TypeError
        For input of the wrong shape, sign or kind.

    Notes
    -----
    Source: Section 16.8(5). The text prints the ADMM form without the factor 1/2. It asks that A or F
    has rank n; that no direction lies in both null spaces is enough. If one does, the solution of smallest norm is
    returned. At a solution :math:`A^\top (A x - b) + F^\top \lambda = 0` and
    :math:`\|\lambda\|_\infty \le \tau`; the gap is :math:`\tau\|F x\|_1 - \lambda^\top F x`.

    Examples
    --------
    >>> from companion.admm import generalized_lasso
    >>> result = generalized_lasso([[1, 0], [0, 1]], [0, 3], [[-1, 1]], tau=1)
    >>> result.x.round(6), result.z.round(6), result.certificate.ok
    (array([1., 2.]), array([1.]), True)
    """
    A = as_matrix(A, "A")
    b = as_vector(b, "b", _rows_of(A))
    F = as_matrix(F, "F", (None, A.shape[1]))
    tau = as_scalar(tau, "tau", at_least=0)
    return _solve(
        _GeneralizedLasso(A, b, F, tau),
        given=Problem("generalized lasso", {"A": A, "b": b, "F": F, "tau": tau}),
        rho=rho,
        relaxation=relaxation,
        tol=tol,
        max_iter=max_iter,
        finish=finish,
        warm_start=warm_start,
        adaptive=adaptive,
        **loop,
    )


def group_lasso(
    A: Any,
    b: Any,
    groups: Any,
    tau: float,
    *,
    weights: Any = None,
    rho: float | None = None,
    relaxation: float = 1.6,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    finish: bool = True,
    warm_start: ADMMResult | None = None,
    **loop: Any,
) -> ADMMResult:
    r"""Minimise ``1/2 |A x - b|_2^2 + tau sum_i w_i |x_i|_2`` over ``x = (x_1, ..., x_N)``.

    The updates are those of the lasso, except that each group of z is thresholded as a block:

    .. math:: z_i^{k+1} = \mathcal{S}_{\tau w_i/\rho}(x_i^{k+1} + u_i^k), \qquad
              \mathcal{S}_c(v) = (1 - c / \|v\|_2)_+ \, v.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data.
    b : array-like of shape (m,)
        Targets.
    groups : sequence
        Either n labels, one per coefficient (equal labels, same group; groups are then ordered by label), or a
        sequence of index lists that together hold each of 0, ..., n-1 once.
    tau : float
        Weight of the penalty, >= 0.
    weights : array-like of shape (N,), optional
        The :math:`w_i \ge 0`, 1 by default as in the text. The square roots of the group sizes are a common choice.
    rho : float, optional
        Penalty parameter > 0. By default it is chosen from the data, so that units do not matter.
    relaxation : float
        Over-relaxation in (0, 2); 1 gives the updates as printed above.
    tol : float
        Tolerance of the certificate; with ``finish=False`` the stopping tolerance of ADMM, `tol_abs` and `tol_rel`.
    max_iter : int
        Largest number of ADMM steps.
    finish : bool
        Whether the problem is solved exactly once ADMM has found the zero pattern. Without, this is plain ADMM.
    warm_start : ADMMResult, optional
        The result for a similar problem, to start from its z and u.
    **loop
        Further options of :func:`companion.admm.admm`: `callback`, `keep_iterates`, `progress`, `adaptive`, ...

    Returns
    -------
    ADMMResult
        `x` (and `z`) is the solution, with groups that are exactly zero; ``rho * u`` the multiplier
        :math:`\lambda = A^\top (b - A x)`.

    Warns
    -----
    ConvergenceWarning
        If no certified solution was found in `max_iter` steps (`converged` is then False).

    Raises
    ------
    ValueError, TypeError
        For input of the wrong shape, sign or kind.

    Notes
    -----
    Source: Section 16.8(6). The update printed there adds all of :math:`u^k`; the group's part is meant. The dual
    is that of the lasso with :math:`\|A_i^\top \theta\|_2 \le \tau w_i` for each group. The exact finish is Newton's
    method on the groups that are not zero.

    Examples
    --------
    >>> from companion.admm import group_lasso
    >>> result = group_lasso([[1, 0], [0, 1]], [3, 4], groups=[0, 0], tau=1)
    >>> result.x.round(6), result.certificate.ok
    (array([2.4, 3.2]), True)
    """
    loss = LeastSquaresLoss(A, b)
    tau = as_scalar(tau, "tau", at_least=0)
    label, count = _labels(groups, loss.n)
    w = np.ones(count) if weights is None else as_vector(weights, "weights", count)
    if (w < 0).any():
        raise ValueError(f"weights must be >= 0, got {w.min():g}")
    return _solve(
        _Regularized(loss, _GroupL2(tau * w, label)),
        given=Problem("group lasso", {"A": loss.A, "b": loss.b, "label": label, "tau": tau * w}),
        rho=rho,
        relaxation=relaxation,
        tol=tol,
        max_iter=max_iter,
        finish=finish,
        warm_start=warm_start,
        **loop,
    )


def l1_regularized(
    loss: SmoothLoss | Callable[[np.ndarray, float], np.ndarray],
    tau: Any,
    n: int | None = None,
    *,
    value: Callable[[np.ndarray], float] | None = None,
    rho: float | None = None,
    relaxation: float = 1.6,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    finish: bool = True,
    warm_start: ADMMResult | None = None,
    **loop: Any,
) -> ADMMResult:
    r"""Minimise ``l(x) + sum_i tau_i |x_i|`` for a convex loss l.

    In ADMM form: minimise :math:`l(x) + \tau\|z\|_1` subject to :math:`x - z = 0`, with the updates

    .. math::

        x^{k+1} &= \arg\min_x \; l(x) + (\rho/2)\|x - z^k + u^k\|_2^2 \\
        z^{k+1} &= S_{\tau/\rho}(x^{k+1} + u^k) \\
        u^{k+1} &= u^k + x^{k+1} - z^{k+1}.

    Parameters
    ----------
    loss : SmoothLoss or callable
        A loss object such as :class:`LogisticLoss` or :class:`LeastSquaresLoss`, or the proximal operator alone:
        ``loss(v, rho)`` returns :math:`\arg\min_x l(x) + (\rho/2)\|x - v\|_2^2`, and l need not be smooth.
    tau : float or array-like of shape (n,)
        Weight of the l1-norm, >= 0, or one weight per coefficient (0: not penalised, as for an intercept).
    n : int, optional
        Number of coefficients; needed with a proximal operator only.
    value : callable, optional
        With a proximal operator: ``value(x)`` returns l(x), for the objective.
    rho : float, optional
        Penalty parameter > 0. By default it is chosen from the data, so that units do not matter.
    relaxation : float
        Over-relaxation in (0, 2); 1 gives the updates as printed above.
    tol : float
        Tolerance of the certificate; with ``finish=False`` the stopping tolerance of ADMM, `tol_abs` and `tol_rel`.
    max_iter : int
        Largest number of ADMM steps.
    finish : bool
        Whether the problem is solved exactly once ADMM has found the zero pattern. Without, this is plain ADMM.
    warm_start : ADMMResult, optional
        The result for a similar problem, to start from its z and u.
    **loop
        Further options of :func:`companion.admm.admm`: `callback`, `keep_iterates`, `progress`, `adaptive`, ...

    Returns
    -------
    ADMMResult
        `x` (and `z`) is the solution with exact zeros, ``rho * u`` the multiplier :math:`\lambda`; minus
        :math:`\lambda` is a subgradient of l at x.

    Warns
    -----
    ConvergenceWarning
        If no certified solution was found in `max_iter` steps (`converged` is then False).

    Raises
    ------
    ValueError, TypeError
        For input of the wrong shape, sign or kind.

    Notes
    -----
    Source: Section 16.8(3). With a loss object the exact finish is Newton's method on the support. With a proximal
    operator there is none. There the certificate uses that :math:`-\lambda` is a subgradient of l at z exactly when z
    is the proximal point of :math:`z - \lambda/\rho`, and its gap is :math:`\tau\|z\|_1 - \lambda^\top z`.

    Examples
    --------
    >>> import numpy as np
    >>> from companion.admm import LogisticLoss, l1_regularized
    >>> A = np.array([[2.0, 1], [1, -1], [-1, 1], [-2, 0], [1, 0.5]])
    >>> result = l1_regularized(LogisticLoss(A, [1, 1, -1, -1, -1]), tau=1)
    >>> result.x.round(4), result.certificate.ok
    (array([0.5948, 0.    ]), True)
    """
    if not isinstance(loss, SmoothLoss):
        if not callable(loss):
            raise TypeError(
                "loss must be a SmoothLoss or a proximal operator loss(v, rho), "
                f"got {type(loss).__name__}"
            )
        if n is None:
            raise ValueError("n, the number of coefficients, is needed with a proximal operator")
        loss = _ProxLoss(loss, check_count(n, "n"))  # type: ignore[assignment]
    size = loss.n  # type: ignore[union-attr]
    if n not in (None, size):
        raise ValueError(f"n must be the loss's number of coefficients {size}, got {n}")
    tau = np.full(size, as_scalar(tau, "tau")) if np.ndim(tau) == 0 else as_vector(tau, "tau", size)
    if (tau < 0).any():
        raise ValueError(f"tau must be >= 0, got {tau.min():g}")
    return _solve(
        _Regularized(loss, _L1(tau), value),
        given=_given(loss, tau),
        rho=rho,
        relaxation=relaxation,
        tol=tol,
        max_iter=max_iter,
        finish=finish,
        warm_start=warm_start,
        **loop,
    )


def _given(loss: Any, tau: np.ndarray) -> Problem | None:
    """Say which problem a loss and the penalties make, where the loss is one of ours."""
    if isinstance(loss, LogisticLoss):
        return Problem("logistic regression", {"A": loss.A, "tau": tau})
    if isinstance(loss, LeastSquaresLoss):
        label = np.arange(loss.n)
        return Problem("group lasso", {"A": loss.A, "b": loss.b, "label": label, "tau": tau})
    return None


def _rows_of(A: np.ndarray) -> int:
    """Return the number of rows of a matrix that has at least one row and one column."""
    if A.size == 0:
        raise ValueError(f"A must have at least one row and one column, got shape {A.shape}")
    return A.shape[0]


def _labels(groups: Any, n: int) -> tuple[np.ndarray, int]:
    """Return the group number of each coefficient, and the number of groups."""
    groups = list(groups)
    if all(np.ndim(g) == 0 for g in groups):
        if len(groups) != n:
            raise ValueError(
                f"groups must be {n} labels or a sequence of index lists, got {len(groups)} labels"
            )
        names, label = np.unique(np.array(groups), return_inverse=True)
        return label, names.size
    label = np.full(n, -1)
    for i, group in enumerate(groups):
        for j in np.atleast_1d(group):
            check_count(j, "an index in groups", at_least=0)
            if j >= n or label[j] >= 0:
                why = f"but n = {n}" if j >= n else "twice"
                raise ValueError(
                    f"groups must hold each of 0, ..., {n - 1} once; got index {j} {why}"
                )
            label[j] = i
    if (label < 0).any():
        raise ValueError(
            f"groups must hold each of 0, ..., {n - 1} once; {np.flatnonzero(label < 0)[0]} is missing"
        )
    return label, len(groups)


# ----------------------------------------------------------------------------------------------
# The loop: ADMM, interrupted now and then by an attempt to finish exactly
# ----------------------------------------------------------------------------------------------


class _Problem(ABC):
    """An l1 problem in ADMM form: minimise f(x) + g(z) subject to A x + B z = c."""

    A: Any = 1.0
    B: Any = -1.0
    c: Any = 0.0
    rho: float = 1.0  # the default penalty, from the data

    @abstractmethod
    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray: ...

    @abstractmethod
    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray: ...

    @abstractmethod
    def objective(self, x: np.ndarray, z: np.ndarray) -> float: ...

    @abstractmethod
    def plain(self, step: Iterate) -> Triple:
        """Return the answer that the iterate itself gives."""

    @abstractmethod
    def finished(self, step: Iterate, settled: bool) -> Iterator[Triple]:
        """Yield exact answers for the zero pattern of the iterate; `settled`: it has not changed."""

    @abstractmethod
    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        """Measure how far x, z and the multiplier are from proving each other optimal."""

    def original(self, x: np.ndarray) -> np.ndarray:
        """Return x in the coordinates in which the problem was given."""
        return x


def _solve(
    problem: _Problem,
    *,
    given: Problem | None,
    rho: float | None,
    relaxation: float,
    tol: float,
    max_iter: int,
    finish: bool,
    warm_start: ADMMResult | None,
    callback: Callable[[Iterate], Any] | None = None,
    **loop: Any,
) -> ADMMResult:
    """Run ADMM on the problem until an exact finish, or the iterate itself, is certified."""
    rho = problem.rho if rho is None else as_scalar(rho, "rho", above=0)
    tol = as_scalar(tol, "tol", above=0)
    max_iter = check_count(max_iter, "max_iter")
    if warm_start is not None:
        if not isinstance(warm_start, ADMMResult):
            raise TypeError(f"warm_start must be an ADMMResult, got {type(warm_start).__name__}")
        loop |= {"z0": warm_start.z, "u0": warm_start.rho * warm_start.u / rho}

    best: tuple[Certificate, Triple] | None = None
    pattern, next_check = np.zeros(0), 10 if warm_start is None else 1

    def certified(step: Iterate) -> bool:
        """Say whether some answer is certified at this step; keep the best one."""
        nonlocal best, pattern
        old, pattern = pattern, np.sign(step.z)
        settled = np.array_equal(old, pattern) or step.k == 1 or step.k >= 200
        for answer in (*problem.finished(step, settled), problem.plain(step)):
            certificate = problem.certify(*answer, tol)
            if best is None or certificate.worst <= best[0].worst:
                best = certificate, answer
            if certificate.ok:
                return True
        return False

    def watch(step: Iterate) -> bool:
        nonlocal next_check
        if callback is not None and callback(step):
            return True
        if step.k < min(next_check, max_iter):
            return False
        next_check = int(np.ceil(1.3 * next_check)) + 1
        return certified(step) or step.k == max_iter

    result = admm(
        problem.x_update,
        problem.z_update,
        problem.A,
        problem.B,
        problem.c,
        rho=rho,
        relaxation=relaxation,
        tol_abs=0.0 if finish else tol,
        tol_rel=_EPS if finish else tol,
        max_iter=max_iter,
        objective=problem.objective,
        callback=watch if finish else callback,
        **loop,
    )
    last = Iterate(result.n_iter, result.x, result.z, result.u, result.rho, 0.0, 0.0)
    if not finish or best is None:
        answer = problem.plain(last)
        best = problem.certify(*answer, tol), answer
    if finish and not best[0].ok and result.status == "converged":
        certified(last)
    certificate, (x, z, lambda_) = best
    converged, status = result.converged, result.status
    if finish and certificate.ok:
        converged, status = True, "converged"
    elif finish:
        converged = False
        status = status if result.n_iter < max_iter and status != "converged" else "max_iter"
    if finish and status == "max_iter":
        warnings.warn(
            f"no certified solution after {result.n_iter} steps of ADMM: {certificate}, "
            f"wanted {tol:.0e}; raise max_iter or change rho (now {result.rho:.3g})",
            ConvergenceWarning,
            stacklevel=3,
        )
    return replace(
        result,
        x=problem.original(x),
        z=z,
        u=lambda_ / result.rho,
        objective=float(problem.objective(x, z)),
        converged=converged,
        status=status,
        certificate=certificate,
        problem=given,
    )


def _relative(value: float, scale: float) -> float:
    """Return value / scale for a residual: 0 when the value is, infinite when only the scale is 0."""
    if not value > 0:
        return float("nan") if np.isnan(value) else 0.0
    return float(value / scale) if scale > 0 else float("inf")


def _largest(v: np.ndarray) -> float:
    return float(np.abs(v).max(initial=0.0))


# ----------------------------------------------------------------------------------------------
# Losses
# ----------------------------------------------------------------------------------------------


class SmoothLoss(ABC):
    r"""A convex, twice differentiable loss l on R^n, for :func:`l1_regularized`.

    Define :meth:`value`, :meth:`gradient` and :meth:`hessian`, and set `n`. The rest has defaults.

    Attributes
    ----------
    n : int
        Number of coefficients.
    curvature : float
        Typical eigenvalue of the Hessian: the default penalty parameter rho.
    """

    n: int
    curvature: float = 1.0

    @abstractmethod
    def value(self, x: np.ndarray) -> float:
        """Return l(x)."""

    @abstractmethod
    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient of l at x, of shape (n,)."""

    @abstractmethod
    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S (an integer array) of the Hessian of l at x."""

    def dual_value(self, x: np.ndarray, shrink: float) -> float:
        r"""Return a dual objective value at x.

        The default is :math:`-l^*(\nabla l(x)) = l(x) - \nabla l(x)^\top x`. A loss of the form
        :math:`\phi(A x)` can do better and return :math:`-\phi^*(t \nabla\phi(A x))`, t = `shrink`, which makes the
        multiplier exactly feasible.
        """
        return float(self.value(x) - self.gradient(x) @ x)

    def prox(self, v: np.ndarray, rho: float) -> np.ndarray:
        r"""Return :math:`\arg\min_x l(x) + (\rho/2)\|x - v\|_2^2`, by Newton's method with step halving."""
        x, everything = v.copy(), np.arange(v.size)

        def F(x: np.ndarray) -> float:
            return self.value(x) + rho / 2 * float((x - v) @ (x - v))

        for _ in range(50):
            g = self.gradient(x) + rho * (x - v)
            H = self.hessian(x, everything)
            H[np.diag_indices_from(H)] += rho
            d = -linalg.solve(H, g, assume_a="pos")
            slope, t, now = float(g @ d), 1.0, F(x)
            while F(x + t * d) > now + 1e-4 * t * slope and t > 1e-10:
                t /= 2
            x = x + t * d
            if -slope <= 1e-20 * abs(now) or t <= 1e-10:
                break
        return x


class LeastSquaresLoss(SmoothLoss):
    r"""The loss ``l(x) = 1/2 |A x - b|^2``.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data.
    b : array-like of shape (m,)
        Targets.

    Notes
    -----
    Source: Section 16.8(4). The x-update :math:`(A^\top A + \rho I)^{-1}(A^\top b + \rho v)` looks like a ridge
    regression. The matrix is factored once for each value of rho. For fewer rows than columns the
    m x m matrix :math:`A A^\top + \rho I` is factored instead, by

    .. math:: (A^\top A + \rho I)^{-1} w = \bigl(w - A^\top (A A^\top + \rho I)^{-1} A w\bigr) / \rho.

    Examples
    --------
    >>> loss = LeastSquaresLoss([[2, 0], [0, 1]], [3, 1])
    >>> loss.prox(np.zeros(2), 1.0).round(4)
    array([1.2, 0.5])
    """

    def __init__(self, A: Any, b: Any) -> None:
        self.A = as_matrix(A, "A")
        self.b = as_vector(b, "b", _rows_of(self.A))
        self.m, self.n = self.A.shape
        self.A_b = self.A.T @ self.b
        self.skinny = self.m >= self.n
        self.gram = self.A.T @ self.A if self.skinny else self.A @ self.A.T
        self.curvature = float(np.trace(self.gram)) / self.n
        self._factor: tuple[float, Any] = (np.nan, None)

    def value(self, x: np.ndarray) -> float:
        """Return ``1/2 |A x - b|^2``."""
        r = self.A @ x - self.b
        return float(r @ r) / 2

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return A'(A x - b)."""
        return self.A.T @ (self.A @ x - self.b)

    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S of A'A."""
        return self.gram[np.ix_(S, S)] if self.skinny else self.A[:, S].T @ self.A[:, S]

    def dual_value(self, x: np.ndarray, shrink: float) -> float:
        """Return ``1/2 |b|^2 - 1/2 |b - t r|^2`` at the residual ``r = b - A x``, with t = shrink."""
        r = shrink * (self.b - self.A @ x)
        return float(r @ (self.b - r / 2))

    def prox(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return the x-update (A'A + rho I)^{-1} (A'b + rho v)."""
        if self._factor[0] != rho:
            ridge = self.gram + rho * np.eye(len(self.gram))
            self._factor = rho, linalg.cho_factor(ridge, overwrite_a=True, check_finite=False)
        w = self.A_b + rho * v
        if self.skinny:
            return linalg.cho_solve(self._factor[1], w, check_finite=False)
        return (
            w - self.A.T @ linalg.cho_solve(self._factor[1], self.A @ w, check_finite=False)
        ) / rho


class LogisticLoss(SmoothLoss):
    r"""The logistic loss l(x) = sum_i log(1 + exp(-y_i a_i'x)) with labels y_i = +1 or -1.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data, one point :math:`a_i` per row.
    y : array-like of shape (m,)
        Labels, +1 or -1.

    Notes
    -----
    Source: Section 16.8(3) names a general loss and a version of Newton's method; this is the example worked here.

    Examples
    --------
    >>> loss = LogisticLoss([[1.0], [2.0], [-1.0]], [1, 1, -1])
    >>> round(loss.value(np.zeros(1)), 4), loss.gradient(np.zeros(1))
    (2.0794, array([-2.]))
    """

    def __init__(self, A: Any, y: Any) -> None:
        A = as_matrix(A, "A")
        self.y = as_vector(y, "y", _rows_of(A))
        if not np.isin(self.y, (-1.0, 1.0)).all():
            bad = self.y[~np.isin(self.y, (-1.0, 1.0))][0]
            raise ValueError(f"y must hold labels +1 and -1, got {bad:g}")
        self.A = self.y[:, None] * A  # rows y_i a_i
        self.n = A.shape[1]
        self.curvature = float(np.sum(A**2)) / (4 * self.n)

    def value(self, x: np.ndarray) -> float:
        """Return sum_i log(1 + exp(-y_i a_i'x))."""
        return float(np.logaddexp(0, -(self.A @ x)).sum())

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return -sum_i p_i y_i a_i with p_i = 1 / (1 + exp(y_i a_i'x))."""
        return -self.A.T @ expit(-(self.A @ x))

    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S of A' diag(p (1 - p)) A."""
        t, A = self.A @ x, self.A[:, S]
        return (A.T * (expit(t) * expit(-t))) @ A

    def dual_value(self, x: np.ndarray, shrink: float) -> float:
        """Return the sum of the entropies of t p_i, with t = shrink."""
        p = shrink * expit(-(self.A @ x))
        return float((entr(p) + entr(1 - p)).sum())


class _ProxLoss:
    """A loss of which only the proximal operator is known."""

    def __init__(self, prox: Callable[[np.ndarray, float], np.ndarray], n: int) -> None:
        self.prox, self.n, self.curvature = prox, n, 1.0


# ----------------------------------------------------------------------------------------------
# Penalties: tau |x|_1 and its grouped form
# ----------------------------------------------------------------------------------------------


class _L1:
    """The penalty sum_i tau_i |x_i|."""

    def __init__(self, tau: np.ndarray) -> None:
        self.tau = tau

    def terms(self, x: np.ndarray) -> np.ndarray:
        return self.tau * np.abs(x)

    def prox(self, v: np.ndarray, rho: float) -> np.ndarray:
        return soft_threshold(v, self.tau / rho)

    def minimize(self, loss: SmoothLoss, x: np.ndarray, limit: int) -> np.ndarray:
        """Minimise l(x) + sum_i tau_i |x_i| by Newton's method on a support S with signs s.

        An entry that would change its sign leaves S. When the minimum on S is reached, the entry that violates
        |gradient_i| <= tau_i most enters.
        """
        s, size = np.sign(x), np.inf
        for _ in range(limit):
            S, gradient = np.flatnonzero(s), loss.gradient(x)
            g = (gradient + self.tau * s)[S]
            if _largest(g) < size / 2:
                step = np.zeros_like(x)
                step[S] = _newton_step(loss.hessian(x, S), g, 1e-11 * self.tau.max(), _largest(x))
                part, left = _first_zero(x, step, s)
                x = x + part * step
                x[left] = s[left] = 0
                size = np.inf if left.size else _largest(g)
            else:  # rounding is reached: this is the minimum on S
                excess = np.where(s == 0, np.abs(gradient) - self.tau, 0.0)
                j = int(excess.argmax())
                if excess[j] <= 1e-10 * np.abs(gradient).max():
                    break
                s[j], size = -np.sign(gradient[j]), np.inf
        return x

    def products(self, x: np.ndarray, lambda_: np.ndarray) -> np.ndarray:
        return lambda_ * x

    def norms(self, lambda_: np.ndarray) -> np.ndarray:
        """Return the sizes that tau bounds."""
        return np.abs(lambda_)

    def distance(self, x: np.ndarray, lambda_: np.ndarray) -> float:
        """Return the largest distance of an entry of lambda from the subdifferential at x."""
        away = np.abs(lambda_ - self.tau * np.sign(x))
        return _largest(np.where(x != 0, away, np.maximum(np.abs(lambda_) - self.tau, 0)))


class _GroupL2:
    """The penalty sum_i tau_i |x_i|_2 over groups of entries; `label[j]` is the group of entry j."""

    def __init__(self, tau: np.ndarray, label: np.ndarray) -> None:
        self.tau, self.label = tau, label

    def _sum(self, v: np.ndarray) -> np.ndarray:
        return np.bincount(self.label, weights=v, minlength=self.tau.size)

    def norms(self, v: np.ndarray) -> np.ndarray:
        return np.sqrt(self._sum(v * v))

    def terms(self, x: np.ndarray) -> np.ndarray:
        return self.tau * self.norms(x)

    def prox(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Block soft thresholding of all groups at once."""
        norms, c = self.norms(v), self.tau / rho
        keep = np.divide(c, norms, out=np.ones_like(norms), where=norms > c)
        return (1 - keep)[self.label] * v

    def direction(self, x: np.ndarray) -> np.ndarray:
        """Return x_i / |x_i|_2, zero for a zero group."""
        norms = self.norms(x)[self.label]
        return np.divide(x, norms, out=np.zeros_like(x), where=norms > 0)

    def minimize(self, loss: SmoothLoss, x: np.ndarray, limit: int) -> np.ndarray:
        """Minimise l(x) + sum_i tau_i |x_i|_2 by Newton's method on the groups that are not zero."""
        S, size = np.flatnonzero(self.norms(x)[self.label]), np.inf
        tau = self.tau[self.label]
        for _ in range(30):
            d = self.direction(x)
            g = (loss.gradient(x) + tau * d)[S]
            if not _largest(g) < size / 2:  # rounding is reached, or there is no progress
                break
            size = _largest(g)
            # Each group's norm has the Hessian (I - d d') / |x_i|_2, d the direction of x_i.
            norms = self.norms(x)[self.label[S]]
            if not norms.all():
                break
            bend = tau[S] / norms
            same = self.label[S, None] == self.label[S]
            H = loss.hessian(x, S) + np.diag(bend)
            H -= np.where(same, bend[:, None] * np.outer(d[S], d[S]), 0.0)
            x[S] += _newton_step(H, g, np.inf, 0.0)
        return x

    def products(self, x: np.ndarray, lambda_: np.ndarray) -> np.ndarray:
        return self._sum(x * lambda_)

    def distance(self, x: np.ndarray, lambda_: np.ndarray) -> float:
        away = self.norms(lambda_ - self.tau[self.label] * self.direction(x))
        inside = np.maximum(self.norms(lambda_) - self.tau, 0)
        return _largest(np.where(self.norms(x) > 0, away, inside))


class _Regularized(_Problem):
    """Minimise l(x) + P(z) subject to x - z = 0. The multiplier at a solution is minus the gradient of l."""

    def __init__(self, loss: Any, penalty: Any, value: Callable[..., Any] | None = None) -> None:
        self.loss, self.penalty, self.value = loss, penalty, value
        self.c, self.rho = np.zeros(loss.n), loss.curvature or 1.0
        self.smooth = isinstance(loss, SmoothLoss)
        if self.smooth:
            self.value = loss.value
            self.value_0 = loss.value(self.c)
            self.slope_0 = _largest(penalty.norms(loss.gradient(self.c)))
            if 0 < _largest(penalty.tau) < 0.1 * self.slope_0:  # small tau, small threshold
                self.rho *= (10 * _largest(penalty.tau) / self.slope_0) ** 0.75

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        return self.loss.prox(v, rho)

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        return self.penalty.prox(-v, rho)

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        return np.nan if self.value is None else float(self.value(x)) + self.penalty.terms(z).sum()

    def plain(self, step: Iterate) -> Triple:
        lambda_ = -self.loss.gradient(step.z) if self.smooth else step.rho * step.u
        return step.z, step.z, lambda_

    def finished(self, step: Iterate, settled: bool) -> Iterator[Triple]:
        """Yield zero, and the outcome of the active-set method that starts at z."""
        if not self.smooth:
            return
        yield self.c, self.c, -self.loss.gradient(self.c)
        if settled and step.z.any():
            x = self.penalty.minimize(self.loss, step.z.copy(), step.k + 5)
            yield x, x, -self.loss.gradient(x)

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        P, tau = self.penalty, self.penalty.tau
        slack = P.terms(z) - P.products(z, lambda_)
        if self.smooth:
            primal, total = 0.0, self.objective(z, z)
            norms = P.norms(lambda_)
            over = (norms > tau) & (tau > 0)
            shrink = float((tau[over] / norms[over]).min(initial=1.0))
            gap = total - self.loss.dual_value(z, shrink)
            total = max(abs(total), _FLOOR * abs(self.value_0))
            slope = max(_largest(tau), _SLOPE_FLOOR * self.slope_0)
        else:  # -lambda is a subgradient of l at z exactly when z = prox(z - lambda / rho)
            fixed = self.loss.prox(z - lambda_ / self.rho, self.rho)
            primal = _relative(_largest(fixed - z), max(_largest(z), _largest(lambda_) / self.rho))
            gap, total, slope = abs(slack.sum()), P.terms(z).sum(), _largest(tau)
        return Certificate(
            primal_residual=primal,
            dual_residual=_relative(P.distance(z, lambda_), slope),
            complementarity=_relative(_largest(slack), total),
            gap=_relative(gap, total),
            tolerance=tol,
        )


# ----------------------------------------------------------------------------------------------
# Least absolute deviations, basis pursuit, generalised lasso
# ----------------------------------------------------------------------------------------------


class _LeastAbsolute(_Problem):
    """Minimise |z|_1 subject to A x - z = b, for A with independent columns."""

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        self.b, self.n = b, A.shape[1]
        norms = np.linalg.norm(A, axis=0)
        self.norms = np.where(norms > 0, norms, 1.0)
        A = A / self.norms
        Q, R, order = linalg.qr(A, mode="economic", pivoting=True)
        rank = _rank(R, A.shape)
        self.kept = order[:rank]  # a largest set of independent columns
        self.A, self.c = A[:, self.kept], b
        self.Q, self.R = Q[:, :rank], R[:rank, :rank]
        self.large = self.Q.size >= _LARGE and rank > 0
        # Compared with the size of b, residuals below rounding count as zero.
        self.zero = 1e-13 * b.size * _largest(b)
        # The threshold 1 / rho separates the rows that are fitted from the others: guess it by
        # the least squares fit, as the size of its 2 rank smallest deviations.
        deviations = np.sort(np.abs(b - self.Q @ (self.Q.T @ b)))
        self.rho = 1 / (deviations[min(2 * rank, b.size - 1)] + self.zero or 1.0)

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return (A'A)^{-1} A'v from A = QR."""
        return self._coefficients(self.Q.T @ v)

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        return soft_threshold(-v, 1 / rho)

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        return float(np.abs(z).sum())

    def original(self, x: np.ndarray) -> np.ndarray:
        full = np.zeros(self.n)
        full[self.kept] = x
        return full / self.norms

    def plain(self, step: Iterate) -> Triple:
        return step.x, self.A @ step.x - self.b, step.rho * step.u

    def finished(self, step: Iterate, settled: bool) -> Iterator[Triple]:
        """Yield a vertex: a point that fits as many rows exactly as A has columns."""
        if self.large:  # once: an interior-point method finds sooner which rows are fitted
            self.large = False
            yield self._from_dual()
        size = step.rho * np.abs(step.z + step.u) + _EPS  # below 1 exactly where z is 0
        rows = self._pivot(_independent_rows(self.Q, 1 / size), step.k)
        w = linalg.lstsq(self.Q[rows], self.b[rows])[0] if rows.size else np.zeros(0)
        z = self.Q @ w - self.b
        z[rows] = 0
        z[np.abs(z) <= self.zero] = 0
        # The multiplier is sign z, and on the zeros what A'lambda = 0 asks for: nearest to ADMM's.
        lambda_, free = np.sign(z), z == 0
        Q, rest = self.Q[free], -(self.Q.T @ lambda_)
        guess = np.clip(step.rho * step.u[free], -1, 1)
        lambda_[free] = guess + linalg.lstsq(Q.T, rest - Q.T @ guess)[0]
        if _largest(lambda_) > 1 + 1e-9 and free.sum() > rows.size:  # more zeros than columns
            lambda_[free] = lsq_linear(Q.T, rest, bounds=(-1, 1), method="bvls", tol=1e-14).x
        yield self._coefficients(w), z, lambda_

    def _from_dual(self) -> Triple:
        """Solve the dual program min b'lambda, Q'lambda = 0, |lambda| <= 1; w is its multiplier."""
        m, rank = self.Q.shape
        nothing = LowRank(np.zeros((m, 0)))
        with warnings.catch_warnings():  # the certificate of the vertex decides
            warnings.simplefilter("ignore", ConvergenceWarning)
            dual = solve_qp(nothing, self.b, self.Q.T, np.zeros(rank), lower=-1.0, upper=1.0)
        z = self.Q @ -dual.y - self.b
        z[np.abs(dual.x) < 1] = 0
        z[np.abs(z) <= self.zero] = 0
        return self._coefficients(-dual.y), z, dual.x

    def _pivot(self, rows: np.ndarray, limit: int) -> np.ndarray:
        """Exchange rows of the vertex, one by one, while that makes the sum of deviations smaller."""
        if rows.size == 0:
            return rows
        rows, inverse = rows.copy(), np.linalg.inv(self.Q[rows])
        for _ in range(limit):
            z = self.Q @ (inverse @ self.b[rows]) - self.b
            z[rows] = 0
            z[np.abs(z) <= self.zero] = 0
            multiplier = -((np.sign(z) @ self.Q) @ inverse)
            i = int(np.abs(multiplier).argmax())
            if abs(multiplier[i]) <= 1 + 1e-9:
                break
            # Let row i go: the other deviations follow, until no descent is left.
            change = np.sign(multiplier[i]) * (self.Q @ inverse[:, i])
            change[rows] = 0
            j = _first_ascent(z, change, 1 - abs(multiplier[i]))
            if j is None:
                break
            _replace_row(inverse, i, self.Q[j])
            rows[i] = j
        return rows

    def _coefficients(self, w: np.ndarray) -> np.ndarray:
        return linalg.solve_triangular(self.R, w, check_finite=False)

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        fit = self.A @ x
        attained = float(np.abs(fit - self.b).sum())
        size = float(np.abs(self.b).sum() + (np.abs(self.A) @ np.abs(x)).sum())
        total = max(attained, _FLOOR * size)
        slack = np.abs(z) - lambda_ * z
        return Certificate(
            primal_residual=_relative(_largest(fit - self.b - z), _largest(self.b) + _largest(fit)),
            dual_residual=max(_largest(lambda_) - 1, _largest(self.Q.T @ lambda_), 0.0),
            complementarity=_relative(_largest(slack), total),
            gap=_relative(abs(attained + float(self.b @ lambda_)), total),
            tolerance=tol,
        )


class _BasisPursuit(_Problem):
    """Minimise |z|_1 subject to A x = b and x - z = 0."""

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        self.c = np.zeros(A.shape[1])
        norms = np.linalg.norm(A, axis=1)
        norms = np.where(norms > 0, norms, 1.0)
        A, b = A / norms[:, None], b / norms
        Q, R, order = linalg.qr(A.T, mode="economic", pivoting=True)
        rank = _rank(R, A.shape)
        kept = order[:rank]
        self.rows, self.b = A, b
        self.Q = Q[:, :rank]  # A x = b says Q'x = d
        self.d = linalg.solve_triangular(R[:rank, :rank], b[kept], trans="T")
        self.shortest = self.Q @ self.d
        miss = A @ self.shortest - b
        if _largest(miss) > 1e-9 * (_largest(b) + float(np.linalg.norm(self.shortest))):
            y = b - A @ linalg.lstsq(A, b)[0]
            raise InfeasibleProblemError(
                f"no x satisfies A x = b: A has rank {rank}, and b is not in its column space "
                f"(the best x misses an equation by {_largest(y * norms):.3g})",
                witness=y / norms,
            )
        self.rho = self.c.size / float(np.abs(self.shortest).sum()) if self.shortest.any() else 1.0

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return the projection of v onto the solutions of A x = b."""
        return v - self.Q @ (self.Q.T @ v - self.d)

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        return soft_threshold(-v, 1 / rho)

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        return float(np.abs(z).sum())

    def plain(self, step: Iterate) -> Triple:
        lambda_ = self.Q @ (self.Q.T @ (step.rho * step.u))
        return step.x, step.x, lambda_ / max(_largest(lambda_), 1.0)

    def finished(self, step: Iterate, settled: bool) -> Iterator[Triple]:
        """Yield the solutions of A x = b with a set of entries, read from z, that are not zero."""
        support, rank = np.flatnonzero(step.z), self.Q.shape[1]
        if settled and 0 < support.size < rank:
            yield self._fit(step, support)
        if rank:
            size = step.rho * np.abs(step.z + step.u)  # above 1 exactly where z is not 0
            yield self._fit(step, self._pivot(_independent_rows(self.Q, size), step.k))

    def _pivot(self, S: np.ndarray, limit: int) -> np.ndarray:
        """Exchange entries of the support, one by one, while that makes the l1-norm smaller."""
        S, inverse = S.copy(), np.linalg.inv(self.Q[S])
        for _ in range(limit):
            x = self.d @ inverse  # A_S x = b
            x[np.abs(x) <= 1e-12 * _largest(x)] = 0
            lambda_ = self.Q @ (inverse @ np.sign(x))
            lambda_[S] = 0
            j = int(np.abs(lambda_).argmax())
            if abs(lambda_[j]) <= 1 + 1e-9:
                break
            # Let entry j grow: the others follow, until no descent is left.
            change = -np.sign(lambda_[j]) * (self.Q[j] @ inverse)
            i = _first_ascent(x, change, 1 - abs(lambda_[j]))
            if i is None:
                break
            _replace_row(inverse, i, self.Q[j])
            S[i] = j
        return S

    def _fit(self, step: Iterate, S: np.ndarray) -> Triple:
        """Move z to A_S x_S = b, then lambda = A'y to sign x on the support."""
        x = np.zeros_like(self.c)
        x[S] = step.z[S] + linalg.pinv(self.Q[S]).T @ (self.d - self.Q[S].T @ step.z[S])
        x[np.abs(x) <= 1e-12 * _largest(x)] = 0
        S = np.flatnonzero(x)
        y = self.Q.T @ (step.rho * step.u)
        y = y + linalg.pinv(self.Q[S]) @ (np.sign(x[S]) - self.Q[S] @ y)
        lambda_ = self.Q @ y
        return x, x, lambda_ / max(_largest(lambda_), 1.0)

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        total = float(np.abs(z).sum())
        slack = np.abs(z) - lambda_ * z
        y = self.Q.T @ lambda_
        return Certificate(
            primal_residual=_relative(
                _largest(self.rows @ x - self.b), _largest(self.b) + float(np.linalg.norm(x))
            ),
            dual_residual=max(_largest(lambda_) - 1, _largest(lambda_ - self.Q @ y), 0.0),
            complementarity=_relative(_largest(slack), total),
            gap=_relative(abs(total - float(self.d @ y)), total),
            tolerance=tol,
        )


class _GeneralizedLasso(_Problem):
    """Minimise 1/2 |A x - b|^2 + tau |z|_1 subject to F x - z = 0."""

    def __init__(self, A: np.ndarray, b: np.ndarray, F: np.ndarray, tau: float) -> None:
        self.basis: np.ndarray | None = None
        weight = np.linalg.norm(A) / (np.linalg.norm(F) or 1.0) or 1.0
        stacked = np.vstack([A, weight * F])
        _, s, Vt = np.linalg.svd(stacked, full_matrices=False)
        rank = int(np.sum(s > max(stacked.shape) * _EPS * s.max(initial=0.0)))
        if rank < A.shape[1]:  # a direction with A d = 0, F d = 0 changes nothing: leave it out
            self.basis = Vt[:rank].T
            A, F = A @ self.basis, F @ self.basis
        self.data, self.b, self.A, self.tau = A, b, F, tau
        self.c = np.zeros(F.shape[0])
        self.gram, self.A_b, self.F_F = A.T @ A, A.T @ b, F.T @ F
        self.rho = float(weight**2)
        self._factor: tuple[float, Any] = (np.nan, None)

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return (A'A + rho F'F)^{-1} (A'b + rho F'v)."""
        if self._factor[0] != rho:
            self._factor = rho, linalg.cho_factor(self.gram + rho * self.F_F, check_finite=False)
        right = self.A_b + rho * (self.A.T @ v)
        return linalg.cho_solve(self._factor[1], right, check_finite=False)

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        return soft_threshold(-v, self.tau / rho)

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        r = self.data @ x - self.b
        return float(r @ r / 2 + self.tau * np.abs(z).sum())

    def original(self, x: np.ndarray) -> np.ndarray:
        return x if self.basis is None else self.basis @ x

    def plain(self, step: Iterate) -> Triple:
        return step.x, self.A @ step.x, step.rho * step.u

    def finished(self, step: Iterate, settled: bool) -> Iterator[Triple]:
        """Yield the outcome of an active-set method that starts at the zeros and signs of z.

        Minimise over the x with F x = 0 in the rows of zeros, with the signs of the other rows. A row that would
        change its sign becomes a zero. At the minimum, the zero that violates |lambda_i| <= tau most is released.
        """
        if not settled:
            return
        F, tau = self.A, self.tau
        s, x = np.sign(step.z), step.x
        for k in range(2 + step.k // 20):
            zeros = s == 0
            U, sigma, Vt = linalg.svd(F[zeros], check_finite=False)
            rank = int(np.sum(sigma > max(F.shape) * _EPS * sigma.max(initial=0.0)))
            null = Vt[rank:].T  # x = null w has F x = 0 in those rows
            if k == 0:
                x = null @ (null.T @ x)
                s = np.where(s * (F @ x) < 0, -s, s)
            slope = self.A_b - tau * (F.T @ s)
            H, g = null.T @ self.gram @ null, null.T @ (self.gram @ x - slope)
            move = null @ _newton_step(H, g, 1e-11 * _largest(slope), _largest(x))
            part, left = _first_zero(F @ x, F @ move, s)
            x = x + part * move
            s[left] = 0
            if left.size:
                continue
            lambda_ = tau * s
            guess = np.clip(step.rho * step.u[zeros], -tau, tau)
            rest = slope - self.gram @ x - F[zeros].T @ guess
            lambda_[zeros] = guess + U[:, :rank] @ ((Vt[:rank] @ rest) / sigma[:rank])
            j = int(np.abs(lambda_).argmax())
            if abs(lambda_[j]) <= tau * (1 + 1e-10):
                yield x, np.where(zeros, 0.0, F @ x), lambda_
                return
            s[j] = np.sign(lambda_[j])

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        slack = self.tau * np.abs(z) - lambda_ * z
        F_x = self.A @ x
        size = np.abs(self.b) + np.abs(self.data) @ np.abs(x)
        total = max(self.objective(x, z), _FLOOR * float(size @ size) / 2)
        stationarity = _largest(self.gram @ x - self.A_b + self.A.T @ lambda_)
        slope = _largest(np.abs(self.A).T @ np.abs(lambda_))
        slope = max(slope, _SLOPE_FLOOR * _largest(np.abs(self.data).T @ size))
        over = _relative(_largest(lambda_) - self.tau, self.tau)
        return Certificate(
            primal_residual=_relative(_largest(F_x - z), _largest(np.abs(self.A) @ np.abs(x))),
            dual_residual=max(_relative(stationarity, slope), over),
            complementarity=_relative(_largest(slack), total),
            gap=_relative(abs(self.tau * np.abs(F_x).sum() - lambda_ @ F_x), total),
            tolerance=tol,
        )


def _newton_step(H: np.ndarray, g: np.ndarray, noise: float, reach: float) -> np.ndarray:
    """Return the shortest minimiser d of g'd + d'H d/2, for a positive semidefinite H.

    There is none if g has a part in the null space of H. Then return a step downhill there, far beyond `reach`.
    """
    if g.size == 0:
        return np.zeros(0)
    d = -linalg.lstsq(H, g, lapack_driver="gelsy", check_finite=False)[0]
    rest = g + H @ d
    if _largest(rest) <= max(noise, 1e-6 * _largest(g)):
        return d
    return -1e10 * (reach or 1.0) / _largest(rest) * rest


def _first_zero(v: np.ndarray, step: np.ndarray, s: np.ndarray) -> tuple[float, np.ndarray]:
    """Return how much of the step the signs s of v allow (at most 1), and the entries that stop it."""
    crossing = np.flatnonzero(((v + step) * s < 0) & (step * s < 0))
    if crossing.size == 0:
        return 1.0, crossing
    parts = np.maximum(-v[crossing] / step[crossing], 0.0)
    return float(parts.min()), crossing[parts == parts.min()]


def _rank(R: np.ndarray, shape: tuple[int, ...]) -> int:
    """Return the rank that the triangle of a pivoted QR factorisation shows."""
    diagonal = np.abs(np.diag(R))
    return int(np.sum(diagonal > max(shape) * _EPS * diagonal.max(initial=0.0)))


def _independent_rows(Q: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return as many independent rows of Q as it has columns, those of large `size` first."""
    weight = np.clip(size, 0.1, 10) ** 4  # steep, yet dependent rows must stay below rounding
    _, order = linalg.qr((Q * weight[:, None]).T, mode="r", pivoting=True)
    return np.sort(order[: Q.shape[1]])


def _first_ascent(v: np.ndarray, change: np.ndarray, slope: float) -> int | None:
    """Return the entry of v + t change at whose zero the sum of absolute values stops to fall.

    The sum has this negative slope at t = 0. The slope grows by 2 |change_i| where entry i passes through zero, and by
    |change_i| at once if the entry is zero now.
    """
    moving = np.flatnonzero((v * change <= 0) & (np.abs(change) > 1e-9))
    order = moving[np.argsort(-v[moving] / change[moving], kind="stable")]
    slopes = slope + np.cumsum(np.where(v[order] == 0, 1, 2) * np.abs(change[order]))
    stop = int(np.searchsorted(slopes, 0.0))
    return int(order[stop]) if stop < order.size else None


def _replace_row(inverse: np.ndarray, i: int, row: np.ndarray) -> None:
    """Update the inverse of a matrix, in place, for a new row i."""
    p = row @ inverse
    column = inverse[:, i] / p[i]
    p[i] -= 1
    inverse -= np.outer(column, p)
