"""A smooth loss and an l1 penalty: lasso, group lasso, and any other loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from companion.admm.l1.loop import (
    FLOOR,
    SLOPE_FLOOR,
    L1Problem,
    Triple,
    Units,
    exponent,
    in_units,
    largest,
    relative,
    rows_of,
    run,
    shrunk,
)
from companion.admm.l1.losses import LeastSquaresLoss, LogisticLoss, ProximalLoss, SmoothLoss
from companion.admm.l1.signs import first_zero, newton_step
from companion.admm.splitting import Iterate
from companion.certificates import Certificate
from companion.checks import (
    as_matrix,
    as_scalar,
    as_vector,
    check_count,
    count_axes,
    reject_masked,
)
from companion.results import ADMMResult, Problem

__all__ = ["group_lasso", "l1_regularized", "lasso"]


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
    A = as_matrix(A, "A")
    b = as_vector(b, "b", rows_of(A))
    tau = as_scalar(tau, "tau", at_least=0)
    loss, units = _scaled_loss(A, b)
    penalty = _L1(np.full(loss.n, in_units(tau, units.multiplier, "tau")))
    return run(
        _Regularized(loss, penalty, units=units),
        given=Problem("lasso", {"A": A, "b": b, "tau": tau}),
        rho=rho,
        relaxation=relaxation,
        tol=tol,
        max_iter=max_iter,
        finish=finish,
        warm_start=warm_start,
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

    .. math:: z_i^{k+1} &= \mathcal{S}_{\tau w_i/\rho}(x_i^{k+1} + u_i^k), \\
              \mathcal{S}_c(v) &= (1 - c / \|v\|_2)_+ \, v.

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
    A = as_matrix(A, "A")
    b = as_vector(b, "b", rows_of(A))
    tau = as_scalar(tau, "tau", at_least=0)
    loss, units = _scaled_loss(A, b)
    label, count = _labels(groups, loss.n)
    w = np.ones(count) if weights is None else as_vector(weights, "weights", count)
    if (w < 0).any():
        raise ValueError(f"weights must be >= 0, got {w.min():g}")
    scaled = np.array([in_units(t, units.multiplier, "tau times a weight") for t in tau * w])
    return run(
        _Regularized(loss, _GroupL2(scaled, label), units=units),
        given=Problem("group lasso", {"A": A, "b": b, "label": label, "tau": tau * w}),
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

        x^{k+1} &= \arg\min_x \; l(x) \\
                & \qquad {} + (\rho/2)\|x - z^k + u^k\|_2^2 \\
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
        loss = ProximalLoss(loss, check_count(n, "n"))  # type: ignore[assignment]
    size = loss.n  # type: ignore[union-attr]
    if n not in (None, size):
        raise ValueError(f"n must be the loss's number of coefficients {size}, got {n}")
    tau = (
        np.full(size, as_scalar(tau, "tau"))
        if count_axes(tau, "tau") == 0
        else as_vector(tau, "tau", size)
    )
    if (tau < 0).any():
        raise ValueError(f"tau must be >= 0, got {tau.min():g}")
    return run(
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


def _scaled_loss(A: np.ndarray, b: np.ndarray) -> tuple[LeastSquaresLoss, Units]:
    """Return the loss 1/2 |A x - b|^2 on data whose squares exist, and what its units are."""
    a, c = exponent(A), exponent(b)
    loss = LeastSquaresLoss(np.ldexp(A, -a) if a else A, np.ldexp(b, -c) if c else b)
    return loss, Units(x=c - a, z=c - a, objective=2 * c)


def _labels(groups: Any, n: int) -> tuple[np.ndarray, int]:
    """Return the group number of each coefficient, and the number of groups."""
    reject_masked(groups, "groups")
    if not isinstance(groups, Iterable) or isinstance(groups, (str, Mapping)):
        raise TypeError(f"groups must be a sequence, got {type(groups).__name__}")
    groups = list(groups)
    if all(np.ndim(g) == 0 for g in groups):
        if len(groups) != n:
            raise ValueError(
                f"groups must be {n} labels or a sequence of index lists, got {len(groups)} labels"
            )
        if not all(isinstance(g, (str, bool, int, np.bool_, np.integer)) for g in groups):
            groups = as_vector(groups, "groups").tolist()  # floats such as 1.0
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
# Penalties: tau |x|_1 and its grouped form
# ----------------------------------------------------------------------------------------------


class _L1:
    """The penalty sum_i tau_i |x_i|."""

    def __init__(self, tau: np.ndarray) -> None:
        self.tau = tau

    def free(self) -> np.ndarray:
        """Return the entries without penalty."""
        return np.flatnonzero(self.tau == 0)

    def terms(self, x: np.ndarray) -> np.ndarray:
        return self.tau * np.abs(x)

    def prox(self, v: np.ndarray, rho: float) -> np.ndarray:
        return shrunk(v, self.tau / rho)

    def minimize(self, loss: SmoothLoss, x: np.ndarray, limit: int) -> np.ndarray:
        """Minimise l(x) + sum_i tau_i |x_i| by Newton's method on a support S with signs s.

        An entry that would change its sign leaves S. When the minimum on S is reached, the entry that violates
        |gradient_i| <= tau_i most enters.
        """
        s, size = np.sign(x), np.inf
        for _ in range(limit):
            S, gradient = np.flatnonzero(s), loss.gradient(x)
            g = (gradient + self.tau * s)[S]
            if largest(g) < size / 2:
                step = np.zeros_like(x)
                step[S] = newton_step(loss.hessian(x, S), g, 1e-11 * self.tau.max(), largest(x))
                part, left = first_zero(x, step, s)
                x = x + part * step
                x[left] = s[left] = 0
                size = np.inf if left.size else largest(g)
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
        return largest(np.where(x != 0, away, np.maximum(np.abs(lambda_) - self.tau, 0)))


class _GroupL2:
    """The penalty sum_i tau_i |x_i|_2 over groups of entries; `label[j]` is the group of entry j."""

    def __init__(self, tau: np.ndarray, label: np.ndarray) -> None:
        self.tau, self.label = tau, label

    def free(self) -> np.ndarray:
        """Return the entries without penalty."""
        return np.flatnonzero(self.tau[self.label] == 0)

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
            if not largest(g) < size / 2:  # rounding is reached, or there is no progress
                break
            size = largest(g)
            # Each group's norm has the Hessian (I - d d') / |x_i|_2, d the direction of x_i.
            norms = self.norms(x)[self.label[S]]
            if not norms.all():
                break
            bend = tau[S] / norms
            same = self.label[S, None] == self.label[S]
            H = loss.hessian(x, S) + np.diag(bend)
            H -= np.where(same, bend[:, None] * np.outer(d[S], d[S]), 0.0)
            x[S] += newton_step(H, g, np.inf, 0.0)
        return x

    def products(self, x: np.ndarray, lambda_: np.ndarray) -> np.ndarray:
        return self._sum(x * lambda_)

    def distance(self, x: np.ndarray, lambda_: np.ndarray) -> float:
        away = self.norms(lambda_ - self.tau[self.label] * self.direction(x))
        inside = np.maximum(self.norms(lambda_) - self.tau, 0)
        return largest(np.where(self.norms(x) > 0, away, inside))


class _Regularized(L1Problem):
    """Minimise l(x) + P(z) subject to x - z = 0. The multiplier at a solution is minus the gradient of l."""

    def __init__(
        self,
        loss: Any,
        penalty: Any,
        value: Callable[..., Any] | None = None,
        units: Units = L1Problem.units,
    ) -> None:
        self.loss, self.penalty, self.value, self.units = loss, penalty, value, units
        self.c, self.rho = np.zeros(loss.n), loss.curvature or 1.0
        self.smooth = isinstance(loss, SmoothLoss)
        if self.smooth:
            self.value = loss.value
            self.value_0 = loss.value(self.c)
            self.slope_0 = largest(penalty.norms(loss.gradient(self.c)))
            if 0 < largest(penalty.tau) < 0.1 * self.slope_0:  # small tau, small threshold
                self.rho *= (10 * largest(penalty.tau) / self.slope_0) ** 0.75

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
            total = max(abs(total), FLOOR * abs(self.value_0))
            slope = max(largest(tau), SLOPE_FLOOR * self.slope_0)
        else:  # -lambda is a subgradient of l at z exactly when z = prox(z - lambda / rho)
            fixed = self.loss.prox(z - lambda_ / self.rho, self.rho)
            primal = relative(largest(fixed - z), max(largest(z), largest(lambda_) / self.rho))
            gap, total, slope = abs(slack.sum()), P.terms(z).sum(), largest(tau)
        dual, free = relative(P.distance(z, lambda_), slope), P.free()
        if self.smooth and free.size and dual <= tol:  # small beside tau, and beside the curvature?
            gap += self.loss.gain(z, free)
        return Certificate(
            primal_residual=primal,
            dual_residual=dual,
            complementarity=relative(largest(slack), total),
            gap=relative(gap, total),
            tolerance=tol,
        )
