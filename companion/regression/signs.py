r"""The solver of lasso and elastic net: the finishing loop of the engine, on the signs of the weights.

The problem is

.. math:: \min_w \; f(w) = \tfrac12 \|y - Xw\|_2^2 + \tfrac K2 \|w\|_2^2 + \tau \|w\|_1 .

With the correlations :math:`c = X^\top(y - Xw) - Kw`, a point w is optimal when
:math:`c_j = \tau\operatorname{sign}(w_j)` where :math:`w_j \neq 0`, and :math:`|c_j| \le \tau` elsewhere. If the
signs s of the nonzero weights were known, w would be the solution of a linear system, the text's (**_4):

.. math:: (X_S^\top X_S + K I)\, w_S = X_S^\top y - \tau s .

Coordinate descent guesses the signs, and :func:`companion.engine.finish.settle` corrects them: the state of a weight is
its sign, or in terms of the dual program, the bound :math:`\pm\tau` that :math:`c_j` is at. The Gram matrix is that of
the columns that had a sign so far.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from companion.arithmetic import EPS, ROUNDING, largest, ratio
from companion.engine.certificate import certify_squares, rounding_of_a_fit, rounding_of_a_sum
from companion.engine.finish import REFINEMENTS, Proximal, settle_near
from companion.engine.kkt import factor
from companion.regression.intercept import Shifted
from companion.results import TOLERANCE, Certificate

# Relative gap at which coordinate descent, whose steps are slow near the end, hands over (or after 100 of them: of 10,
# 30, 100 and 1000 the fastest; from one set of columns to the next after 30, where 10 to 40 take about as long); the
# part of tau by which a column asks for a weight; and the part that a correlation misses where columns are dependent,
# so that there is no minimum for these signs.
_ROUGH = 1e-3
_coordinates = inspect.unwrap(linear_model.enet_path)  # without the checks of its arguments
_MARGIN = 1e-5  # independent columns of norm 1 have this distance from each other's span: w has six digits


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


class _Fit(NamedTuple):
    """Weights, the residual y - X w, and the correlations."""

    w: np.ndarray
    residual: np.ndarray
    c: np.ndarray


def product(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return X w, from the columns with weight where they are few."""
    nonzero = w.nonzero()[0]
    return X[:, nonzero] @ w[nonzero] if 2 * nonzero.size < w.size else X @ w


