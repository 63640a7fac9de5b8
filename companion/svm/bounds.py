r"""The range of nu for which (SVM_s2') and (SVM_s3) find a hyperplane."""

from __future__ import annotations

from typing import Any

import numpy as np

from companion.arithmetic import largest, linear_program
from companion.checks import as_matrix, check_count
from companion.kernels import as_kernel
from companion.svm.program import Points, make_points

__all__ = ["nu_max", "nu_min"]

_TOUCH = 1e-14  # hulls that miss each other by this part of their size meet up to rounding
_FINER = 1e6  # the unit in which the rest of an equation is looked at again


def nu_max(p: int, q: int) -> float:
    r"""Return :math:`2 \min(p, q)/(p + q)`, the largest nu for which (SVM_s2') has a solution.

    Parameters
    ----------
    p, q : int
        Numbers of blue and red points.

    Notes
    -----
    Source: Section 18.5. For (SVM_s3) the largest nu is 1.

    Examples
    --------
    >>> nu_max(4, 5)
    0.8888888888888888
    """
    p, q = check_count(p, "p"), check_count(q, "q")
    return 2 * min(p, q) / (p + q)


def nu_min(u: Any, v: Any, kernel: Any = "linear", **kernel_params: Any) -> float:
    r"""Return the largest nu for which the optimum of (SVM_s2') and of (SVM_s3) is w = 0.

    It is :math:`1/((p+q)k)` for the value k of the linear program

    .. math:: & \min k \quad \text{subject to} \\
        & \quad \textstyle \sum_i \lambda_i \varphi(u_i) = \sum_j \mu_j \varphi(v_j), \\
        & \quad \textstyle \sum_i \lambda_i = \sum_j \mu_j = \tfrac12, \\
        & \quad 0 \le \lambda_i, \mu_j \le k,

    and 0 if the program has no solution, that is, if a hyperplane separates the classes.

    Parameters
    ----------
    u : array-like of shape (p, d)
        Blue points.
    v : array-like of shape (q, d)
        Red points.
    kernel, **kernel_params
        See :func:`companion.kernels.as_kernel`.

    Returns
    -------
    float
        At most :func:`nu_max`.

    Raises
    ------
    ValueError
        If there is no point of one class.

    Notes
    -----
    Source: made precise here; Sections 18.5, 18.8 and 18.12 observe that a small nu leaves w = 0, eta = 0 as the only
    solution. For (SVM_s1) the optimal value is 0 exactly for K at least
    :math:`1/((p+q)\nu_{\min})`.

    Examples
    --------
    >>> from companion.datasets import nine_points
    >>> data = nine_points()
    >>> round(nu_min(data.u, data.v) * 153, 9)
    58.0
    """
    u, v = as_matrix(u, "u"), as_matrix(v, "v", (None, np.shape(u)[1]))
    if not (len(u) and len(v)):
        raise ValueError(f"u and v must have at least one point each, got {len(u)} and {len(v)}")
    s = np.repeat([1.0, -1.0], [len(u), len(v)])
    points = make_points(np.vstack([u, v]), s, as_kernel(kernel, **kernel_params))
    _, k = smallest_bound(points)
    return 1.0 / (points.n * k)


def smallest_bound(points: Points) -> tuple[np.ndarray, float]:
    r"""Return multipliers of sum 1 with :math:`\sum_i s_i a_i \varphi(x_i) = 0` and s'a = 0, and the largest of them.

    It is as small as it can be, by the linear program of :func:`nu_min`; infinite if there are no such multipliers.
    """
    s, n = points.s, points.n
    nothing = np.zeros(n), np.inf
    F, pivots, _ = points.basis()
    if pivots.size == n:  # independent images: the hulls are disjoint
        return nothing
    F = F - F.mean(axis=0)
    peaks = np.abs(F).max(axis=0)
    F = F[:, peaks > 0.0] / peaks[peaks > 0.0]
    equations = np.vstack([(s[:, None] * F).T, s])
    x, scale = np.zeros(n), 1.0  # a/k, whose sum is to be as large as it can be
    for _ in range(2):
        rest, limits = -(equations @ x), np.column_stack([-x, 1.0 - x])
        answer = linear_program(
            -np.ones(n), A_eq=equations, b_eq=scale * rest, bounds=scale * limits, method="highs-ds"
        )
        if answer.status != 0:
            return nothing
        x = x + answer.x / scale
        if x.sum() < 1.0:  # a multiple would do better, unless there is nothing but rounding
            return nothing
        if max(largest(equations @ x), -x.min(), x.max() - 1.0) <= _TOUCH * x.sum():
            break
        scale = _FINER  # HiGHS lets rows and bounds miss by 1e-7: hulls that near need not meet
    return x / x.sum(), float(x.max() / x.sum())
