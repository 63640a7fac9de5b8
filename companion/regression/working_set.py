r"""The solver of lasso and elastic net: a working set of columns, and Newton's method on the signs.

The problem is

.. math:: \min_w \; f(w) = \tfrac12 \|y - Xw\|_2^2 + \tfrac K2 \|w\|_2^2 + \tau \|w\|_1 .

With the correlations :math:`c = X^\top(y - Xw) - Kw`, a point w is optimal when
:math:`c_j = \tau\operatorname{sign}(w_j)` where :math:`w_j \neq 0`, and :math:`|c_j| \le \tau` elsewhere. If the
signs s of the nonzero weights were known, w would be the solution of a linear system, the text's (**_4):

.. math:: (X_S^\top X_S + K I)\, w_S = X_S^\top y - \tau s .

Coordinate descent guesses the signs; Newton's method solves this system, and corrects the guess. It runs on a small
set of columns; the columns outside whose correlation exceeds :math:`\tau` join it, and the run goes on from where it
was. So a sparse solution costs a few products with X, and the Gram matrix of few columns.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path

from companion.arithmetic import EPS, largest, ratio
from companion.engine.certificate import certify_squares, rounding_of_a_fit, rounding_of_a_sum
from companion.regression.intercept import Shifted
from companion.results import TOLERANCE, Certificate

__all__ = ["SparseSolution", "WorkingSet", "newton_on_signs", "product"]

_RIDGE = 1e-13  # 450 eps, added to the Gram matrix relative to its diagonal: more than rounding takes from it
_SLACK = 1e-12  # a correlation that exceeds tau by less than this fraction counts as tau: rounding of 4,500 terms
_ROUGH = (
    1e-3  # relative gap at which coordinate descent, whose steps are slow near the end, hands over
)
_FIRST = 100  # number of columns in the first working set
_SETTLED = 0.1  # Newton pauses when a smaller fraction of the signs changes
_STEPS = 0.5 ** np.arange(6)  # parts of Newton's step that may lower f
_MARGIN = 1e-5  # independent columns of norm 1 have this distance from each other's span: w has six digits
_STALLS = 3  # rounds without progress after which the gap is taken to be rounding


class SparseSolution(NamedTuple):
    """Weights with exact zeros, a dual point, and what they prove of each other.

    Parameters
    ----------
    w : ndarray of shape (n,)
    lambda_ : ndarray of shape (m,)
        The dual point: the residual ``y - X w``, but for its last digits.
    c : ndarray of shape (n,)
        ``X'lambda - K w``, at most tau in size.
    objective : float
        f(w).
    certificate : Certificate
    n_iter : int
        Number of linear systems.
    """

    w: np.ndarray
    lambda_: np.ndarray
    c: np.ndarray
    objective: float
    certificate: Certificate
    n_iter: int = 0


def product(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return X w, from the columns with weight where they are few."""
    nonzero = w.nonzero()[0]
    return X[:, nonzero] @ w[nonzero] if 2 * nonzero.size < w.size else X @ w


def guess(X: np.ndarray, y: np.ndarray, K: float, tau: float) -> np.ndarray:
    """Return weights near the solution, by scikit-learn's coordinate descent.

    Examples
    --------
    >>> guess(np.diag([2.0, 1.0]), np.array([3.0, 1.0]), 0.0, 2.0).round(3)
    array([1., 0.])
    """
    options = {"alphas": [(tau + K) / y.size], "l1_ratio": tau / (tau + K), "tol": _ROUGH}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        X, y = np.asfortranarray(X), np.ascontiguousarray(y)
        return enet_path(X, y, **options, precompute=False, copy_X=False, check_input=False)[1][:, 0]  # fmt: skip


