"""Guesses of the active set: libsvm's for the dual of a kernel machine, PIQP's or ADMM's for any quadratic program.

scikit-learn's classes check the data once more, which takes eight times as long as libsvm for 100 points. So its
function is called that these classes call, with arguments that releases 1.6 to 1.9 have. Where another release has no
such function, there is no guess, and the program is solved like any other.

The second kind comes from PIQP (BSD licence, wheels for Linux, macOS and Windows, released several times a year), a
proximal interior-point method with a dense and a sparse backend. On programs with 10 to 800 variables it was the
fastest of the candidates. Clarabel (Apache) proves infeasibility, but takes ten times as long for small programs and
twice as long for dense ones. DAQP (MIT) is as fast for few variables, but its active sets grow one variable at a time,
and it needs a positive definite P. HiGHS (MIT) is the choice for linear programs; its quadratic solver is an active-
set method that does not regularise a singular P. PIQP's regularisation takes dependent rows, linear programs and
singular matrices as they come, and interior points lie in the middle of a face of solutions, so that the active set
can be read off. Where it is not installed, as in a browser, the text's ADMM guesses.
"""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from companion.arithmetic import ROUNDING, TINY, Bounds, largest
from companion.engine.certificate import BoxProgram, LowRank
from companion.engine.kkt import factor, factor_diagonal, scales_of

try:
    import piqp
except ImportError:  # there is no wheel for each platform
    piqp = None
if os.environ.get("COMPANION_NO_PIQP"):
    piqp = None

_TOL = 1e-5  # libsvm's default, 1e-3, costs less than the systems that a rough guess leads to
_KINDS = ("C-SVC", "nu-SVC", "one-class", "SVR", "nu-SVR")  # as libsvm numbers them
_AT_BOUND = 1.0 - 1e-9  # libsvm puts multipliers at their bound exactly, but scales them afterwards
_ITERATIONS = 100  # of libsvm per variable; a hard margin that does not exist would have no end
PIQP_ITERATIONS = 100  # for one guess
_CLOSE = 1e-13  # PIQP's tolerance, which is absolute as well: data may be small. The last digits cost 3 of 15 steps
_SPARSE = 0.15  # a smaller share of nonzeros is worth a sparse factorisation
_MANY = 100  # variables from which on one looks for that
_RELAXATION = 1.6  # of ADMM; 1.5 to 1.8 is the usual advice
_EACH = 25  # steps of ADMM from one look at its penalty, and one factored matrix, to the next: an iteration of PIQP
_UNBALANCED = 5.0  # ratio of the residuals from which on the penalty is changed
_ROUGH = 1e-6  # tolerance of ADMM at most: the system that follows costs less than the last digits
_EQUILIBRATIONS = 5  # each takes the root of what is missing; PIQP would make ten
_FREE = 1e-6  # penalty of a variable without bounds: a proximal term


class Guess(NamedTuple):
    """A point near the solution, and the state of each multiplier: -1 at zero, 0 free, 1 at the bound."""

    a: np.ndarray
    state: np.ndarray


def at_bounds(a: np.ndarray, upper: Bounds) -> Guess:
    """Return libsvm's multipliers, those near their bound at it, with their states."""
    a = np.where(a >= _AT_BOUND * upper, upper, a)
    return Guess(a, np.where(a <= 0.0, -1, np.where(a >= upper, 1, 0)))


def guess_machine(
    X: np.ndarray, s: np.ndarray, options: dict[str, Any], *, upper: Bounds, total: float | None,
    balanced: bool, limit: float = math.inf,
) -> Guess | None:  # fmt: skip
    r"""Ask libsvm for the multipliers of a classifier.

    Parameters
    ----------
    X : ndarray
        Points, or a Gram matrix (the signed matrix P, if not balanced).
    s : ndarray of shape (n,)
        Signs of the classes.
    options : dict
        The kernel, as libsvm calls it.
    upper : float or ndarray of shape (n,)
        Bounds of the multipliers, infinite ones only where their sum is given, and different ones only where it is not.
    total : float or None
        Their sum, where the program fixes it; its linear term is -1 otherwise.
    balanced : bool
        Whether the program has the equation :math:`s^\top a = 0`.
    limit : float
        Iterations for each point after which there is no guess.

    Returns
    -------
    Guess or None
        None where libsvm finds nothing.
    """
    if total is None:
        bound = float(np.max(upper))
        a = _asked("C-SVC", X, s, upper, bound, limit, **options, C=bound)
    else:
        # 0 <= a <= 1 and 1'a = nu n; nothing reaches half of the sum if each class has that
        bound = min(float(np.max(upper)), total / (2.0 if balanced else 1.0))
        kind = "nu-SVC" if balanced else "one-class"
        a = _asked(kind, X, s, upper, bound, limit, **options, nu=total / (s.size * bound))
    if a is None or not a.any():
        return None
    a = np.abs(a)  # nu-SVC scales by the margin
    return at_bounds(a if total is None else a * (total / float(a.sum())), upper)


