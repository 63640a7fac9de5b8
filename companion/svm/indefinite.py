r"""Support vector machines with a kernel matrix that is not positive semidefinite.

A positive semidefinite proxy K of the given matrix :math:`K_0` and the multipliers are found together,

.. math:: \max_{\alpha \in Q_1} \min_{K \succeq 0} L(\alpha, K), \qquad
    L(\alpha, K) = \mathbf 1^\top \alpha - \tfrac12 \alpha^\top Y K Y \alpha + \rho \|K - K_0\|_F^2,

on :math:`Q_1 = \{\alpha : y^\top \alpha = 0, \; 0 \le \alpha \le C\}`. The inner minimum is a projection, and
:math:`f(\alpha) = \min_K L(\alpha, K)` is concave with a Lipschitz continuous gradient.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, field
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import exprel

from companion.admm import project_psd
from companion.arguments import check_choice
from companion.arithmetic import EPS, ROUNDING, largest
from companion.checks import as_matrix, as_scalar, as_symmetric, as_vector, check_count
from companion.engine.certificate import certify_terms, relative, rounding_of
from companion.exceptions import ConvergenceWarning, complain
from companion.results import Certificate, Outcome, Problem
from companion.svm.hyperplanes import KernelLike
from companion.svm.program import as_signs
from companion.svm.soft_margin import HyperplaneClassifier, SVMs2

_FALL = 0.9  # each step of the line search first tries an L that is smaller by this factor


# ---------------------------------------------------------------------------------------------
# The spectrum of a matrix, and how to mend it
# ---------------------------------------------------------------------------------------------


def nearest_psd(A: Any) -> np.ndarray:
    r"""Return the positive semidefinite matrix that is nearest in the Frobenius norm, :math:`A_+`.

    With :math:`A = \sum_i \lambda_i v_i v_i^\top` it is :math:`\sum_i \max(\lambda_i, 0)\, v_i v_i^\top`.

    Parameters
    ----------
    A : array-like of shape (n, n)
        Symmetric.

    Raises
    ------
    ValueError
        If A is not symmetric; :func:`companion.admm.project_psd` takes any square matrix.

    Notes
    -----
    Source: YCG (4). A is mapped to :math:`A_+` with Lipschitz constant 1 in the Frobenius norm.

    Examples
    --------
    >>> nearest_psd([[0, 2], [2, 0]]).round(8)
    array([[1., 1.],
           [1., 1.]])
    """
    return project_psd(as_symmetric(A, "A"))


def spectrum_transform(K: Any, how: str = "clip", rows: Any = None) -> Any:
    r"""Make a symmetric matrix positive semidefinite by changing its eigenvalues alone.

    =============  ================================================================
    ``clip``       :math:`\max(\lambda, 0)`: "denoise"
    ``flip``       :math:`|\lambda|`
    ``shift``      :math:`\lambda - \min(\lambda_{\min}, 0)`
    ``square``     :math:`\lambda^2`
    ``diffusion``  :math:`e^\lambda`
    =============  ================================================================

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric.
    how : str
        One of the names above.
    rows : array-like of shape (m, n), optional
        Kernel values of m new points with the n old ones.

    Returns
    -------
    ndarray of shape (n, n), or a pair
        The new matrix; with `rows`, also the new values of the new points, shape (m, n).

    Raises
    ------
    ValueError
        If K is not symmetric, or a large eigenvalue overflows in ``"diffusion"``.

    Notes
    -----
    Source: YCG Section 1 (all but square). The new values are ``rows @ T`` with the matrix T for which the transform
    of K is K T, up to a multiple of the identity: adding to the diagonal does not concern pairs of different points.

    Examples
    --------
    >>> K = [[0.0, 2.0], [2.0, 0.0]]
    >>> spectrum_transform(K, "flip").round(8)
    array([[2., 0.],
           [0., 2.]])
    >>> spectrum_transform(K, "clip", rows=[[2.0, 0.0]])[1].round(8)
    array([[1., 1.]])
    """
    K = as_symmetric(K, "K")
    d, V = np.linalg.eigh(K)
    d[np.abs(d) <= len(d) * EPS * largest(d)] = 0.0  # below this an eigenvalue has no sign
    transforms = {  # t and c for the new eigenvalues d t + c
        "clip": (np.where(d > 0.0, 1.0, 0.0), 0.0),
        "flip": (np.sign(d), 0.0),
        "shift": (np.ones_like(d), -float(d.min(initial=0.0))),
        "square": (d, 0.0),
        "diffusion": (exprel(d), 1.0),
    }
    factor, constant = transforms[check_choice(how, "how", transforms)]
    if np.isinf(factor).any():
        raise ValueError(f"exp overflows at the eigenvalue {d[-1]:.4g} of K; scale K")
    new = (V * np.maximum(d * factor + constant, 0.0)) @ V.T
    new = 0.5 * (new + new.T)
    if rows is None:
        return new
    return new, as_matrix(rows, "rows", (None, len(K))) @ (V * factor) @ V.T


# ---------------------------------------------------------------------------------------------
# The set Q1
# ---------------------------------------------------------------------------------------------


def project_q1(beta: Any, y: Any, C: float) -> np.ndarray:
    r"""Return the point of :math:`Q_1 = \{\alpha : y^\top \alpha = 0, \; 0 \le \alpha \le C\}` nearest to beta.

    It is :math:`\alpha_i = \min(C, \max(0, \beta_i - t y_i))` for the t at which :math:`y^\top \alpha = 0`. As a
    function of t, :math:`y^\top \alpha` falls and is linear between 2n breakpoints; sorting them gives t in
    :math:`O(n \log n)`.

    Parameters
    ----------
    beta : array-like of shape (n,)
        The point.
    y : array-like of shape (n,)
        Labels +1 and -1.
    C : float
        Upper bound.

    Returns
    -------
    ndarray of shape (n,)
        Entries at a bound are ``==`` to it.

    Raises
    ------
    ValueError
        If an input is unusable.

    Notes
    -----
    Source: YCG (10).

    Examples
    --------
    >>> project_q1([2.0, 0.5, 0.0], [1, 1, -1], C=1.0)
    array([1., 0., 1.])
    >>> project_q1([0.6, 0.1, 0.5], [1, 1, -1], C=1.0).round(4)
    array([0.5333, 0.0333, 0.5667])
    """
    beta, C = as_vector(beta, "beta"), as_scalar(C, "C", above=0.0)
    y = as_signs(y, beta.size)
    v = y * beta
    for _ in range(2):  # the second time without the rounding of what is large beside C
        v = np.clip(v - _level(v, y, C), -2.0 * C, 2.0 * C)
    return np.clip(y * v, 0.0, C) + 0.0  # no -0.0


def _level(v: np.ndarray, y: np.ndarray, C: float) -> float:
    """Return the t for which ``clip(y (v - t), 0, C)`` is orthogonal to y."""
    # alpha_i leaves its left bound at t = low_i and reaches the other at high_i
    low, high = np.where(y > 0.0, v - C, v), np.where(y > 0.0, v, v + C)
    t = np.concatenate([low, high])
    order = np.argsort(t, kind="stable")
    t = t[order]
    # y'alpha is C n_plus on the far left; between two breakpoints its slope is minus the number of free entries
    free = np.cumsum(np.where(order < v.size, 1, -1))
    value = C * np.count_nonzero(y > 0.0) - np.append(0.0, np.cumsum(free[:-1] * np.diff(t)))
    # the middle, where y'alpha = 0 on an interval
    return float(np.interp(0.0, -value, t) + np.interp(0.0, value[::-1], t[::-1])) / 2.0


def largest_linear(g: Any, y: Any, C: float) -> float:
    r"""Return :math:`\max \{ g^\top a : a \in Q_1 \}`.

    The best partner for the blue point with the largest :math:`g_i` is the red one with the largest :math:`g_j`: both
    get C as long as :math:`g_i + g_j > 0`. Two sorts do it.

    Parameters
    ----------
    g : array-like of shape (n,)
        Objective.
    y : array-like of shape (n,)
        Labels +1 and -1.
    C : float
        Upper bound.

    Notes
    -----
    Not in the paper. With :math:`g = \nabla f(\alpha)` it bounds how far a concave f is from its maximum:
    :math:`f^* - f(\alpha) \le \max_a g^\top a - g^\top \alpha`.

    Examples
    --------
    >>> largest_linear([3.0, 1.0, -2.0, -5.0], [1, 1, -1, -1], C=2.0)
    2.0
    """
    g, C = as_vector(g, "g"), as_scalar(C, "C", above=0.0)
    y = as_signs(y, g.size)
    blue, red = np.sort(g[y > 0.0])[::-1], np.sort(g[y < 0.0])[::-1]
    pairs = min(blue.size, red.size)
    return C * float(np.maximum(blue[:pairs] + red[:pairs], 0.0).sum())


# ---------------------------------------------------------------------------------------------
# The objective
# ---------------------------------------------------------------------------------------------


def proxy_kernel(alpha: Any, K0: Any, y: Any, rho: float) -> np.ndarray:
    r"""Return :math:`K(\alpha) = (K_0 + \tfrac1{4\rho} Y \alpha \alpha^\top Y)_+`, which minimises L for this alpha.

    Parameters
    ----------
    alpha : array-like of shape (n,)
        Multipliers.
    K0 : array-like of shape (n, n)
        Symmetric.
    y : array-like of shape (n,)
        Labels +1 and -1.
    rho : float
        Price of the distance from K0.

    Notes
    -----
    Source: YCG (4).

    Examples
    --------
    >>> proxy_kernel([0.0, 0.0], [[0, 2], [2, 0]], [1, -1], rho=1.0).round(4)
    array([[1., 1.],
           [1., 1.]])
    """
    K0 = as_symmetric(K0, "K0")
    z = as_signs(y, len(K0)) * as_vector(alpha, "alpha", len(K0))
    return nearest_psd(K0 + np.outer(z, z) / (4.0 * as_scalar(rho, "rho", above=0.0)))


class IndefiniteObjective:
    r"""The function f and its gradient.

    .. math:: f(\alpha) &= \mathbf 1^\top \alpha - \tfrac12 z^\top K_0 z \\
        & \quad - \tfrac14 \tau \|z\|^4 + \rho \|N\|_F^2, \\
        \nabla f(\alpha) &= \mathbf 1 - Y K(\alpha) z,

    with :math:`z = Y\alpha`, :math:`\tau = 1/(4\rho)` and :math:`N = K(\alpha) - (K_0 + \tau z z^\top)`.
    A call costs an eigendecomposition.

    Parameters
    ----------
    K0 : array-like of shape (n, n)
        Symmetric.
    y : array-like of shape (n,)
        Labels +1 and -1.
    rho : float
        Price of the distance from K0.

    Notes
    -----
    Source: YCG (3), (4), (6), with the square completed: only the negative eigenvalues of the matrix in (4) enter f.

    Examples
    --------
    >>> objective = IndefiniteObjective([[0, 2], [2, 0]], [1, -1], rho=1.0)
    >>> value, gradient = objective([1.0, 1.0])
    >>> round(value, 6), gradient.round(6)
    (6.0, array([1., 1.]))
    """

    def __init__(self, K0: Any, y: Any, rho: float) -> None:
        self.K0 = as_symmetric(K0, "K0")
        self.y = as_signs(y, len(self.K0))
        self.rho = as_scalar(rho, "rho", above=0.0)

    def __call__(self, alpha: Any) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at alpha."""
        alpha, tau = as_vector(alpha, "alpha", self.y.size), 0.25 / self.rho
        z = self.y * alpha
        d, V = np.linalg.eigh(self.K0 + tau * np.outer(z, z))
        value = float(alpha.sum() - 0.5 * (z @ self.K0 @ z)) - 0.25 * tau * float(z @ z) ** 2
        value += self.rho * float((np.minimum(d, 0.0) ** 2).sum())
        return value, 1.0 - self.y * (V @ (np.maximum(d, 0.0) * (z @ V)))