class WorkingSet:
    """The columns of X that a solution may use, with their Gram matrix.

    One object serves many values of tau: the Gram matrix grows and is never computed again.

    Parameters
    ----------
    data : Shifted
        X and y.
    K : float
        The penalty on ||w||^2 / 2.
    """

    def __init__(self, data: Shifted, K: float) -> None:
        self.data, self.X, self.y, self.K = data, data.X, data.y, K
        n = self.X.shape[1]
        self.correlation = self.X.T @ self.y
        self.columns = np.zeros(0, dtype=np.intp)
        self.is_inside = np.zeros(n, dtype=bool)
        self.w = np.zeros(0)  # on the columns inside
        self.X_inside, self.gram = np.zeros((self.y.size, 0)), np.zeros((0, 0))  # with K I
        if n <= _FIRST:
            self._grow(np.arange(n))

    def _grow(self, new: np.ndarray) -> None:
        """Let the columns `new` in."""
        X_new = np.asfortranarray(self.X[:, new])
        cross, own = self.X_inside.T @ X_new, X_new.T @ X_new + self.K * np.eye(new.size)
        self.gram = np.block([[self.gram, cross], [cross.T, own]])
        self.X_inside = np.hstack([self.X_inside, X_new])
        self.columns, self.w = np.append(self.columns, new), np.append(self.w, np.zeros(new.size))
        self.is_inside[new] = True

    def solve(self, tau: float, tol: float, max_iter: int) -> SparseSolution:
        """Solve the problem for one tau > 0, from where the last call ended.

        Violators come in and Newton's method runs, in turn, until the gap is small.

        Parameters
        ----------
        tau : float
        tol : float
            Tolerance of the duality gap, relative to f. Where rounding leaves no less, 1e-9 is enough.
        max_iter : int
            Largest number of linear systems.

        Returns
        -------
        SparseSolution
        """
        n_iter, stalls, best_value, best_gap = 0, 0, np.inf, np.inf
        if not self.w.any():
            self._start(guess(self.X, self.y, self.K, tau))
        while True:
            w, residual, c = self._state()
            found = self._prove(w, residual, residual, c, tau, tol)
            if not found.certificate.ok and stalls:  # the rest may be rounding of the residual
                found = self._refined(found, residual, c, tau, tol)
            value, gap = found.objective, found.certificate.gap
            small = found.certificate.worst <= tol or (found.certificate.ok and stalls > 0)
            small = small and (n_iter > 0 or not w.any())  # a guess has weights that should be 0
            new = self._violators(c, tau)
            better = value < (1.0 - 1e-14) * best_value or gap < 0.5 * best_gap
            stalls = 0 if better or new.size else stalls + 1
            best_value, best_gap = min(value, best_value), min(gap, best_gap)
            if small or n_iter >= max_iter or stalls == _STALLS:
                return found._replace(n_iter=n_iter)
            if new.size:
                self._grow(new)
            self.w, steps = newton_on_signs(
                self.gram, c[self.columns], self.w, tau, max_iter - n_iter, self._rank()
            )
            n_iter += steps

    def examine(self, w: np.ndarray, tau: float, tol: float) -> SparseSolution:
        """Return f(w), and what the residual proves, for weights that another method has found."""
        support = w.nonzero()[0]
        self._grow(support[~self.is_inside[support]])
        self.w = w[self.columns]
        w, residual, c = self._state()
        return self._prove(w, residual, residual, c, tau, tol)

    def _prove(
        self,
        w: np.ndarray,
        residual: np.ndarray,
        lambda_: np.ndarray,
        c: np.ndarray,
        tau: float,
        tol: float,
        step: np.ndarray | None = None,
    ) -> SparseSolution:
        r"""Return f(w), and the gap to the dual value of a point that is made feasible.

        The elastic net is the lasso on the data :math:`\binom{X}{\sqrt K I}, \binom y0`. With
        :math:`c = X^\top\lambda - K v`, the dual point is :math:`\binom{\lambda}{-\sqrt K v}` times
        :math:`\theta = \min(1, \tau/\|c\|_\infty)`. With it,

        .. math:: \text{gap} = \tfrac12 \|\xi - \theta\lambda\|^2 + \tfrac K2 \|w - \theta v\|^2
            + \sum_j (\tau |w_j| - \theta\, w_j c_j) .

        Parameters
        ----------
        w : ndarray of shape (n,)
        residual, lambda_ : ndarray of shape (m,)
            :math:`\xi = y - Xw`, and a vector near it.
        c : ndarray of shape (n,)
        tau, tol : float
        step : ndarray of shape (n,), optional
            :math:`v - w`; by default it is 0.
        """
        used, m, root = w.nonzero()[0], self.y.size, float(np.sqrt(self.K))
        step = np.zeros(0) if step is None else step
        rounding = rounding_of_a_sum(m)
        norms = np.zeros(w.size)
        norms[self.columns] = np.sqrt(self.gram.diagonal())
        size_of_lambda = float(np.linalg.norm(lambda_))
        most = largest(c)
        theta = min(1.0, tau / most) if most > 0.0 else 1.0
        weights, size = np.abs(w[used]), float(np.linalg.norm(self.y))
        slack = np.maximum(tau * weights - theta * w[used] * c[used], 0.0)
        slack += weights * (rounding * norms[used] * size_of_lambda + 2.0 * EPS * self.K * weights)
        apart = (1.0 - theta) * w - theta * step if step.size else (1.0 - theta) * w
        distance = float(np.linalg.norm(residual - theta * lambda_))
        distance += rounding_of_a_fit(size, w, norms, self.data.size_of_b(w))
        distance = float(np.hypot(distance, root * np.linalg.norm(apart)))
        squares = 0.5 * float(residual @ residual + self.K * (w @ w))
        value = squares + tau * float(weights.sum())
        excess = ratio(max(most - tau, 0.0), tau)
        certificate = certify_squares(
            distance, slack, value, size, max(tol, TOLERANCE), dual=excess
        )
        return SparseSolution(w, theta * lambda_, theta * c, value, certificate)

    def _refined(
        self, found: SparseSolution, residual: np.ndarray, c: np.ndarray, tau: float, tol: float
    ) -> SparseSolution:
        """Prove w by the residual after one more step of Newton's method, which the digits of w do not show."""
        S = self.w.nonzero()[0]
        if not S.size:
            return found
        part = _solve(self.gram, S, c[self.columns][S] - tau * np.sign(self.w[S]))
        step = np.zeros(found.w.size)
        step[self.columns[S]] = part
        lambda_ = residual - self.X_inside[:, S] @ part
        c = self.X.T @ lambda_ - self.K * (found.w + step)
        better = self._prove(found.w, residual, lambda_, c, tau, tol, step)
        return better if better.certificate.gap < found.certificate.gap else found

    def _start(self, w: np.ndarray) -> None:
        """Go on from the weights w, unless they are more than can be determined."""
        support = w.nonzero()[0]
        if support.size <= min(self.X.shape):
            self._grow(support[~self.is_inside[support]])
            self.w = w[self.columns]

    def _state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return w, the residual and the correlations at the present point."""
        residual = self.y - product(self.X_inside, self.w)
        c = self.X.T @ residual if self.w.any() else self.correlation.copy()
        c[self.columns] -= self.K * self.w
        w = np.zeros(self.X.shape[1])
        w[self.columns] = self.w + 0.0  # not -0.0, in which some versions of the guess end
        return w, residual, c

    def _rank(self) -> int:
        """Return how many nonzero weights are plausible now: at most the rank of X, unless K > 0."""
        rank = min(self.X.shape)
        return rank if self.K == 0.0 else max(rank, 2 * int(np.count_nonzero(self.w)))

    def is_unique(self, c: np.ndarray, tau: float) -> bool:
        r"""Say whether a solution is proved to be the only one, given its correlations c.

        All solutions of the lasso (K = 0) have the same residual, and weights only on the columns whose correlation
        with it is :math:`\pm\tau`. So it is enough that these columns are linearly independent. A K > 0 makes them
        independent, as columns of :math:`\binom{X}{\sqrt K I}`; where K is tiny, this is lost in rounding, and does
        not count.
        """
        tied = np.abs(c) >= (1.0 - 1e-8) * tau
        if np.count_nonzero(tied) > self.y.size:  # dependent but for K
            squares = np.einsum("ij,ij->j", self.X, self.X)
            return bool(_MARGIN**2 * squares.max() < self.K)
        new = (tied & ~self.is_inside).nonzero()[0]
        if new.size:
            self._grow(new)
        places = tied[self.columns].nonzero()[0]
        return _independent(self.gram[places][:, places])

    def _violators(self, c: np.ndarray, tau: float) -> np.ndarray:
        """Return the columns outside with the largest correlations above tau, not too many of them."""
        excess = np.where(self.is_inside, 0.0, np.abs(c))
        outside = (excess > tau * (1.0 + _SLACK)).nonzero()[0]
        free = (self._rank() - int(np.count_nonzero(self.w))) // 2
        most = max(10, min(max(_FIRST, self.columns.size), free))
        if outside.size > most:
            outside = outside[np.argpartition(-excess[outside], most)[:most]]
        return outside


def _independent(gram: np.ndarray) -> bool:
    """Say whether the columns with this Gram matrix are linearly independent, with a margin."""
    if gram.size == 0:
        return True
    size = np.sqrt(gram.diagonal())
    if not size.all():
        return False
    unit = (gram / (size * size[:, None])).T  # symmetric, and in LAPACK's order
    factor, failed = lapack.dpotrf(unit, lower=1, overwrite_a=1, clean=0)
    return not failed and bool((factor.diagonal() > _MARGIN).all())


def newton_on_signs(
    gram: np.ndarray, c: np.ndarray, w: np.ndarray, tau: float, max_steps: int, rank: int
) -> tuple[np.ndarray, int]:
    r"""Minimise f over the columns whose Gram matrix is given.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        :math:`G = X^\top X + K I`.
    c : ndarray of shape (k,)
        :math:`X^\top (y - Xw) - K w` at the start.
    w : ndarray of shape (k,)
        The start.
    tau : float
    max_steps : int
        Largest number of linear systems.
    rank : int
        Upper bound of the rank of `gram`: more signs than that cannot be prescribed at once.

    Returns
    -------
    w : ndarray of shape (k,)
        With exact zeros.
    steps : int
        Number of linear systems solved.

    Notes
    -----
    A step solves :math:`G_{SS}\, d = c_S - \tau s` for the signs s of the nonzero weights and of the columns that
    violate :math:`|c_j| \le \tau`, and takes the full step d with the weights that end on the wrong side of zero set
    to zero. When that does not lower f, a half of the step may, or a quarter, and so on. When none does, one violator
    at a time is let in, and the step ends at the exact minimum of f along d. So f always decreases.
    """
    w, c, steps, limit = w.copy(), c.copy(), 0, w.size
    while steps < max_steps:
        support = w.nonzero()[0]
        violators = ((w == 0.0) & (np.abs(c) > tau * (1.0 + _SLACK))).nonzero()[0]
        violators = violators[(-np.abs(c[violators])).argsort()]
        most = max(5, (rank - support.size) // 2)
        S = np.concatenate([support, violators[: min(limit, most)]])
        if S.size == 0:
            break
        w_S, c_S = w[S], c[S]
        s = np.sign(np.where(w_S != 0.0, w_S, c_S))
        target = w_S + _solve(gram, S, c_S - tau * s)
        steps += 1

        right, move = target * s > 0.0, np.zeros(w.size)
        for step in _STEPS:  # what crosses zero is left there
            part = w_S + step * (target - w_S)
            move[S] = np.where(part * s > 0.0, part, 0.0) - w_S
            change = gram @ move
            if right.all() or _decrease(c, w, move, change, tau) > 0.0:
                break
        else:
            if limit > 0 and violators.size and (limit > 1 or not right[-1]):
                limit = 1 if limit > 1 else 0
                continue
            move[S] = target - w_S
            change = gram @ move
            step = _line_search(c, w, move, change, tau)
            if step <= 0.0:
                break
            move, change = step * move, step * change
        w, c, limit = _advance(w, move), c - change, w.size
        changes = S.size - support.size + np.count_nonzero(~right)
        if step == 1.0 and changes <= _SETTLED * S.size:
            break
    return w, steps


def _solve(gram: np.ndarray, S: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Solve G_SS d = g, with a ridge so small that one step of refinement removes it."""
    block = gram[S][:, S].T  # in Fortran order, as LAPACK wants it
    diagonal, ridge, failed = block.diagonal(), _RIDGE, 1
    while failed:
        factor = block.copy(order="F")
        np.fill_diagonal(factor, diagonal + ridge * diagonal)
        factor, failed = lapack.dpotrf(factor, lower=1, overwrite_a=1, clean=0)
        ridge *= 100.0
    d, _ = lapack.dpotrs(factor, g, lower=1)
    correction, _ = lapack.dpotrs(factor, g - block @ d, lower=1)
    return d + correction


