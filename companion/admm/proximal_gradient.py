r"""Fixed-point iterations: Krasnosel'skii-Mann, proximal point, proximal gradient and its accelerated form.

The minimisers of F = f + g, with f smooth and g simple, are the fixed points of the
forward-backward map

.. math:: x \mapsto \operatorname{prox}_{t g}\bigl( x - t \nabla f(x) \bigr), \qquad t > 0 .

A proximal operator is a callable ``prox(v, t)``, as in :mod:`companion.admm.proximal`.

Source: SP Sections 2.1 and 2.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from companion.admm.proximal import Prox
from companion.admm.splitting import DIVERGED, repeat
from companion.arguments import as_schedule, value_of
from companion.arithmetic import EPS
from companion.checks import as_array, as_scalar
from companion.results import FixedPointResult

Operator = Callable[[np.ndarray], np.ndarray]
Function = Callable[[np.ndarray], float]
Schedule = float | Callable[[int], float]
Update = Callable[[int, np.ndarray], tuple[np.ndarray, float, float, float]]


def krasnoselskii_mann(
    R: Operator, x0: ArrayLike, relaxation: Schedule = 0.5, **loop: Any
) -> FixedPointResult:
    r"""Find a fixed point of a nonexpansive map by averaging.

    .. math:: x_{n+1} = (1 - \lambda_n)\, x_n + \lambda_n R x_n

    Parameters
    ----------
    R : callable
        Nonexpansive map: :math:`\|R x - R y\| \le \|x - y\|`. It keeps the shape of its argument.
    x0 : array-like of any shape
        Starting point.
    relaxation : float or callable
        :math:`\lambda_n \in [0, 1]`: a constant, or a function of ``n = 0, 1, ...``. Convergence
        needs :math:`\sum_n \lambda_n (1 - \lambda_n) = \infty`.
    **loop
        Options of all the iterations of this module: `tol` (1e-8) and `max_iter` (10 000). The run ends as
        diverged once x exceeds 1e10 times ``max(1, ||x0||)`` in norm. The iteration stops when
        ``||R x - x|| <= tol * max(1, ||x||)``: choose a unit in which x is not small beside 1.

    Returns
    -------
    FixedPointResult
        ``history["residual"]`` is :math:`\|R x_n - x_n\|`, ``history["step"]`` is
        :math:`\lambda_n`.

    Warns
    -----
    ConvergenceWarning
        If the residual did not meet the tolerance.

    Notes
    -----
    Source: SP Theorem 2.2. The distance falls to every *fixed point* of R; the notes say to every
    x. The residual never rises, and if p is a fixed point then
    :math:`\|R x_n - x_n\|^2 \sum_{j \le n} \lambda_j (1 - \lambda_j) \le \|x_0 - p\|^2`.

    Examples
    --------
    A rotation by 90 degrees turns for ever; averaged with the identity it spirals into its fixed
    point.

    >>> from companion.admm import krasnoselskii_mann
    >>> result = krasnoselskii_mann(lambda x: x[::-1] * [-1, 1], [1.0, 0.0])
    >>> result.converged, float(abs(result.x).max()) < 1e-7
    (True, True)
    """
    relax = as_schedule(relaxation, "relaxation", at_least=0, at_most=1)

    def update(n: int, x: np.ndarray) -> tuple[np.ndarray, float, float, float]:
        d = value_of(R, "R", x.shape, x) - x
        lambda_n = relax(n)
        return x + lambda_n * d, _length(d), lambda_n, _length(x)

    advice = "R may not be nonexpansive, or the relaxation too close to 0 or 1"
    return _iterate(update, x0, advice, **loop)


def proximal_point(
    prox: Prox, x0: ArrayLike, *, step: Schedule = 1.0, **loop: Any
) -> FixedPointResult:
    r"""Minimise g by the proximal minimisation algorithm.

    .. math:: x^{k+1} = \operatorname{prox}_{t_k g}(x^k)

    This is :func:`proximal_gradient` with f = 0.

    Parameters
    ----------
    prox : callable
        ``prox(v, t)`` of g.
    x0 : array-like of any shape
        Starting point.
    step : float or callable
        :math:`t_k > 0`: a constant, or a function of ``k = 0, 1, ...``; their sum must be infinite.
    **loop
        `objective` (g, recorded in the history) and the options of :func:`krasnoselskii_mann`. Here the iteration
        stops when ``||x^k - x^(k+1)|| / t_k <= tol``; this vector is a subgradient of g at ``x^(k+1)``. Scale g if its
        subgradients are small beside 1.

    Returns
    -------
    FixedPointResult
        ``history["residual"]`` is the norm of that subgradient, ``history["step"]`` is :math:`t_k`.

    Warns
    -----
    ConvergenceWarning
        If the residual did not meet the tolerance.

    Notes
    -----
    Source: SP Theorem 2.3 (all steps 1). For a minimiser :math:`x^*`,
    :math:`g(x^k) - g(x^*) \le \|x^0 - x^*\|^2 / \bigl(4 \sum_{j<k} t_j\bigr)`, with equality for
    some :math:`c |x|`.

    Examples
    --------
    >>> from companion.admm import proximal_point, soft_threshold
    >>> result = proximal_point(soft_threshold, [3.0, -1.5])
    >>> result.x, result.n_iter
    (array([0., 0.]), 4)
    """
    advice = "g may have no minimiser; otherwise a larger step may help"
    return _forward_backward(np.zeros_like, prox, x0, step, None, False, False, advice, **loop)


def proximal_gradient(
    gradient: Operator, prox: Prox, x0: ArrayLike, *, step: Schedule, smooth: Function | None = None, **loop: Any
) -> FixedPointResult:  # fmt: skip
    r"""Minimise f + g, f smooth and convex, g convex with a simple proximal operator.

    .. math:: x^{k+1} = \operatorname{prox}_{t_k g}\bigl( x^k - t_k \nabla f(x^k) \bigr)

    Parameters
    ----------
    gradient : callable
        Gradient of f.
    prox : callable
        ``prox(v, t)`` of g.
    x0 : array-like of any shape
        Starting point.
    step : float or callable
        :math:`t_k > 0`: a constant, or a function of ``k = 0, 1, ...``. With a Lipschitz constant L
        of the gradient a constant step in (0, 2/L) converges. With `smooth` it is the number that
        the line search starts from.
    smooth : callable, optional
        The function f. With it the step is found by backtracking: halved until
        :math:`f(x^{k+1}) \le f(x^k) + \nabla f(x^k)^\top d + \|d\|^2 / (2t)`,
        :math:`d = x^{k+1} - x^k`, and never raised again. L need not be known.
    **loop
        `objective` (f + g, recorded in the history) and the options of :func:`krasnoselskii_mann`. Here the iteration
        stops when ``||x^k - x^(k+1)|| / t <= tol * max(1, ||gradient||)``: scale f and g if their gradients are small
        beside 1.

    Returns
    -------
    FixedPointResult
        ``history["residual"]`` is :math:`\|x^k - x^{k+1}\| / t_k`, ``history["step"]`` is
        :math:`t_k`.

    Raises
    ------
    ValueError
        If no step satisfies the line search: then `gradient` is not the gradient of `smooth`.

    Warns
    -----
    ConvergenceWarning
        If the residual did not meet the tolerance, or the iterates grew without bound (a step of 2/L or more).

    Notes
    -----
    Source: SP Theorem 2.4, which allows steps in (0, 1/L) and does not say that f must be convex
    and F have a minimiser; both are needed. With constant step :math:`t \le 1/L`,
    :math:`F(x^k) - F(x^*) \le \|x^0 - x^*\|^2 / (2 t k)`.

    Examples
    --------
    The lasso ``1/2 |A x - b|^2 + |x|_1`` with A = diag(2, 1), b = (3, 1); the gradient has L = 4.

    >>> import numpy as np
    >>> from companion.admm import proximal_gradient, soft_threshold
    >>> A, b = np.diag([2.0, 1.0]), np.array([3.0, 1.0])
    >>> result = proximal_gradient(lambda x: A.T @ (A @ x - b), soft_threshold, [0, 0], step=1 / 4)
    >>> result.x.round(6)
    array([1.25, 0.  ])
    """
    advice = "a step below 2/L, or smooth= for a line search, may help"
    return _forward_backward(gradient, prox, x0, step, smooth, False, False, advice, **loop)


def accelerated_proximal_gradient(
    gradient: Operator, prox: Prox, x0: ArrayLike, *, step: Schedule, smooth: Function | None = None,
    restart: bool = False, **loop: Any,
) -> FixedPointResult:  # fmt: skip
    r"""Minimise f + g as :func:`proximal_gradient` does, with an extrapolation before each step.

    .. math::
        \omega_k &= k / (k + 3) \\
        y^{k+1} &= x^k + \omega_k (x^k - x^{k-1}) \\
        x^{k+1} &= \operatorname{prox}_{t_k g}\bigl( y^{k+1} - t_k \nabla f(y^{k+1}) \bigr)

    Parameters
    ----------
    gradient, prox, x0, smooth, **loop
        As for :func:`proximal_gradient`; the residual is measured from :math:`y^{k+1}`.
    step : float or callable
        As for :func:`proximal_gradient`, but in (0, 1/L].
    restart : bool
        Whether to start again at k = 0 when the step points against the movement,
        :math:`(y^{k+1} - x^{k+1})^\top (x^{k+1} - x^k) > 0`. It helps where the objective is
        strongly convex near the solution.

    Returns
    -------
    FixedPointResult
        As for :func:`proximal_gradient`. The objective need not fall from one iterate to the next.

    Raises
    ------
    ValueError
        As for :func:`proximal_gradient`.

    Warns
    -----
    ConvergenceWarning
        As for :func:`proximal_gradient`.

    Notes
    -----
    Source: SP Theorem 2.5. With constant step :math:`t \le 1/L` (and without restart)
    :math:`F(x^k) - F(x^*) \le \bigl(2 \|x^0 - x^*\|^2 / t + 3 (F(x^0) - F(x^*))\bigr) / (k + 2)^2`.
    The range must not be widened to 2/L: on a quadratic the method diverges beyond 4/(3L).

    Examples
    --------
    >>> import numpy as np
    >>> from companion.admm import accelerated_proximal_gradient, soft_threshold
    >>> A, b = np.diag([2.0, 1.0]), np.array([3.0, 1.0])
    >>> result = accelerated_proximal_gradient(
    ...     lambda x: A.T @ (A @ x - b), soft_threshold, [0, 0],
    ...     step=1.0, smooth=lambda x: np.sum((A @ x - b) ** 2) / 2, restart=True)
    >>> result.x.round(6)
    array([1.25, 0.  ])
    """
    advice = "a step of at most 1/L, restart=True, or smooth= for a line search may help"
    return _forward_backward(gradient, prox, x0, step, smooth, True, restart, advice, **loop)


def _forward_backward(
    gradient: Operator, prox: Prox, x0: ArrayLike, step: Schedule, smooth: Function | None, accelerated: bool,
    restart: bool, advice: str, **loop: Any,
) -> FixedPointResult:  # fmt: skip
    """Run a proximal gradient method; the update keeps the last point and the last step."""
    last, age, t = as_array(x0, "x0"), 0, 0.0  # age: iterations since the momentum was started
    t_at = as_schedule(step, "step", above=0)

    def update(k: int, x: np.ndarray) -> tuple[np.ndarray, float, float, float]:
        nonlocal last, age, t
        y = x + age / (age + 3) * (x - last)
        g = value_of(gradient, "gradient", x.shape, y)
        if smooth is None or k == 0:
            t = t_at(k)
        if not np.isfinite(y - t * g).all():
            return np.full_like(x, np.nan), np.nan, t, np.nan
        if smooth is not None:
            x_next, t = _line_search(smooth, prox, y, g, t)
        else:
            x_next = value_of(prox, "prox", x.shape, y - t * g, t)
        back = restart and np.vdot(y - x_next, x_next - x) > 0
        age = age + 1 if accelerated and not back else 0
        last = x
        return x_next, _length(y - x_next) / t, t, _length(g)

    return _iterate(update, x0, advice, **loop)


def _line_search(
    smooth: Function, prox: Prox, y: np.ndarray, g: np.ndarray, t: float
) -> tuple[np.ndarray, float]:
    """Halve t until the quadratic upper bound with curvature 1/t holds at the new point."""
    f_y = float(value_of(smooth, "smooth", (), y))
    for _ in range(40):  # at 2^-40 of the step the comparison below is drowned by rounding
        x = value_of(prox, "prox", y.shape, y - t * g, t)
        d, f_x = x - y, float(value_of(smooth, "smooth", (), x))
        bound = f_y + np.vdot(g, d) + np.vdot(d, d) / (2 * t)
        if f_x <= bound + 100 * EPS * (abs(f_y) + abs(f_x)) < np.inf:
            return x, t
        t /= 2
    raise ValueError(
        f"no step down to {t:.1e} decreases smooth as its gradient says: gradient does not belong "
        "to smooth, or smooth is not finite near the iterates"
    )


def _iterate(
    update: Update, x0: ArrayLike, advice: str, *, objective: Function | None = None, tol: float = 1e-8,
    max_iter: int = 10_000,
) -> FixedPointResult:  # fmt: skip
    """Repeat ``x, residual, step, scale = update(k, x)`` until ``residual <= tol * max(1, scale)``."""
    x, tol = as_array(x0, "x0").copy(), as_scalar(tol, "tol", at_least=0)
    bound, value = DIVERGED * max(1.0, _length(x)), np.nan

    def step(k: int) -> tuple[str, tuple[float, ...]]:
        nonlocal x, value
        x_next, residual, t, scale = update(k - 1, x)
        if not _length(x_next) <= bound:  # also when it is NaN
            return "diverged", ()
        x = x_next
        row: tuple[float, ...] = residual, t
        if objective is not None:
            value = float(value_of(objective, "objective", (), x))
            row = (*row, value)
        return "converged" if residual <= tol * max(1.0, scale) else "", row

    status, history = repeat(step, ("residual", "step", "objective"), max_iter, advice)
    n_iter = len(history["step"])
    return FixedPointResult(x, value, status=status, n_iter=n_iter, history=history)


def _length(x: np.ndarray) -> float:
    return float(np.linalg.norm(x))
