r"""The alternating direction method of multipliers.

:func:`admm` is the method; lasso and group lasso of Section 16.8, the lasso of chapter 19, consensus and the text's
routine ``qsolve1`` call it. :class:`Iterate` is what a callback sees. The other names serve the convergence proof:
:func:`lyapunov` and :func:`convergence_inequalities` evaluate what Theorem 16.1 bounds. :func:`repeat` is the loop of
all iterations of this chapter: steps, their history, and how a run ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from companion.arguments import check_kind, value_of
from companion.checks import as_array, as_matrix, as_scalar, as_vector, check_count
from companion.exceptions import complain
from companion.results import ADMMResult, History

Update = Callable[[np.ndarray, float], np.ndarray]
Apply = Callable[[np.ndarray], np.ndarray]
DIVERGED = 1e10  # beside 1 and the start: iterates that are larger grow without bound


class Iterate(NamedTuple):
    r"""One step of :func:`admm`, as a callback receives it.

    Parameters
    ----------
    k : int
        Number of the step, from 1.
    x, z, u : ndarray
        :math:`x^k`, :math:`z^k` and the scaled multiplier :math:`u^k`. Copy before you change or
        keep them.
    rho : float
        The penalty parameter that the step used: the multiplier is :math:`\lambda^k = \rho u^k`.
    primal_residual, dual_residual : float
        Norms of :math:`r^k` and :math:`s^k`.
    """

    k: int
    x: np.ndarray
    z: np.ndarray
    u: np.ndarray
    rho: float
    primal_residual: float
    dual_residual: float


def admm(
    x_update: Update, z_update: Update, A: Any, B: Any, c: Any, *, rho: float = 1.0, z0: Any = None, u0: Any = None,
    relaxation: float = 1.0, adaptive: bool = False, mu: float = 10.0, tol_abs: float = 1e-8, tol_rel: float = 1e-8,
    max_iter: int = 10_000, objective: Callable[[np.ndarray, np.ndarray], float] | None = None,
    keep_iterates: bool = False, callback: Callable[[Iterate], Any] | None = None,
) -> ADMMResult:  # fmt: skip
    r"""Minimise f(x) + g(z) subject to A x + B z = c, one variable at a time.

    In scaled form, with :math:`u = \lambda / \rho`, one step is

    .. math::

        x^{k+1} &= \arg\min_x \; f(x) \\
            &\qquad {} + (\rho/2) \|A x + B z^k - c + u^k\|_2^2 \\
        z^{k+1} &= \arg\min_z \; g(z) \\
            &\qquad {} + (\rho/2) \|A x^{k+1} + B z - c + u^k\|_2^2 \\
        u^{k+1} &= u^k + A x^{k+1} + B z^{k+1} - c.

    You supply the two minimisations. Each receives the point v that its own term should match.

    Parameters
    ----------
    x_update : callable
        ``x_update(v, rho)`` returns :math:`\arg\min_x f(x) + (\rho/2) \|A x - v\|_2^2`; it is
        called with :math:`v = c - B z^k - u^k`. With ``A = 1`` this is the proximal operator of
        :math:`f/\rho` at v.
    z_update : callable
        ``z_update(v, rho)`` returns :math:`\arg\min_z g(z) + (\rho/2) \|B z - v\|_2^2`; it is
        called with :math:`v = c - A x^{k+1} - u^k`. With ``B = -1`` this is the proximal operator
        of :math:`g/\rho` at -v.
    A, B : array of shape (p, n) and (p, m), sparse matrix or number
        The constraint. A number stands for that multiple of the identity.
    c : array-like of shape (p,) or float
        Right-hand side. A number is repeated p times.
    rho : float
        Penalty parameter, > 0.
    z0, u0 : array-like of shape (m,) and (p,), optional
        The start, zero by default. There is no x0: the state of ADMM is (z, u).
    relaxation : float
        Over-relaxation :math:`\alpha` in (0, 2): :math:`A x^{k+1}` is replaced by
        :math:`\alpha A x^{k+1} + (1 - \alpha)(c - B z^k)` in the second and third line. 1 is the
        method above.
    adaptive : bool
        Whether rho is balanced after each step: doubled if ``||r|| > mu ||s||``, halved if
        ``||s|| > mu ||r||``, the text's rule. The scaled multiplier u is rescaled with it, so that lambda does not
        jump. The rule acts during a thousand steps, or until rho has turned ten times from rising to falling or back:
        for ever up and down, it can drive the iterates away. Then rho stays constant, which is what the proof of
        convergence needs.
    mu : float
        How many times as large a residual is too large, > 1; 10 is the usual number.
    tol_abs, tol_rel : float
        Tolerances of the stopping rule, see Notes.
    max_iter : int
        Largest number of steps.
    objective : callable, optional
        ``objective(x, z)`` returns f(x) + g(z), recorded at each step.
    keep_iterates : bool
        Whether the iterates go into the history.
    callback : callable, optional
        Called with an :class:`Iterate` after each step; the run stops when it returns
        something true.

    Returns
    -------
    ADMMResult
        `history` holds one entry per step of ``primal_residual``, ``dual_residual``, ``objective``
        and ``rho``. With `keep_iterates` also ``x`` (one row per step), ``z`` and ``u`` (one row
        more: row k is the k-th iterate, row 0 the start). `status` is ``"converged"``,
        ``"max_iter"``, ``"diverged"`` (an iterate was not finite; the last finite one is returned)
        or ``"stopped by callback"``.

    Warns
    -----
    ConvergenceWarning
        When the status is ``"max_iter"`` or ``"diverged"``.

    Notes
    -----
    Source: Section 16.3 (the method, its scaled form), Section 16.5 (residuals, varying penalty).
    The run stops when

    .. math::

        \|r^k\| &\le \sqrt{p}\,\epsilon_\mathrm{abs} \\
            &\quad {} + \epsilon_\mathrm{rel} \max(\|A x^k\|, \|B z^k\|, \|c\|) \\
        \|s^k\| &\le \sqrt{n}\,\epsilon_\mathrm{abs} + \epsilon_\mathrm{rel} \|A^\top \lambda^k\|

    (Boyd et al. 2010, Section 3.3.1), where :math:`r^k = A x^k + B z^k - c` and
    :math:`s^k = \rho A^\top B (z^k - z^{k-1})`. The text prints :math:`z^*` for :math:`z^{k-1}`
    there, but no stopping rule can use the unknown solution. With over-relaxation, s gains the term
    :math:`\rho (\alpha - 1) A^\top (A x^k + B z^{k-1} - c)`: in every case
    :math:`-A^\top \lambda^k + s^k` is a subgradient of f at :math:`x^k`.

    Examples
    --------
    Example 16.4 of the text: minimise 2x + z^2 subject to 2x - z = 0.

    >>> result = admm(
    ...     lambda v, rho: (v - 1 / rho) / 2,    # min 2x + rho/2 (2x - v)^2
    ...     lambda v, rho: -rho * v / (rho + 2), # min z^2 + rho/2 (-z - v)^2
    ...     A=2, B=-1, c=0, objective=lambda x, z: 2 * x[0] + z[0] ** 2)
    >>> print(result.status, result.x.round(6), result.z.round(6), round(result.objective, 6))
    converged [-0.25] [-0.5] -0.25
    """
    A_, At, A_shape = _linear_map(A, "A")
    B_, _, B_shape = _linear_map(B, "B")
    c, z, u, n = _start(c, z0, u0, A_shape, B_shape)
    rho = as_scalar(rho, "rho", above=0)
    alpha = as_scalar(relaxation, "relaxation", above=0, below=2)
    mu = as_scalar(mu, "mu", above=1)
    tol_abs = as_scalar(tol_abs, "tol_abs", at_least=0)
    tol_rel = as_scalar(tol_rel, "tol_rel", at_least=0)
    check_kind(callback, "callback", "callable or None", lambda f: f is None or callable(f))
    turns, last = 0, 1.0  # of rho, and by what it was multiplied last
    start, x, Bz, value = (z, u), np.full(n, np.nan), B_(z), np.nan

    def small(residual: float, length: int, size: float) -> bool:
        return residual <= math.sqrt(length) * tol_abs + tol_rel * size

    def step(k: int) -> tuple[str, tuple[Any, ...]]:
        nonlocal x, z, u, Bz, rho, value, turns, last
        before, Bz_old = (x, z, u), Bz
        x = value_of(x_update, "x_update", x.shape, c - Bz - u, rho)
        Ax = A_(x)
        h = Ax if alpha == 1 else alpha * Ax + (1 - alpha) * (c - Bz)
        z = value_of(z_update, "z_update", z.shape, c - h - u, rho)
        Bz = B_(z)
        u = u + (h + Bz - c)

        d = Bz - Bz_old if alpha == 1 else Bz - Bz_old + (alpha - 1) * (Ax + Bz_old - c)
        r, s = _norm(Ax + Bz - c), rho * _norm(At(d))
        if not (math.isfinite(r) and math.isfinite(s) and np.isfinite(u).all()):
            x, z, u = before
            return "diverged", ()
        if objective is not None:
            value = float(value_of(objective, "objective", (), x, z))
        row = (r, s, value, rho) + ((x, z, u) if keep_iterates else ())
        size = max(_norm(Ax), _norm(Bz), _norm(c))
        if small(r, c.size, size) and small(s, n, rho * _norm(At(u))):
            return "converged", row
        if callback is not None and callback(Iterate(k, x, z, u, rho, r, s)):
            return "stopped by callback", row
        if adaptive and k <= 1000 and turns < 10 and not s / mu <= r <= mu * s:
            factor = 2.0 if r > s else 0.5
            turns += last not in (1.0, factor)
            rho, u, last = factor * rho, u / factor, factor
        return "", row

    names = ["primal_residual", "dual_residual", "objective", "rho"]
    names += ["x", "z", "u"] if keep_iterates else []
    status, history = repeat(step, names, max_iter, "another rho may help")
    if keep_iterates:
        for name, first in zip("zu", start):
            history[name] = np.array([first, *history[name]])
    n_iter = len(history["rho"])
    return ADMMResult(x, z, u, rho, value, status=status, n_iter=n_iter, history=history)


def repeat(
    step: Callable[[int], tuple[str, tuple[Any, ...]]],
    names: Sequence[str],
    max_iter: int,
    advice: str,
) -> tuple[str, History]:
    """Repeat a step until it says how the run ends; return that, ``"max_iter"`` where it does not, and the history.

    Parameters
    ----------
    step : callable
        ``step(k)``, for k = 1, 2, ..., returns how the run ends, ``""`` to go on, and what the history keeps of the
        step. After ``"diverged"`` it keeps nothing.
    names : sequence of str
        Names of what it keeps.
    max_iter : int
        Largest number of steps.
    advice : str
        What may help, for the warning.

    Warns
    -----
    ConvergenceWarning
        When the run ends by ``"max_iter"`` or ``"diverged"``.
    """
    rows: list[tuple[Any, ...]] = []
    status = ""
    with np.errstate(over="ignore", invalid="ignore"):  # reported as divergence
        for k in range(1, check_count(max_iter, "max_iter") + 1):
            status, row = step(k)
            if status != "diverged":
                rows.append(row)
            if status:
                break
    if status == "diverged":
        complain(f"step {k} diverged: the iterates grow without bound; {advice}")
    elif not status:
        last = [f"{name} {x:.1e}" for name, x in zip(names, rows[-1]) if "residual" in name]
        residuals = ", ".join(last).replace("_", " ")
        complain(f"no convergence in {max_iter=} steps: {residuals}; {advice}")
    columns = zip(*rows) if rows else [()] * len(names)
    return status or "max_iter", {name: np.array(column) for name, column in zip(names, columns)}


def lyapunov(history: History, B: Any, z_star: Any, lambda_star: Any) -> np.ndarray:
    r"""Return the sequence V^k that the convergence proof shows to decrease, k = 0, ..., n_iter.

    .. math::

        V^k = (1/\rho) \|\lambda^k - \lambda^*\|_2^2 + \rho \|B(z^k - z^*)\|_2^2

    Parameters
    ----------
    history : dict of ndarray
        The `history` of a run of :func:`admm` with ``keep_iterates=True`` and constant rho.
    B : array, sparse matrix or number
        As in the run.
    z_star, lambda_star : array-like of shape (m,) and (p,)
        A solution and its multiplier (not scaled).

    Returns
    -------
    ndarray of shape (n_iter + 1,)

    Raises
    ------
    ValueError
        If the iterates were not kept, or rho changed on the way.

    Notes
    -----
    Source: Section 16.4, Step 1 of the proof of Theorem 16.1.

    Examples
    --------
    >>> run = admm(lambda v, rho: (v - 1 / rho) / 2, lambda v, rho: -rho * v / (rho + 2),
    ...            A=2, B=-1, c=0, keep_iterates=True)
    >>> V = lyapunov(run.history, -1, z_star=[-0.5], lambda_star=[-1.0])
    >>> bool(np.all(np.diff(V) <= 0)), V[:3].round(4).tolist()
    (True, [1.25, 0.1389, 0.0154])
    """
    rho, z, u = _kept(history)
    B_, _, _ = _linear_map(B, "B")
    z_star = as_vector(z_star, "z_star", z.shape[1])
    lambda_star = as_vector(lambda_star, "lambda_star", u.shape[1])
    return _squares(rho * u - lambda_star) / rho + rho * _squares(B_((z - z_star).T).T)


def convergence_inequalities(
    history: History, A: Any, B: Any, c: Any, *, x_star: Any, z_star: Any, lambda_star: Any, p_star: float
) -> dict[str, np.ndarray]:  # fmt: skip
    r"""Return the slack, at each step, of the inequalities in the proof of Theorem 16.1.

    The slack is the right side minus the left side: a nonnegative entry means that the
    inequality holds at that step.

    Parameters
    ----------
    history : dict of ndarray
        The `history` of a run of :func:`admm` with ``keep_iterates=True``, an `objective`, constant
        rho and ``relaxation=1``.
    A, B, c : as in the run
        The constraint.
    x_star, z_star, lambda_star : array-like of shape (n,), (m,) and (p,)
        A saddle point of the Lagrangian.
    p_star : float
        The optimal value.

    Returns
    -------
    dict of ndarray of shape (n_iter,)
        Entry k belongs to the step from k to k+1. With V as in :func:`lyapunov`, r and s the
        residuals, p the objective:

        - ``"A1"``: :math:`V^{k+1} \le V^k - \rho\|r^{k+1}\|^2 - \rho\|B(z^{k+1} - z^k)\|^2`. The
          text claims it for all k. It can fail at k = 0, because :math:`z^0` need not minimise
          anything; it holds from k = 1 on.
        - ``"A1 from any start"``: :math:`V^{k+1} \le V^k - \rho\|r^{k+1} - B(z^{k+1} - z^k)\|^2`,
          true for all k.
        - ``"A2"``: :math:`p^{k+1} - p^* \le -(\lambda^{k+1})^\top r^{k+1} - \rho\, d^\top (B(z^{k+1} - z^*) - r^{k+1})`
          with :math:`d = B(z^{k+1} - z^k)`.
        - ``"A3"``: :math:`p^* - p^{k+1} \le (\lambda^*)^\top r^{k+1}`.
        - ``"s"``: :math:`p^{k+1} - p^* \le -(\lambda^{k+1})^\top r^{k+1} + (x^{k+1} - x^*)^\top s^{k+1}`.
        - ``"s as printed"``: the same with the text's
          :math:`s^{k+1} = \rho A^\top B(z^{k+1} - z^*)`, which can fail.

    Raises
    ------
    ValueError
        If the history lacks the iterates or the objective, or rho changed on the way.

    Notes
    -----
    Source: Section 16.4, (A1), (A2), (A3), and Section 16.5, (s_1).

    Examples
    --------
    From a bad start the first step of Example 16.4 violates (A1), by 124/9.

    >>> run = admm(lambda v, rho: (v - 1 / rho) / 2, lambda v, rho: -rho * v / (rho + 2),
    ...            A=2, B=-1, c=0, z0=[0.5], u0=[-11.0], keep_iterates=True,
    ...            objective=lambda x, z: 2 * x[0] + z[0] ** 2)
    >>> slack = convergence_inequalities(run.history, 2, -1, 0, x_star=[-0.25], z_star=[-0.5],
    ...                                  lambda_star=[-1.0], p_star=-0.25)
    >>> round(9 * slack["A1"][0]), bool(slack["A1"][1:].min() > -1e-12)
    (-124, True)
    >>> bool(slack["A1 from any start"].min() > -1e-12)
    True
    """
    rho, z, u = _kept(history)
    if not np.isfinite(history["objective"]).all():
        raise ValueError("the history has no objective; run admm(..., objective=...)")
    A_, At, _ = _linear_map(A, "A")
    B_, _, _ = _linear_map(B, "B")
    x, c = history["x"], as_vector(c, "c", u.shape[1])
    dx = x - as_vector(x_star, "x_star", x.shape[1])
    lambda_star = as_vector(lambda_star, "lambda_star", u.shape[1])
    lambda_ = rho * u[1:]

    Bz = B_(z.T).T  # row k belongs to step k
    r = A_(x.T).T + Bz[1:] - c
    step, to_star = np.diff(Bz, axis=0), Bz[1:] - B_(as_vector(z_star, "z_star", z.shape[1]))
    s, s_printed = rho * At(step.T).T, rho * At(to_star.T).T
    V = lyapunov(history, B, z_star, lambda_star)
    above = history["objective"] - as_scalar(p_star, "p_star")
    slope = -_dots(lambda_, r)
    return {
        "A1": V[:-1] - rho * _squares(r) - rho * _squares(step) - V[1:],
        "A1 from any start": V[:-1] - rho * _squares(r - step) - V[1:],
        "A2": slope - rho * _dots(step, to_star - r) - above,
        "A3": r @ lambda_star + above,
        "s": slope + _dots(dx, s) - above,
        "s as printed": slope + _dots(dx, s_printed) - above,
    }


def _linear_map(M: Any, name: str) -> tuple[Apply, Apply, tuple[int, int] | None]:
    """Return v -> M v, y -> M'y and the shape of M (None for a multiple of the identity)."""
    if sparse.issparse(M):
        M = M.tocsr()
        as_array(M.data, name)  # raises an error if an entry is not finite
    else:
        M = as_array(M, name)
        if M.ndim == 0:
            return M.__mul__, M.__mul__, None
        M = as_matrix(M, name)
    return M.__matmul__, M.T.__matmul__, M.shape