def lipschitz_constant(K0: Any, y: Any, C: float, rho: float) -> float:
    r"""Return the Lipschitz constant of :math:`\nabla f` on :math:`Q_1` that Theorem 2 gives.

    It is :math:`\max(\lambda_{\max}(K_0), 0) + n C^2 / \rho`.

    Parameters
    ----------
    K0, y, rho
        As for :func:`proxy_kernel`.
    C : float
        Upper bound of the multipliers.

    Notes
    -----
    Source: YCG Theorem 2, which has :math:`\lambda_{\max}(K_0)`; a negative one would make the constant too small.

    Examples
    --------
    >>> lipschitz_constant([[0, 2], [2, 0]], [1, -1], 1.0, 1.0)
    4.0
    """
    K0 = as_symmetric(K0, "K0")
    C, n = as_scalar(C, "C", above=0.0), as_signs(y, len(K0)).size
    top = max(float(np.linalg.eigvalsh(K0)[-1]), 0.0)
    return top + n * C * (C / as_scalar(rho, "rho", above=0.0))


# ---------------------------------------------------------------------------------------------
# The methods
# ---------------------------------------------------------------------------------------------


class _Ascent(NamedTuple):
    """Where a method is: a point with its value and gradient, the L that found it, and what the method remembers."""

    alpha: np.ndarray
    value: float
    gradient: np.ndarray
    L: float
    k: int = 0
    weight: float = 1.0  # accelerated: t, which the momentum comes from
    before: Any = None  # accelerated: the point before this one
    total: Any = 0.0  # smm: the weighted sum of the gradients