def guess_tube(
    X: np.ndarray, y: np.ndarray, options: dict[str, Any], *, upper: Bounds, radius: float, epsilon: float,
    limit: float = math.inf,
) -> np.ndarray | None:  # fmt: skip
    r"""Ask libsvm for the multipliers :math:`\delta` of a regression with a free intercept.

    Parameters
    ----------
    X, y : ndarray
        Points, or a Gram matrix, and values.
    options : dict
        The kernel, as libsvm calls it.
    upper : float or ndarray of shape (m,)
        Bounds of :math:`|\delta_i|`, or infinity; different ones only where the tube is given.
    radius : float
        Bound of the sum of these, or infinity where the tube is given.
    epsilon : float
        Half of the width of the given tube.
    limit : float
        Iterations for each point after which there is no guess.

    Returns
    -------
    ndarray of shape (m,) or None
        None where libsvm finds nothing.
    """
    bound = min(float(np.max(upper)), radius / 2.0)
    kind, program = "SVR", {"C": bound, "epsilon": epsilon}
    if math.isfinite(radius):
        kind, program = "nu-SVR", {"C": bound, "nu": min(radius / (y.size * bound), 1.0)}
    return _asked(
        kind, X, y, upper, bound, limit, **options, **program, tol=3.0 * _TOL * float(np.ptp(y))
    )


def _asked(
    kind: str, X: np.ndarray, y: np.ndarray, upper: Bounds, bound: float, limit: float, tol: float = _TOL,
    **options: Any,
) -> np.ndarray | None:  # fmt: skip
    """Return libsvm's coefficients of the points, None where it finds nothing in time, or is not there."""
    # it leaves out points of weight 0
    weight = np.maximum(upper / bound, ROUNDING) if np.ndim(upper) else np.zeros(0)
    most = int(min(limit * y.size, max(_ITERATIONS * y.size, 10_000)))
    options |= {"max_iter": most, "sample_weight": weight, "tol": tol, "cache_size": 500.0}
    try:
        from sklearn.svm import _libsvm  # not before: pages on ADMM do without

        _libsvm.set_verbosity_wrap(0)
        found = _libsvm.fit(np.ascontiguousarray(X), y, _KINDS.index(kind), **options)
    except (ImportError, TypeError, ValueError):  # of another release; nu at its limit, or w = 0
        return None
    (support, _, _, coef), stopped, a = found[:4], found[-2], np.zeros(y.size)
    a[support] = coef[0]
    return None if (stopped and limit < math.inf) or not np.isfinite(a).all() else a


# -- any quadratic program


def guess_state(program: BoxProgram) -> tuple[np.ndarray, np.ndarray]:
    """Ask PIQP for a point near the solution, and the state of each variable.

    Returns
    -------
    x : ndarray of shape (n,)
    state : ndarray of int8, shape (n,)
        -1 and 1 for a variable at its lower and upper bound, 0 for a free one.

    Examples
    --------
    >>> P, q, one = np.eye(2), np.array([-3.0, -0.5]), np.ones(2)
    >>> guess_state(BoxProgram(P, q, one[None], one[:1], 0 * one, one))[1]
    array([ 1, -1], dtype=int8)
    """
    arrays, n = in_arrays(program), program.q.size
    x, _, z, _, _ = ask(arrays, PIQP_ITERATIONS)
    return x[:n], read_state(arrays, x, z)[:n]


def in_arrays(program: BoxProgram) -> BoxProgram:
    """Return the program in arrays, sparse ones where they are mostly zeros or where P is a `LowRank` matrix.

    Then w = G'x are more variables, with w = G'x as more equations.
    """
    P, q, A, b, lower, upper = program
    n, p = q.size, b.size
    if isinstance(P, LowRank):
        r = P.G.shape[1]
        zero, free = np.zeros(r), np.full(r, np.inf)
        d, k = np.concatenate([P.d, zero + 1.0]), np.arange(n + r + 1)
        return BoxProgram(
            sparse.csc_matrix((d, k[:-1], k)),
            np.concatenate([q, zero]),
            sparse.csc_matrix(np.block([[A, np.zeros((p, r))], [P.G.T, -np.eye(r)]])),
            np.concatenate([b, zero]),
            np.concatenate([lower, -free]),
            np.concatenate([upper, free]),
        )
    if n >= _MANY and sum(map(np.count_nonzero, (P, A))) < _SPARSE * (n + 2 * p) * n:
        return program._replace(P=sparse.csc_matrix(P), A=sparse.csc_matrix(A))
    return program