class Columns:
    """X and y, and the Gram matrix of the columns that were asked for.

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
        self.correlation, self.squares = data.X.T @ data.y, np.einsum("ij,ij->j", data.X, data.X)
        self.inside, self.gram = np.zeros(0, dtype=np.intp), np.zeros((0, 0))  # with K I
        self.place = np.full(self.correlation.size, -1)  # of each column in the Gram matrix

    def block(self, S: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of the columns S, plus K I, as a new array."""
        new = S[self.place[S] < 0]
        if new.size:
            X = self.X[:, new]
            cross, own = self.X[:, self.inside].T @ X, X.T @ X + self.K * np.eye(new.size)
            above, below = np.concatenate([self.gram, cross], 1), np.concatenate([cross.T, own], 1)
            self.gram = np.concatenate([above, below])
            self.place[new] = self.inside.size + np.arange(new.size)
            self.inside = np.append(self.inside, new)
        return np.asarray(self.gram[self.place[S]][:, self.place[S]])

    def guess(self, tau: float) -> _Fit:
        r"""Return a point near the solution, by scikit-learn's coordinate descent.

        Of many columns, it goes along those with the largest correlations first, and then along those that have a
        weight by now, or :math:`|c_j| > \tau`. With 700 to 10,000 columns that took 0.7 of the time of a fit in the
        mean, and from 0.3 to 1.4 of it.
        """
        m, n = self.X.shape
        S: Any = slice(None)  # all
        w, sets, steps = np.zeros(n), 1, 100
        if n > max(2 * m, 500):
            S, sets, steps = np.argpartition(-np.abs(self.correlation), m // 2)[: m // 2 + 1], 6, 30
        options = {"alphas": [(tau + self.K) / m], "l1_ratio": tau / (tau + self.K), "tol": _ROUGH}
        options |= {"precompute": False, "copy_X": False, "check_input": False, "max_iter": steps}
        for _ in range(sets):
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                w[S] = _coordinates(self.X[:, S], self.y, coef_init=w[S], **options)[1][:, 0]
            point = _Signs(self, tau).at(w)
            S = (w != 0.0) | (np.abs(point.c) > tau * (1.0 + _ROUGH))
            if (w[S] != 0.0).all():
                break
        return point

    def solve(
        self, tau: float, tol: float, max_iter: int, near: np.ndarray | None = None
    ) -> SparseSolution:
        """Solve the problem for one tau > 0.

        Parameters
        ----------
        tau : float
        tol : float
            Tolerance of the duality gap, relative to f. Where rounding leaves no less, 1e-9 is enough.
        max_iter : int
            Largest number of linear systems.
        near : ndarray of shape (n,), optional
            The solution for another tau, which replaces the guess by coordinate descent.
        """
        system = _Signs(self, tau)
        if near is None and largest(self.correlation) <= tau * (1.0 + ROUNDING):
            near = np.zeros(self.place.size)
        point = self.guess(tau) if near is None else system.at(near)
        state = np.sign(point.w).astype(np.int8)
        if np.count_nonzero(state) > self.y.size:  # equal columns may have weights of both signs
            state[state * point.c <= 0.0] = 0
        found = settle_near(system, point, state, max_iter)
        return self.prove(found.point.w, tau, tol)._replace(n_iter=found.n_systems)

    def prove(
        self, w: np.ndarray, tau: float, tol: float, *, refine: bool = True
    ) -> SparseSolution:
        """Return f(w), and the gap to the dual value of the residual.

        Where that proves too little, `refine` takes the residual after more linear systems as well: steps that are
        lost in the rounding of w are not lost in it. Its correlations are then rounded only once.
        """
        system = _Signs(self, tau)
        w = w + 0.0  # not -0.0, in which some versions of the guess end
        at = system.at(w, self.data.residual(w))
        rounding = rounding_of_a_sum(self.y.size) * float(np.linalg.norm(at.residual))
        found = self._proof(at, at, tau, tol, rounding * np.sqrt(self.squares))
        if refine and found.certificate.worst > tol:
            steps, dual = system.steps(np.sign(w)), at
            for _ in range(REFINEMENTS):  # as in `minimum`
                step = steps(dual)
                residual = dual.residual - product(self.X, step)
                c, lost = self.data.correlations(residual)
                dual = _Fit(dual.w + step, residual, c - self.K * (dual.w + step))
                better = self._proof(at, dual, tau, tol, lost)
                if not better.certificate.worst < found.certificate.worst:
                    break
                found = better
        return found

    def _proof(
        self, at: _Fit, dual: _Fit, tau: float, tol: float, lost: np.ndarray
    ) -> SparseSolution:
        r"""Return f(w), and the gap to the dual value of a point that is made feasible.

        The elastic net is the lasso on the data :math:`\binom{X}{\sqrt K I}, \binom y0`. With
        :math:`c = X^\top\lambda - K v`, the dual point is :math:`\binom{\lambda}{-\sqrt K v}`, which is feasible where
        :math:`|c_j| \le \tau`. By what they may exceed that, v is moved; or the point is multiplied by
        :math:`\theta = \tau/\|c\|_\infty`, where that moves it less (or K is 0). With it,

        .. math:: \text{gap} = \tfrac12 \|\xi - \theta\lambda\|^2 + \tfrac K2 \|w - \theta v\|^2
            + \sum_j (\tau |w_j| - \theta\, w_j c_j) .

        By at most `lost`, rounding has changed the products with X.
        """
        w, residual, K, point = at.w, at.residual, self.K, float(np.linalg.norm(dual.residual))
        y, weights, norms = float(np.linalg.norm(self.y)), np.abs(w), np.sqrt(self.squares)
        lost = lost + 2.0 * EPS * K * np.abs(dual.w) + EPS * np.abs(dual.c)
        over = np.maximum(np.abs(dual.c) + lost - tau, 0.0)
        theta, moved = tau / (tau + largest(over)), ratio(np.linalg.norm(over), math.sqrt(K))
        theta, moved = (1.0, moved) if moved < (1.0 - theta) * point else (theta, 0.0)
        slack = np.maximum(tau * weights - theta * w * dual.c, 0.0) + weights * lost
        distance = float(np.linalg.norm(residual - theta * dual.residual))
        distance += rounding_of_a_fit(y, w, norms, self.data.size_of_b(w))
        apart = float(math.sqrt(K) * np.linalg.norm(w - theta * dual.w)) + moved
        squares = 0.5 * float(residual @ residual + K * (w @ w))
        value, distance = squares + tau * float(weights.sum()), math.hypot(distance, apart)
        proof = certify_squares(distance, slack[w != 0.0], value, y, max(tol, TOLERANCE))
        c = np.maximum(np.minimum(theta * dual.c, tau), -tau)
        return SparseSolution(w, theta * dual.residual, c, value, proof)

    def is_unique(self, c: np.ndarray, tau: float) -> bool:
        r"""Say whether a solution is proved to be the only one, given its correlations c.

        All solutions of the lasso (K = 0) have the same residual, and weights only on the columns whose correlation
        with it is :math:`\pm\tau`. So it is enough that these columns are linearly independent. A K > 0 makes them
        independent, as columns of :math:`\binom{X}{\sqrt K I}`; where K is tiny, this is lost in rounding, and does
        not count.
        """
        tied = np.flatnonzero(np.abs(c) >= (1.0 - 1e-8) * tau)
        if tied.size > self.y.size:  # dependent but for K
            return bool(_MARGIN**2 * self.squares.max() < self.K)
        gram = self.block(tied)
        size = np.sqrt(gram.diagonal())
        with suppress(np.linalg.LinAlgError):
            factor = np.linalg.cholesky(gram / size / size[:, None]) if size.all() else gram
            return bool((factor.diagonal() > _MARGIN).all())
        return False


@dataclass(frozen=True, eq=False)
class _Signs(Proximal[_Fit]):
    """The linear algebra of f, with a proximal term whose weights are delta times the squared norms of the columns."""

    columns: Columns
    tau: float
    delta: float = 0.0
    centre: np.ndarray | float = 0.0

    def at(self, w: np.ndarray, residual: np.ndarray | None = None) -> _Fit:
        """Return a point, of which the residual may be known with more digits."""
        data = self.columns
        residual = data.y - product(data.X, w) if residual is None else residual
        return _Fit(w, residual, data.X.T @ residual - data.K * w)

    def slope(self, point: _Fit) -> np.ndarray:
        """Return the correlations, less the gradient of the proximal term."""
        if not self.delta:
            return point.c
        weights = self.delta * (self.columns.squares + self.columns.K)
        return np.asarray(point.c - weights * (point.w - self.centre))

    def steps(self, state: np.ndarray) -> Callable[[_Fit], np.ndarray]:
        """Return what leads to the minimum among the weights with these signs, from a point with no other weights."""
        S = state.nonzero()[0]
        gram = self.columns.block(S)
        solve = factor(gram, np.zeros((0, S.size)), np.arange(S.size), self.delta * gram.diagonal())

        def step(point: _Fit) -> np.ndarray:
            found = np.zeros(state.size)
            found[S] = solve((self.slope(point) - self.tau * state)[S])
            return found

        return step

    def minimum(self, point: _Fit, state: np.ndarray) -> _Fit | None:
        """Return the minimum among the weights with these signs, which it may miss; None if there is none."""
        # more columns than points are dependent (but for K): from 0 on, equal ones get equal weights
        kept = (state != 0) & (np.count_nonzero(state) <= self.columns.y.size)
        if (point.w[~kept] != 0.0).any():
            point = self.at(np.where(kept, point.w, 0.0))
        step, rounding = self.steps(state), ROUNDING * largest(self.columns.correlation)
        missed = before = math.inf
        for k in range(REFINEMENTS):
            d = step(point)
            # of the later steps, the residual keeps the digits that are lost in the rounding of w
            residual = point.residual - product(self.columns.X, d) if k else None
            point, before = self.at(point.w + d, residual), missed
            missed = largest((self.slope(point) - self.tau * state)[state != 0])
            if missed <= rounding or missed > 0.5 * before:
                break
        return point if missed <= max(_ROUGH * self.tau, rounding) else None

    def corrected(self, point: _Fit, state: np.ndarray) -> np.ndarray:
        """Return the signs without those that were missed, and with those that the correlations ask for."""
        c, new = self.slope(point), np.where(state * point.w > 0.0, state, 0)
        above = (state == 0) & (np.abs(c) > self.tau * (1.0 + ROUNDING))
        return np.where(above, np.sign(c), new).astype(np.int8)

    def near(self, point: _Fit, delta: float) -> _Signs:
        """Return the system with a proximal term."""
        return replace(self, delta=delta, centre=point.w)