class _Maximisation(NamedTuple):
    """f on Q1, for the methods."""

    f: IndefiniteObjective
    C: float

    def at(self, alpha: np.ndarray, L: float) -> _Ascent:
        """Return a point with value and gradient."""
        return _Ascent(alpha, *self.f(alpha), L)

    def project(self, alpha: np.ndarray) -> np.ndarray:
        """Return the nearest point of Q1."""
        return project_q1(alpha, self.f.y, self.C)

    def step(self, at: _Ascent, L: float) -> np.ndarray:
        """Return the end of a gradient step."""
        return self.project(at.alpha + at.gradient / L)

    def gap(self, at: _Ascent) -> float:
        """Return the bound on what is missing to the maximum, by the gradient."""
        return largest_linear(at.gradient, self.f.y, self.C) - float(at.gradient @ at.alpha)


class IndefiniteResult(Outcome):
    r"""Outcome of :func:`solve_indefinite`: multipliers, the proxy kernel, and the gap between them.

    Parameters
    ----------
    alpha : ndarray of shape (n,)
        The best point found.
    objective : float
        f(alpha).
    upper_bound : float
        A bound of :math:`\max_{a \in Q_1} L(a, K(\alpha))`, which no value of f exceeds: the primal value of the
        support vector machine with the kernel matrix K.
    multipliers : ndarray of shape (n,)
        Its multipliers a.
    b : float
        The constant of its decision function :math:`\sum_j y_j a_j K_{ij} - b`.
    n_iter : int
        Number of steps.
    status : str
        ``"converged"`` or ``"small change"``, where the stopping rule was met, or ``"max_iter"``.
    L : float
        The Lipschitz constant, given, computed or (accelerated) found for the last step.
    certificate : Certificate
        Residuals of :math:`y^\top \alpha = 0`, of the maximum over :math:`Q_1` (by the gradient), and the saddle gap,
        with :math:`\rho` times the squared rounding of K, relative to :math:`\mathbf 1^\top \alpha`.
    K : ndarray of shape (n, n)
        The proxy kernel :math:`K(\alpha)`.
    history : dict of ndarray
        One entry per point, from the first one on: ``objective``; ``gap``, the bound on :math:`f^* - f` by the
        gradient; ``L``, with which the point was found.
    problem : Problem or None
        What was solved, so that the answer can be examined.
    """

    alpha: np.ndarray
    objective: float
    upper_bound: float
    multipliers: np.ndarray
    b: float
    L: float
    certificate: Certificate
    K: np.ndarray = field(repr=False)

    @property
    def gap(self) -> float:
        """Upper bound minus objective."""
        return self.upper_bound - self.objective