def ask(arrays: BoxProgram, max_iter: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, str]:
    """Return x, y, the multipliers of the bounds, those of upper ones positive, iterations, and a verdict."""
    return guess_piqp(arrays, max_iter) if piqp else guess_admm(arrays, _EACH * max_iter)


def read_state(arrays: BoxProgram, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return -1 and 1 for variables at their lower and upper bound: the multiplier exceeds the distance."""
    at_lower = (-z > x - arrays.lower) | (arrays.lower == arrays.upper)
    return np.where(at_lower, -1, (z > arrays.upper - x).astype(np.int8))


def guess_piqp(
    program: BoxProgram, max_iter: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, str]:
    """Return x, y and the multipliers of the bounds from PIQP, its number of iterations and what it says."""
    P, q, A, b, lower, upper = program
    is_sparse = sparse.issparse(P)
    solver = piqp.SparseSolver() if is_sparse else piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = _CLOSE
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = _CLOSE
    solver.settings.max_iter, solver.settings.preconditioner_iter = max_iter, _EQUILIBRATIONS
    P = sparse.csc_matrix(P) if is_sparse else P.T
    A = sparse.csc_matrix(A) if is_sparse else np.asfortranarray(A)
    solver.setup(P, q, *((A, b) if b.size else (None, None)), x_l=lower, x_u=upper)
    verdict = {
        piqp.PIQP_PRIMAL_INFEASIBLE: "infeasible",
        piqp.PIQP_DUAL_INFEASIBLE: "unbounded",
        piqp.PIQP_MAX_ITER_REACHED: "max_iter",
    }.get(solver.solve(), "inaccurate")
    r = solver.result
    return r.x, r.y, r.z_bu - r.z_bl, r.info.iter, verdict


def guess_admm(
    program: BoxProgram, max_iter: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, str]:
    """Return the same as `guess_piqp` by the text's ADMM: x in the affine set, z in the box, over-relaxed.

    Rows and columns are scaled first. A matrix is factored for each penalty, which follows the residuals' ratio.
    """
    P, q, A, b, lower, upper = program
    t, r = np.ones(q.size), np.ones(b.size)
    for _ in range(_EQUILIBRATIONS):
        d = scales_of(np.maximum(_peaks(P, 0), _peaks(A, 0)))
        e = scales_of(_peaks(A, 1))
        D, E = sparse.diags(d), sparse.diags(e)
        P, A, t, r = D @ P @ D, E @ A @ D, t * d, r * e
    cost = 1.0 / max(float(_peaks(P, 0).mean()), largest(q * t), TINY)
    P, q, b, lower, upper = P * cost, q * t * cost, b * r, lower / t, upper / t
    bounded = np.isfinite(lower) | np.isfinite(upper)
    # low rank: w = G'x is a variable
    plain = sparse.issparse(P) and P.nnz == np.count_nonzero(P.diagonal())
    free, rho, k = np.arange(q.size), 1.0, 0
    z, u = np.clip(0.0, lower, upper), np.zeros(q.size)
    while k < max_iter:
        weights = np.where(bounded, rho, _FREE)
        diagonal = P.diagonal() + weights
        solve = factor_diagonal(diagonal, A) if plain else factor(P, A, free, weights)
        for _ in range(_EACH):
            k, old = k + 1, z
            xy = solve(np.concatenate([weights * (z - u) - q, b]))
            x = xy[: q.size]
            v = _RELAXATION * x + (1.0 - _RELAXATION) * z + u
            z = np.clip(v, lower, upper)
            u = v - z
        r_size, s_size = largest(x - z), largest(weights * (z - old))
        of_r = max(largest(x), largest(z), TINY)
        of_s = max(largest(P @ x), largest(q), largest(weights * u), TINY)
        r_size, s_size = r_size / of_r, s_size / of_s
        if not max(r_size, s_size) > _ROUGH:
            break
        change = np.sqrt(r_size / max(s_size, TINY))
        if not 1.0 / _UNBALANCED < change < _UNBALANCED:
            change = np.clip(change, 1e-3, 1e3)
            rho, u = rho * change, u / change
    y = xy[q.size :] * r / cost
    return z * t, y, weights * u / (t * cost), k, "max_iter" if k >= max_iter else "inaccurate"


def _peaks(M: Any, axis: int) -> np.ndarray:
    """Return the largest absolute value of each column (axis 0) or row (axis 1)."""
    if 0 in M.shape:
        return np.zeros(M.shape[1 - axis])
    peaks = abs(M).max(axis=axis)
    return np.asarray(peaks.todense() if sparse.issparse(M) else peaks).ravel()
