"""A smooth loss and an l1 penalty: lasso, group lasso, and any other loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from companion.admm.l1.problem import L1Problem, Triple, solve
from companion.admm.losses import (
    LeastSquaresLoss,
    LogisticLoss,
    SmoothLoss,
    first_zero,
    newton_step,
)
from companion.admm.proximal import soft_threshold
from companion.admm.splitting import Iterate
from companion.arithmetic import EPS, largest, ratio
from companion.checks import as_scalar, as_vector, count_axes
from companion.engine.certificate import (
    certify_squares,
    certify_terms,
    rounding_of_a_fit,
    rounding_of_a_sum,
)
from companion.results import ADMMResult, Certificate, Problem

__all__ = ["group_lasso", "l1_regularized", "lasso"]


class _Regularized(L1Problem):
    """Minimise l(x) + P(z) subject to x - z = 0. The multiplier at a solution is minus the gradient of l."""

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return argmin l(x) + rho/2 |x - v|^2; for least squares (A'A + rho I)^{-1} (A'b + rho v)."""
        return self.loss.prox(v, rho)

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return S_{tau/rho}(-v), entry by entry or group by group."""
        return self.penalty.prox(-v, rho)

    def __init__(self, loss: SmoothLoss, penalty: _Groups) -> None:
        self.loss, self.penalty = loss, penalty
        self.c = np.zeros(loss.n)
        self.slope_0 = np.abs(loss.gradient(self.c))
        steepest = largest(penalty.norms(self.slope_0))
        self.rho = float(np.mean(loss.curvature)) or 1.0
        if 0 < largest(penalty.tau) < 0.1 * steepest:  # small tau, small threshold
            self.rho *= max(10 * largest(penalty.tau) / steepest, 1e-8) ** 0.75

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        return self.loss.value(x) + float(self.penalty.terms(z).sum())

    def plain(self, step: Iterate) -> Triple:
        return step.z, step.z, -self.loss.gradient(step.z)

    def finished(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, k: int) -> Triple:
        """Return the minimum on the support of z, where P is smooth, by Newton's method."""
        x = self.penalty.minimize(self.loss, z.copy(), k + 5)
        return x, x, -self.loss.gradient(x)

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        """Prove z by the dual point t lambda, t at most 1 so that it is feasible.

        The gap is l(z) + l*(-t lambda) + t lambda'z and the slack of P. The first is 0 for t = 1, and at most
        (1 - t) l(z) by convexity. Rounding may have changed the gradient by an epsilon of its terms.
        """
        if isinstance(self.loss, LeastSquaresLoss):
            plain = self._certify_squares(self.loss, z, tol, refine=False)
            return plain if plain.ok else self._certify_squares(self.loss, z, tol, refine=True)
        P, free = self.penalty, self.penalty.free()
        norms = P.norms(lambda_)
        t = P.feasible_part(norms)
        loss = self.loss.value(z)
        terms = self.slope_0 + self.loss.curvature * np.abs(z)
        rest, steep = (1 - t) * loss + EPS * float(terms @ np.abs(z)), 0.0
        if free.size:  # without penalty the gradient has to be 0; by how much would the loss fall?
            g, H = self.loss.gradient(z)[free], self.loss.hessian(z, free)
            rest -= float(g @ newton_step(H, g)) / 2
            own = self.slope_0[free] + H.diagonal() * np.abs(z[free])
            steep = largest(ratio(np.abs(g), own))
        sizes = P.terms(z)
        return certify_terms(
            sizes - t * P.products(z, np.where(P.tau > 0, 1.0, 0.0)[P.label] * lambda_),
            rest, loss + float(sizes.sum()), tol, primal=0.0, dual=max(P.excess(norms), steep),
        )  # fmt: skip

    def _certify_squares(
        self, loss: LeastSquaresLoss, z: np.ndarray, tol: float, *, refine: bool
    ) -> Certificate:
        r"""Prove z by the residual as a dual point.

        Where tau is tiny, rounding of the residual hides the gradient that z asks for on its support (0 for entries
        without penalty). A refined residual has it. It is that of one more step of Newton's method, and is taken only
        if it differs by no more than rounding does.
        """
        P, free = self.penalty, self.penalty.free()
        residual = loss.b - loss.A @ z
        lambda_ = residual
        S = np.flatnonzero((P.norms(z) > 0)[P.label] | (P.tau == 0)[P.label])
        c, size = loss.A.T @ residual, float(np.linalg.norm(loss.b))
        columns = np.sqrt(loss.curvature)
        rounding = rounding_of_a_fit(size, z, columns)
        if refine and S.size:
            sizes = P.norms(z)
            unit = np.divide(P.tau, sizes, out=np.zeros_like(sizes), where=sizes > 0)
            target = unit[P.label] * z
            change = loss.A[:, S] @ newton_step(loss.hessian(z, S), (target - c)[S])
            if float(np.linalg.norm(change)) <= rounding:
                lambda_ = residual - change
                c = loss.A.T @ lambda_
        norms = P.norms(c)
        t = P.feasible_part(norms)
        rounded = rounding_of_a_sum(loss.b.size) * float(np.linalg.norm(lambda_)) * columns
        rounded[free] = 0.0  # the dual residual counts them
        slack = np.abs(P.terms(z) - t * P.products(z, np.where(P.tau > 0, 1.0, 0.0)[P.label] * c))
        slack += P.products(np.abs(z), rounded)
        steep = largest(ratio(np.abs(c[free]), columns[free] * size))
        return certify_squares(
            float(np.linalg.norm(residual - t * lambda_)) + rounding,
            slack, self.objective(z, z), size, tol, dual=max(P.excess(norms), steep),
        )  # fmt: skip