def solve_indefinite(
    K0: Any,
    y: Any,
    C: float = 1.0,
    rho: float = 1.0,
    *,
    method: str = "smm",
    L: float | None = None,
    alpha0: Any = None,
    tol: float = 1e-6,
    change: float | None = None,
    max_iter: int = 10_000,
) -> IndefiniteResult:
    r"""Maximise f over :math:`Q_1`, by a projected gradient method or one of two accelerated ones.

    ================  ==========================================================================================
    ``spgm``          :math:`\alpha_{k+1} = P(\alpha_k + \nabla f(\alpha_k)/L)`: f rises, error O(1/k)
    ``smm``           Nesterov's smooth method: :math:`\gamma_k = P(\alpha_k + \nabla f(\alpha_k)/L)`,
                      :math:`\beta_k = P(\alpha_0 + \tfrac1{2L} \sum_{i \le k} (i+1) \nabla f(\alpha_i))`,
                      :math:`\alpha_{k+1} = \tfrac2{k+3} \beta_k + \tfrac{k+1}{k+3} \gamma_k`: error of
                      :math:`\gamma_k` O(1/k^2), f does not always rise
    ``accelerated``   the gradient step from an extrapolated point, with an L that a line search finds anew in each
                      step; the momentum is dropped where a step turns against it
    ================  ==========================================================================================

    Parameters
    ----------
    K0 : array-like of shape (n, n)
        Symmetric; it need not be positive semidefinite.
    y : array-like of shape (n,)
        Labels +1 and -1.
    C : float
        Upper bound of the multipliers.
    rho : float
        Price of the distance between K and K0.
    method : str
        ``"smm"``, ``"spgm"`` or ``"accelerated"``.
    L : float, optional
        Lipschitz constant; by default that of Theorem 2. For ``"accelerated"`` the first guess, by default the
        largest eigenvalue of K0 (the constant of Theorem 2 if that is not positive): each step begins with 9/10 of the
        L before and doubles it until the parabola of curvature L lies below f at the new point.
    alpha0 : array-like of shape (n,), optional
        Starting point, projected to :math:`Q_1`; 0 by default.
    tol : float
        Stop when the gradient proves :math:`f^* - f(\alpha) \le \mathrm{tol} \cdot \mathbf 1^\top \alpha`.
    change : float, optional
        Stop also when the objective changes by at most this part of itself in one step: the paper's rule, 1e-6 there.
    max_iter : int
        Largest number of steps.

    Returns
    -------
    IndefiniteResult

    Raises
    ------
    ValueError
        If K0 is not symmetric, or an option is unknown.

    Warns
    -----
    ConvergenceWarning
        If no stopping rule is met within `max_iter` steps, or the certificate misses its tolerance.

    Notes
    -----
    Source: YCG Tables 1 and 2, with the sum of Section 4.2 in place of that of Table 2; the line search is what its
    conclusion proposes; that L may fall as well as rise, with weights that keep the rate, is Scheinberg, Goldfarb and
    Bai's (2014). The bounds are
    :math:`f^* - f(\alpha_k) \le \tfrac{L}{2k} \|\alpha_0 - \alpha^*\|^2` for SPGM and
    :math:`f^* - f(\gamma_k) \le \tfrac{4L}{(k+1)(k+2)} \|\alpha_0 - \alpha^*\|^2` for SMM.

    Examples
    --------
    >>> import numpy as np
    >>> from companion.datasets import zm_fourteen
    >>> data = zm_fourteen()
    >>> K0 = np.tanh(data.X @ data.X.T / 10 - 1)
    >>> result = solve_indefinite(K0, data.y, C=1.0, rho=1.0, method="accelerated", tol=1e-10)
    >>> round(result.objective, 6), bool(result.gap < 1e-8)
    (15.697899, True)
    """
    methods = {"smm": _smm, "spgm": _spgm, "accelerated": _accelerated}
    check_choice(method, "method", methods)
    f = IndefiniteObjective(K0, y, rho)
    program = _Maximisation(f, as_scalar(C, "C", above=0.0))
    tol, max_iter = as_scalar(tol, "tol", at_least=0.0), check_count(max_iter, "max_iter")
    change = np.nan if change is None else as_scalar(change, "change", above=0.0)
    if L is None:
        top = float(np.linalg.eigvalsh(f.K0)[-1])
        L = top if method == "accelerated" and top > 0.0 else lipschitz_constant(f.K0, y, C, rho)
    L = as_scalar(L, "L", above=0.0)
    start = np.zeros(f.y.size) if alpha0 is None else as_vector(alpha0, "alpha0", f.y.size)
    best = at = program.at(program.project(start), L)
    status, rows, origin = "", list[dict[str, float]](), at.alpha
    while not status:
        rows.append({"objective": at.value, "gap": program.gap(at), "L": at.L})
        best = max(at, best, key=lambda point: point.value)
        if rows[-1]["gap"] <= tol * float(at.alpha.sum()):
            best, status = at, "converged"
        elif at.k and abs(at.value - rows[-2]["objective"]) <= change * abs(at.value):
            status = "small change"
        elif at.k == max_iter:
            status = "max_iter"
        else:
            at = methods[method](program, at, origin)._replace(k=at.k + 1)
    if method == "smm" and status != "converged":  # the bound of SMM concerns gamma
        best = max(best, program.at(program.step(at, at.L), at.L), key=lambda point: point.value)
    found = _finish(program, best, tol, at.L, status, rows)
    if status == "max_iter" or (status == "converged" and not found.certificate.ok):
        faster = "" if method == "accelerated" else "use method='accelerated', "
        complain(
            f"{method} took {found.n_iter} steps and did not prove tol = {tol:g} ({found.certificate}); raise "
            f"max_iter or tol, {faster}or scale K0"
        )
    return found