def _decrease(
    c: np.ndarray, w: np.ndarray, move: np.ndarray, change: np.ndarray, tau: float
) -> float:
    """Return f(w) - f(w + move), where change = G move; at most rounding counts as 0."""
    gain = float(c @ move - 0.5 * (move @ change))
    loss = tau * float((np.abs(w + move) - np.abs(w)).sum())
    return gain - loss if abs(gain - loss) > 4 * EPS * (abs(gain) + abs(loss)) else 0.0


def _line_search(
    c: np.ndarray, w: np.ndarray, d: np.ndarray, change: np.ndarray, tau: float
) -> float:
    r"""Return the t > 0 that minimises f(w + t d), where change = G d; 0 if f does not decrease.

    The slope of this convex function, :math:`-c^\top d + t\, d^\top G d + \tau \sum_j d_j
    \operatorname{sign}(w_j + t d_j)`, grows linearly between the points where a weight crosses zero, and jumps there.
    """
    curvature = float(d @ change)
    slope = -float(c @ d) + tau * float(np.where(w != 0.0, np.sign(w), np.sign(d)) @ d)
    if slope >= 0.0:
        return 0.0
    crossing = np.flatnonzero(w * d < 0.0)
    t = -w[crossing] / d[crossing]
    order = np.argsort(t)
    t, jumps = t[order], 2.0 * tau * np.abs(d[crossing][order])
    after = slope + curvature * t + np.cumsum(jumps)  # slope just after each crossing
    k = int(np.argmax(after >= 0.0)) if (after >= 0.0).any() else t.size
    start = slope + float(jumps[:k].sum())
    stop = -start / curvature if curvature > 0.0 else np.inf
    return float(min(stop, t[k])) if k < t.size else float(stop)


def _advance(w: np.ndarray, move: np.ndarray) -> np.ndarray:
    """Return w + move, with exact zeros where a weight reaches zero."""
    moved = w + move
    moved[(w != 0.0) & (np.abs(moved) <= 4 * EPS * np.abs(w))] = 0.0
    return moved