class _Groups:
    """The penalty sum_i tau_i |x_i|_2 over groups of entries; `label[j]` is the group of entry j."""

    def __init__(self, tau: np.ndarray, label: np.ndarray) -> None:
        self.tau, self.label = tau, label

    def prox(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Block soft thresholding of all groups at once."""
        norms, c = self.norms(v), self.tau / rho
        keep = np.divide(c, norms, out=np.ones_like(norms), where=norms > c)
        return (1 - keep)[self.label] * v

    def free(self) -> np.ndarray:
        """Return the entries without penalty."""
        return np.flatnonzero(self.tau[self.label] == 0)

    def feasible_part(self, norms: np.ndarray) -> float:
        """Return the largest t <= 1 with which t times a dual point is feasible, from its norms."""
        above = (norms > self.tau) & (self.tau > 0)
        return float((self.tau[above] / norms[above]).min(initial=1.0))

    def excess(self, norms: np.ndarray) -> float:
        """Return by what part of their tau the norms of a dual point exceed it, where there is one."""
        own = self.tau > 0
        return largest(np.maximum(norms[own] - self.tau[own], 0.0) / self.tau[own])

    def norms(self, v: np.ndarray) -> np.ndarray:
        return np.sqrt(self.products(v, v))

    def products(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.bincount(self.label, weights=x * v, minlength=self.tau.size)

    def terms(self, x: np.ndarray) -> np.ndarray:
        return self.tau * self.norms(x)

    def minimize(self, loss: SmoothLoss, x: np.ndarray, limit: int) -> np.ndarray:
        """Minimise l(x) + sum_i tau_i |x_i|_2 over the groups that are not zero."""
        S, size, last = np.flatnonzero(self.norms(x)[self.label]), np.inf, x
        tau, same = self.tau[self.label[S]], self.label[S, None] == self.label[S]
        for _ in range(limit if S.size else 0):
            norms = self.norms(x)[self.label[S]]
            d = x[S] / norms
            g = loss.gradient(x)[S] + tau * d
            if not largest(g) < size / 2:  # rounding is reached, or there is no progress
                break
            last, size = x.copy(), largest(g)
            # Each group's norm has the Hessian (I - d d') / |x_i|_2, d the direction of x_i.
            bend = (tau / norms)[:, None] * same * (np.eye(S.size) - np.outer(d, d))
            x[S] += newton_step(loss.hessian(x, S) + bend, g)
        return last


class _L1(_Groups):
    """The penalty sum_i tau_i |x_i|: every entry is a group."""

    def __init__(self, tau: np.ndarray) -> None:
        super().__init__(tau, np.arange(tau.size))

    def prox(self, v: np.ndarray, rho: float) -> np.ndarray:
        return soft_threshold(v, self.tau / rho)

    def minimize(self, loss: SmoothLoss, x: np.ndarray, limit: int) -> np.ndarray:
        """Minimise l(x) + sum_i tau_i |x_i| on a support with signs s.

        An entry that would change its sign leaves the support. When the minimum is reached, the entry that violates
        |gradient_i| <= tau_i most enters.
        """
        s, size, noise = np.sign(x), np.inf, 1e-11 * largest(self.tau)
        for _ in range(limit):
            S, gradient = np.flatnonzero(s), loss.gradient(x)
            g = (gradient + self.tau * s)[S]
            if largest(g) < size / 2:
                step = np.zeros_like(x)
                step[S] = newton_step(loss.hessian(x, S), g, noise, largest(x))
                part, left = first_zero(x, step, np.where(self.tau > 0, s, 0))
                x = x + part * step
                x[left] = s[left] = 0
                size = np.inf if left.size else largest(g)
            else:  # rounding is reached: this is the minimum on S
                excess = np.where(s == 0, np.abs(gradient) - self.tau, 0.0)
                j = int(excess.argmax())
                if excess[j] <= 1e-10 * largest(gradient):
                    break
                s[j], size = -np.sign(gradient[j]), np.inf
        return x


def lasso(A: Any, b: Any, tau: float, **options: Any) -> ADMMResult:
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
    **options
        Options of all the l1 problems:

        - `rho`: penalty parameter > 0. By default it is chosen from the data, so that units do not matter.
        - `relaxation`: over-relaxation in (0, 2), 1.6 by default; 1 gives the updates as printed above.
        - `tol`: tolerance of the certificate, 1e-8 by default.
        - `max_iter`: largest number of ADMM steps, 20 000 by default.
        - `warm_start`: the `ADMMResult` for a similar problem, to start from its z and u.
        - Those of :func:`companion.admm.admm`: `callback`, `keep_iterates`, `adaptive`, `adapt_steps`. For the plain
          method of the text, give :func:`companion.admm.admm` the updates.

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
    loss, tau = LeastSquaresLoss(A, b), as_scalar(tau, "tau", at_least=0)
    given = Problem("lasso", {"A": loss.A, "b": loss.b, "tau": tau})
    return solve(_Regularized(loss, _L1(np.full(loss.n, tau))), given, **options)


def group_lasso(A: Any, b: Any, groups: Any, tau: float, **options: Any) -> ADMMResult:
    r"""Minimise ``1/2 |A x - b|_2^2 + tau sum_i |x_i|_2`` over ``x = (x_1, ..., x_N)``.

    The updates are those of the lasso, except that each group of z is thresholded as a block:

    .. math:: z_i^{k+1} &= \mathcal{S}_{\tau/\rho}(x_i^{k+1} + u_i^k), \\
              \mathcal{S}_c(v) &= (1 - c / \|v\|_2)_+ \, v.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data.
    b : array-like of shape (m,)
        Targets.
    groups : sequence of n numbers or strings
        The label of each coefficient's group. Groups are ordered by label.
    tau : float
        Weight of the penalty, >= 0.
    **options
        As for :func:`lasso`: `rho`, `relaxation`, `tol`, `max_iter`, `warm_start`, and those of
        :func:`companion.admm.admm`.

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
    is that of the lasso with :math:`\|A_i^\top \theta\|_2 \le \tau` for each group. The exact finish is Newton's
    method on the groups that are not zero.

    Examples
    --------
    >>> from companion.admm import group_lasso
    >>> result = group_lasso([[1, 0], [0, 1]], [3, 4], groups=[0, 0], tau=1)
    >>> result.x.round(6), result.certificate.ok
    (array([2.4, 3.2]), True)
    """
    loss, tau = LeastSquaresLoss(A, b), as_scalar(tau, "tau", at_least=0)
    try:
        shape = np.shape(groups)
    except ValueError:  # lists of different lengths
        shape = (len(groups), "...")
    if shape != (loss.n,):
        got = f"{shape[0]} lists" if len(shape) == 2 else f"the shape {shape}"
        raise ValueError(
            f"groups must hold {loss.n} labels, one for each column of A that says which group it is in "
            f"(not the columns of each group), got {got}"
        )
    names, label = np.unique(groups, return_inverse=True)
    each = np.full(names.size, tau)
    given = Problem("group lasso", {"A": loss.A, "b": loss.b, "label": label, "tau": each})
    return solve(_Regularized(loss, _Groups(each, label)), given, **options)


def l1_regularized(loss: SmoothLoss, tau: Any, **options: Any) -> ADMMResult:
    r"""Minimise ``l(x) + sum_i tau_i |x_i|`` for a convex loss l.

    In ADMM form: minimise :math:`l(x) + \tau\|z\|_1` subject to :math:`x - z = 0`, with the updates

    .. math::

        x^{k+1} &= \arg\min_x \; l(x) \\
                & \qquad {} + (\rho/2)\|x - z^k + u^k\|_2^2 \\
        z^{k+1} &= S_{\tau/\rho}(x^{k+1} + u^k) \\
        u^{k+1} &= u^k + x^{k+1} - z^{k+1}.

    Parameters
    ----------
    loss : SmoothLoss
        A loss such as :class:`LogisticLoss`, or one of your own. Where only the proximal operator of the loss is
        known, give it to :func:`companion.admm.admm`.
    tau : float or array-like of shape (n,)
        Weight of the l1-norm, >= 0, or one weight per coefficient (0: not penalised, as for an intercept).
    **options
        As for :func:`lasso`: `rho`, `relaxation`, `tol`, `max_iter`, `warm_start`, and those of
        :func:`companion.admm.admm`.

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
    Source: Section 16.8(3). The exact finish is Newton's method on the support. The gap in the certificate uses the
    multiple of :math:`\lambda = -\nabla l(x)` that is feasible, and that l is not negative.

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
        raise TypeError(f"loss must be a SmoothLoss, got {type(loss).__name__}")
    if count_axes(tau, "tau") == 0:
        tau = np.full(loss.n, as_scalar(tau, "tau"))
    tau = as_vector(tau, "tau", loss.n)
    if (tau < 0).any():
        raise ValueError(f"tau must be >= 0, got {tau.min():g}")
    given = None
    if isinstance(loss, LogisticLoss):
        given = Problem("logistic regression", {"A": loss.A, "tau": tau})
    return solve(_Regularized(loss, _L1(tau)), given, **options)