def _spgm(program: _Maximisation, at: _Ascent, origin: np.ndarray) -> _Ascent:
    """Take a step of Table 1."""
    return program.at(program.step(at, at.L), at.L)


def _smm(program: _Maximisation, at: _Ascent, origin: np.ndarray) -> _Ascent:
    """Take a step of Table 2, with the sum of Section 4.2."""
    k, gamma, total = at.k, program.step(at, at.L), at.total + (at.k + 1) * at.gradient
    beta = program.project(origin + total / (2.0 * at.L))
    new = program.at(2.0 / (k + 3) * beta + (k + 1) / (k + 3) * gamma, at.L)
    return new._replace(total=total)


def _accelerated(program: _Maximisation, at: _Ascent, origin: np.ndarray) -> _Ascent:
    """Take a gradient step from an extrapolated point; forget the momentum where the step turns against it."""
    before, t, L = origin if at.before is None else at.before, at.weight, _FALL * at.L
    while True:  # the first L whose parabola lies below f at the new point
        # the weight of the momentum for which the rate 1/k^2 survives a change of L
        t_next = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t * (L / at.L)))
        move = (t - 1.0) / t_next * (at.alpha - before)
        ahead = program.at(at.alpha + move, L) if move.any() else at
        new = program.at(program.step(ahead, L), L)
        if _fits(ahead, new, L):
            break
        L *= 2.0
    turned = (ahead.alpha - new.alpha) @ (new.alpha - at.alpha) > 0.0
    return new._replace(before=at.alpha, weight=1.0 if turned else t_next)


