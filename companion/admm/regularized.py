r"""A smooth loss and an l1 penalty: lasso, group lasso, and any other loss.

ADMM finds quickly which entries of the solution are zero and which signs the others have. It is slow to give many
digits. So :func:`companion.admm.splitting.admm` with the text's updates **guesses**; at a few steps Newton's method
**finishes**: it finds the minimum on the support of z; and a certificate **proves** the outcome, or ADMM goes on.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np

from companion.admm.losses import LeastSquaresLoss, SmoothLoss, newton_step
from companion.admm.splitting import Iterate, admm, complain
from companion.arguments import check_kind
from companion.arithmetic import EPS, largest, ratio
from companion.checks import as_scalar, as_vector, check_count, count_axes
from companion.engine.certificate import certify_squares, rounding_of_a_fit, rounding_of_a_sum
from companion.results import ADMMResult, Certificate, Problem


class _Regularized:
    """Minimise l(x) + P(z) subject to x - z = 0. The multiplier at a solution is minus the gradient of l.

    P(z) = sum_i tau_i |z_i|_2 over groups of entries; `label[j]` is the group of entry j.
    """

    def __init__(self, loss: SmoothLoss, tau: np.ndarray, label: np.ndarray) -> None:
        self.loss, self.tau, self.label, zero = loss, tau, label, np.zeros(loss.n)
        self.free = np.flatnonzero(tau[label] == 0)  # the entries without penalty
        self.size = math.sqrt(2 * loss.value(zero))
        self.columns = np.broadcast_to(2 * np.sqrt(loss.curvature), loss.n)
        steepest = largest(self.norms(loss.gradient(zero)))
        self.rho = float(np.mean(loss.curvature)) or 1.0
        if 0 < largest(tau) < 0.1 * steepest:  # small tau, small threshold
            self.rho *= max(10 * largest(tau) / steepest, 1e-8) ** 0.75

    def norms(self, v: np.ndarray) -> np.ndarray:
        return np.sqrt(self.products(v, v))

    def products(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.bincount(self.label, weights=x * v, minlength=self.tau.size)

    def weights(self, x: np.ndarray) -> np.ndarray:
        """Return w so that P has the gradient w x where no group of x is zero."""
        norms = self.norms(x)
        return np.divide(self.tau, norms, out=np.zeros_like(norms), where=norms > 0)[self.label]

    def support(self, x: np.ndarray) -> np.ndarray:
        """Return the entries of the groups where x is not zero, on which P is smooth, and those without penalty."""
        return np.flatnonzero(((self.norms(x) > 0) | (self.tau == 0))[self.label])

    def prox(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Block soft thresholding of all groups at once."""
        norms, c = self.norms(v), self.tau / rho
        keep = np.divide(c, norms, out=np.ones_like(norms), where=norms > c)
        return (1 - keep)[self.label] * v + 0.0  # and not -0.0

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        return self.loss.value(x) + float(self.tau @ self.norms(z))

    def solve(
        self, *, rho: float | None = None, relaxation: float = 1.6, tol: float = 1e-8,
        max_iter: int = 20_000, **loop: Any,
    ) -> ADMMResult:  # fmt: skip
        """Run ADMM until the minimum on the support of an iterate is certified; return the best answer found."""
        rho = self.rho if rho is None else as_scalar(rho, "rho", above=0)
        tol, max_iter = as_scalar(tol, "tol", above=0), check_count(max_iter, "max_iter")
        answers: list[tuple[Certificate, np.ndarray, np.ndarray]] = []
        next_look = min(10, max_iter)  # the patterns of the first steps are far from right

        def solved(step: Iterate) -> bool:
            nonlocal next_look
            if step.k < next_look:
                return False
            next_look = min(step.k + 1 + step.k // 3, max_iter)
            x = self.finished(step.z.copy(), step.k + 5)
            lambda_ = -self.loss.gradient(x)
            answers.append((self.certify(x, lambda_, tol), x, lambda_))
            return answers[-1][0].ok or step.k == max_iter

        result = admm(
            self.loss.prox, lambda v, rho: self.prox(-v, rho), 1.0, -1.0, np.zeros(self.loss.n), rho=rho,
            relaxation=relaxation, max_iter=max_iter, objective=self.objective, tol_abs=0.0, tol_rel=EPS,
            callback=solved, **loop,
        )  # fmt: skip
        if result.converged:  # ADMM stands still
            next_look = 0
            solved(Iterate(result.n_iter, result.x, result.z, result.u, result.rho, 0.0, 0.0))
        certificate, x, lambda_ = min(answers, key=lambda answer: answer[0].worst)
        if not certificate.ok:
            complain(
                f"no certified solution after {result.n_iter} steps of ADMM: {certificate}, wanted {tol:g}; "
                f"raise max_iter, change rho (now {result.rho:.3g}), or measure in other units"
            )
        given = Problem(
            "regularised loss", {"loss": self.loss, "tau": self.tau, "label": self.label}
        )
        return replace(
            result, x=x, z=x, u=lambda_ / result.rho, objective=self.objective(x, x), problem=given,
            certificate=certificate, status="converged" if certificate.ok else "max_iter",
        )  # fmt: skip

    def finished(self, x: np.ndarray, limit: int) -> np.ndarray:
        """Return the minimum over the support of x, by Newton's method."""
        last, size = x, np.inf
        S = self.support(x)
        tau, same = self.tau[self.label[S]], self.label[S, None] == self.label[S]
        for _ in range(limit if S.size else 0):
            w = self.weights(x)[S]
            g = self.loss.gradient(x)[S] + w * x[S]
            if not largest(g) < size / 2:  # rounding is reached, or there is no progress
                break
            last, size = x.copy(), largest(g)
            # Each group's norm has the Hessian (I - d d') / |x_i|_2, d the direction of x_i.
            d = np.divide(w * x[S], tau, out=np.zeros(S.size), where=tau > 0)
            bend = w[:, None] * same * (np.eye(S.size) - np.outer(d, d))
            x[S] += newton_step(self.loss.hessian(x, S) + bend, g)
        return last

    def certify(self, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        r"""Prove z by the dual point t lambda, t at most 1 so that it is feasible.

        The gap is l(z) + l*(-t lambda) + t lambda'z and the slack of P. The first is 0 for t = 1, and at most
        (1 - t) l(z) by convexity. What rounding may have changed is measured as for a sum of squares
        :math:`\frac12 |r|^2`, r being made of the columns: for a loss that is not negative, with the curvature c_j,
        the slope is at most :math:`\sqrt{2 c_j l}`. Logistic regression may have four times the curvature.
        """
        loss, free = self.loss.value(z), self.free
        delta = rounding_of_a_fit(self.size, z, self.columns)
        if isinstance(self.loss, LeastSquaresLoss):
            lambda_, moved = self._refined(self.loss, z, lambda_, delta)
            delta += moved
        norms, own, r = self.norms(lambda_), (self.tau > 0)[self.label], math.sqrt(2 * loss) + delta
        above = (norms > self.tau) & (self.tau > 0)
        t = float((self.tau[above] / norms[above]).min(initial=1.0))
        bound = (1 - t) * loss + r * delta + delta**2 / 2
        if free.size:  # without penalty the gradient has to be 0; by how much would the loss fall?
            step = newton_step(self.loss.hessian(z, free), -lambda_[free])
            bound += float(lambda_[free] @ step) / 2
        rounded = rounding_of_a_sum(self.loss.m) * r * self.columns * own  # of the gradient
        slack = np.abs(self.tau * self.norms(z) - t * self.products(z, own * lambda_))
        slack += self.products(np.abs(z), rounded)
        steep = largest(ratio(np.abs(lambda_[free]), self.columns[free] * self.size))
        return certify_squares(
            math.sqrt(2 * bound), slack, self.objective(z, z), self.size, tol, dual=max(1 / t - 1, steep)
        )  # fmt: skip

    def _refined(
        self, loss: LeastSquaresLoss, z: np.ndarray, lambda_: np.ndarray, delta: float
    ) -> tuple[np.ndarray, float]:
        """Return the multiplier that z asks for on its support, of a residual nearby, and how far that one is.

        Where tau is tiny, rounding of the residual hides it. Any vector in place of the residual is a dual point; the
        one after a step of Newton's method is taken if it is no farther than rounding.
        """
        S = self.support(z)
        missing = (self.weights(z) * z - lambda_)[S]
        change = loss.A[:, S] @ newton_step(loss.hessian(z, S), missing)
        moved = float(np.linalg.norm(change))
        if not moved <= delta:
            return lambda_, 0.0
        return loss.A.T @ (loss.b - loss.A @ z - change), moved


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
        Options of the three functions of this module:

        - `rho`: penalty parameter > 0. By default it is chosen from the data, so that units do not matter.
        - `relaxation`: over-relaxation in (0, 2), 1.6 by default; 1 gives the updates as printed above.
        - `tol`: tolerance of the certificate, 1e-8 by default.
        - `max_iter`: largest number of ADMM steps, 20 000 by default.
        - Those of :func:`companion.admm.admm`: `z0`, `u0`, `keep_iterates`, `adaptive`. For the plain
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
    return l1_regularized(LeastSquaresLoss(A, b), as_scalar(tau, "tau", at_least=0), **options)


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
        As for :func:`lasso`: `rho`, `relaxation`, `tol`, `max_iter`, and those of
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
    labels = list(groups) if np.iterable(groups) else [groups]
    several = len(labels) != loss.n or any(map(count_axes, labels, repeat("groups")))
    if several or np.asarray(labels).dtype == object:
        raise ValueError(
            f"groups must hold {loss.n} labels, one for each column of A: the number or name of its group "
            f"(not the columns of each group), got {groups!r:.60}"
        )
    names, label = np.unique(labels, return_inverse=True)
    return _Regularized(loss, np.full(names.size, tau), label).solve(**options)


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
        As for :func:`lasso`: `rho`, `relaxation`, `tol`, `max_iter`, and those of
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
    check_kind(loss, "loss", "a SmoothLoss", lambda loss: isinstance(loss, SmoothLoss))
    if count_axes(tau, "tau") == 0:
        tau = np.full(loss.n, as_scalar(tau, "tau"))
    tau = as_vector(tau, "tau", loss.n)
    if (tau < 0).any():
        raise ValueError(f"tau must be >= 0, got {tau.min():g}")
    return _Regularized(loss, tau, np.arange(loss.n)).solve(**options)