def _start(
    c: Any, z0: Any, u0: Any, A_shape: tuple[int, int] | None, B_shape: tuple[int, int] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return c, z^0 and u^0 as vectors whose lengths fit A and B, and the length of x."""
    if A_shape and B_shape and A_shape[0] != B_shape[0]:
        raise ValueError(f"A and B must have the same number of rows, got {A_shape}, {B_shape}")
    c, given = as_array(c, "c"), [as_array(v, "z0, u0") for v in (z0, u0) if v is not None]
    p, n = A_shape or B_shape or (max(v.size for v in (c, *given)), 0)
    c = np.full(p, c) if c.ndim == 0 else as_vector(c, "c", p)
    m = B_shape[1] if B_shape else p
    z = as_vector(np.zeros(m) if z0 is None else z0, "z0", m).copy()
    u = as_vector(np.zeros(p) if u0 is None else u0, "u0", p).copy()
    return c, z, u, n if A_shape else p


def _norm(v: np.ndarray) -> float:
    return math.sqrt(v.dot(v))


def _kept(history: History) -> tuple[float, np.ndarray, np.ndarray]:
    """Return rho and the kept iterates z, u of a run with constant rho."""
    check_kind(history, "history", "the history of a run of admm", lambda h: isinstance(h, dict))
    if "z" not in history:
        raise ValueError("the history has no iterates; run admm(..., keep_iterates=True)")
    if np.ptp(history["rho"]) > 0:
        raise ValueError("the penalty rho changed during the run; run admm(..., adaptive=False)")
    return float(history["rho"][0]), history["z"], history["u"]


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)


def _squares(a: np.ndarray) -> np.ndarray:
    return _dots(a, a)