def _fits(ahead: _Ascent, new: _Ascent, L: float) -> bool:
    """Tell whether the parabola of curvature L at `ahead` lies below f at the new point."""
    step = new.alpha - ahead.alpha
    parabola = 0.5 * L * float(step @ step)
    rise = float(ahead.gradient @ step)
    noise = 1e-13 * (abs(ahead.value) + float(np.abs(ahead.alpha).sum()))
    if rise + parabola > noise:
        return new.value >= ahead.value + rise - parabola
    # the values differ by rounding; the gradients still tell the curvature
    return float((ahead.gradient - new.gradient) @ step) <= 2.0 * parabola * (1.0 + 1e-6)


def _finish(
    program: _Maximisation, point: _Ascent, tol: float, L: float, status: str, rows: list[dict[str, float]]
) -> IndefiniteResult:  # fmt: skip
    """Solve the support vector machine with the proxy kernel: it closes the gap from above."""
    f, C, alpha = program.f, program.C, point.alpha
    y, K = f.y, proxy_kernel(alpha, f.K0, f.y, f.rho)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        # its certificate is part of ours
        machine = SVMs2(C, kernel="precomputed").fit(K, y)
    z, a = y * alpha, np.zeros(y.size)
    a[y > 0.0], a[y < 0.0] = machine.lambda_, machine.mu_
    # its hyperplane bounds f from above, without the constant that could drown the difference
    gap, scale = machine.objective_ - float(alpha.sum() - 0.5 * (z @ K @ z)), float(alpha.sum())
    terms = machine.objective_ + scale + 0.5 * float(np.abs(z) @ np.abs(K) @ np.abs(z))
    gap = max(gap, 0.0) + rounding_of(2 * y.size) * terms
    rounding = y.size * EPS * float(np.linalg.norm(f.K0))  # of K; L has it squared
    certificate = certify_terms(
        program.gap(point), gap + rounding * (f.rho * rounding), scale, max(tol, machine.tol),
        primal=relative(y @ alpha, scale), dual=machine.certificate_.worst,
    )  # fmt: skip
    return IndefiniteResult(
        alpha=alpha, objective=point.value, upper_bound=point.value + gap, multipliers=a, b=machine.b_,
        n_iter=len(rows) - 1, status=status, L=L, certificate=certificate, K=K,
        history={key: np.array([row[key] for row in rows]) for key in rows[0]},
        problem=Problem("indefinite kernel", {"K0": f.K0, "y": y, "C": C, "rho": f.rho}),
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------
# The estimator
# ---------------------------------------------------------------------------------------------


class IndefiniteSVC(HyperplaneClassifier):
    r"""Support vector machine whose kernel need not be positive definite.

    .. math:: & \max_{\alpha \in Q_1} \min_{K \succeq 0} \; \mathbf 1^\top \alpha - \tfrac12 \alpha^\top Y K Y \alpha \\
        & \quad + \rho \|K - K_0\|_F^2, \\
        & Q_1 = \{\alpha : y^\top \alpha = 0, \; 0 \le \alpha \le C\}

    for the kernel matrix :math:`K_0` of the training points. The machine is then that of (SVM_s2) with the proxy
    kernel :math:`K(\alpha)`.

    Parameters
    ----------
    C : float
        Price of a unit of slack.
    rho : float
        Price of the distance between the proxy kernel and the given one.
    kernel, kernel_params
        See :func:`companion.kernels.as_kernel`; symmetric, and otherwise free.
    tol : float
        Relative gap to reach.
    max_iter : int
        Largest number of steps of the accelerated method of :func:`solve_indefinite`.

    Attributes
    ----------
    alpha_ : ndarray of shape (l,)
        The maximiser found.
    objective_ : float
        Its value of f.
    gap_ : float
        Upper bound of what is missing to the maximum.
    multipliers_ : ndarray of shape (l,)
        Multipliers of the machine with the proxy kernel; at the maximum they are as good as ``alpha_``.
    proxy_kernel_ : ndarray of shape (l, l)
        :math:`K(\alpha)`.
    dual_coef_ : ndarray of shape (l,)
        Coefficients c of the decision function :math:`\sum_i c_i k_0(x_i, x) - b`.
    b_ : float
        The constant of the decision function.
    lambda_, mu_, support_
        The multipliers of blue and of red points, and where they are positive.
    n_iter_ : int
        Number of steps.
    certificate_ : Certificate
        Residuals and gap.

    Raises
    ------
    ValueError
        If the kernel matrix is not symmetric.

    Warns
    -----
    ConvergenceWarning
        If `tol` is not met within `max_iter` steps.

    Notes
    -----
    Source: YCG. The paper does not say how it treats new points. Here the row :math:`k_0(x)` of a new point's values
    with the training points is taken to the positive eigenvectors of :math:`K_0 + \tfrac1{4\rho} Y\alpha\alpha^\top Y`,
    as the proxy does with those of the training points. A training point that is passed to `predict` counts as a new
    one.

    Examples
    --------
    >>> from companion.datasets import xor
    >>> data = xor()
    >>> machine = IndefiniteSVC(C=10.0, kernel="sigmoid", kernel_params={"coef0": -1.0})
    >>> machine.fit(data.X, data.y).certificate_.ok, machine.predict(data.X) == data.y
    (True, array([ True,  True,  True,  True]))
    """

    C: float = 1.0
    rho: float = 1.0
    _: KW_ONLY
    kernel: KernelLike = "rbf"
    tol: float = 1e-6
    max_iter: int = 10_000

    def _fit(self, X: Any, y: Any) -> Self:
        """Find the saddle point; read b from the machine with the proxy kernel."""
        points = self._read(X, y)
        s, gram = points.s, points.gram
        K0 = as_symmetric(gram, "the kernel matrix of the training points", len(s))
        result = solve_indefinite(
            K0, s, self.C, self.rho, method="accelerated", tol=self.tol, max_iter=self.max_iter
        )
        a, z = result.multipliers, s * result.alpha
        d, V = np.linalg.eigh(K0 + np.outer(z, z) / (4.0 * self.rho))  # K is rounded once more
        V = V[:, d > ROUNDING * max(float(d[-1]), 0.0)]
        self.X_fit_, self.kernel_, self.classes_ = points.X, points.kernel, points.classes
        self.w_, self.b_ = None, result.b
        self.alpha_, self.multipliers_ = result.alpha, a
        self.proxy_kernel_, self.dual_coef_ = result.K, V @ ((s * a) @ V)
        self.lambda_, self.mu_, self.support_ = a[s > 0], a[s < 0], np.flatnonzero(a)
        self.objective_, self.gap_, self.n_iter_ = result.objective, result.gap, result.n_iter
        self.certificate_ = result.certificate
        return self
