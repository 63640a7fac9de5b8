r"""What :func:`companion.certificates.verify` does for each kind of result, in exact arithmetic.

A floating-point number is a fraction whose denominator is a power of two. So a result and the data of its problem are
rational numbers, and their residuals and duality gap can be computed without any rounding. Only square roots (the norms
of the group lasso) and the logistic function are taken to 60 digits.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from fractions import Fraction
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from companion.admm.consensus import LassoObjective, RidgeObjective, SquaredHingeObjective
from companion.admm.low_rank import LowRank
from companion.certificates import Certificate, _as_float
from companion.checks import as_matrix
from companion.engine.certificate import rounding_of
from companion.exact import (
    Vector,
    dot,
    exact,
    floats_of,
    integers_of,
    largest_of,
    product,
    products_of,
    ratio_of,
    root_of,
    sum_of,
    vector_of,
)  # fmt: skip
from companion.kernels.pca import KernelPCA, variance_left
from companion.regression import ElasticNet, KernelRidge, RidgeRegression
from companion.regression.intercept import shift
from companion.regression.lasso import DualSolution, L1Path, L1Regression
from companion.results import ADMMResult, Problem, QPResult
from companion.scaling import exponent_of, largest
from companion.svm import IndefiniteResult, IndefiniteSVC, SVMs2l, TrainingResult
from companion.svm.dual import DualProgram
from companion.svm.estimator import SupportVectorMachine
from companion.svm.points import Points, make_points
from companion.svr.estimator import SupportVectorRegression

__all__ = ["Finding", "examine", "path_findings"]

_EPS = float(np.finfo(float).eps)
_PRECISION = 60  # decimal digits of logarithms
_FLOOR = 1e-5  # part of its largest possible size that a sum which cancels counts with
_SMALL = 1e-4  # a lasso objective is compared with at least this part of its value at w = 0
_FEW = 40  # columns of a linear system that is solved without rounding
_TINY = Fraction(1, 10**5)  # the same for the squares of ridge regression
_ZERO = Fraction(0)
_SUBNORMAL = Fraction(2) ** -1022  # below it, floating-point numbers lose digits


class Finding(NamedTuple):
    """What an examination found: four relative residuals, the stored claim, and what rounding may hide from it."""

    primal: Fraction | float
    dual: Fraction | float
    complementarity: Fraction | float
    gap: Fraction | float
    stored: Certificate
    rounding: float


def _norm(v: np.ndarray) -> float:
    """Return the Euclidean norm of a vector, without underflow."""
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if largest > 0.0 else 0.0


def _quotient(value: float, scale: Fraction) -> float:
    """Return the floating-point quotient, 0 where it cannot be formed."""
    if scale == 0 or not math.isfinite(value):
        return 0.0
    try:
        return float(Fraction(value) / scale)
    except OverflowError:
        return math.inf


def _rational(value: float) -> Fraction:
    """Return a number as a fraction, and 0 for one that overflowed: it serves as a lower bound of a scale."""
    return Fraction(value) if math.isfinite(value) else _ZERO


def _dense(matrix: Any) -> np.ndarray:
    if sparse.issparse(matrix) or hasattr(matrix, "toarray"):
        matrix = matrix.toarray()
    return np.atleast_2d(np.asarray(matrix, dtype=float))


# ----------------------------------------------------------------------------------------------
# Quadratic programs
# ----------------------------------------------------------------------------------------------


class _Factor(NamedTuple):
    """The matrix ``G G' + diag(d)``, known by its factor."""

    G: np.ndarray
    d: np.ndarray

    def times(self, x: Vector) -> Vector:
        return product(self.G, product(self.G.T, x)) + exact(self.d) * x

    def absolute(self, x: np.ndarray) -> np.ndarray:
        return np.abs(self.G) @ (np.abs(self.G).T @ x) + self.d * x

    def diagonal(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self.G, self.G) + self.d


class _Whole(NamedTuple):
    """A matrix, known by its entries."""

    P: np.ndarray

    def times(self, x: Vector) -> Vector:
        return product(self.P, x)

    def absolute(self, x: np.ndarray) -> np.ndarray:
        return np.abs(self.P) @ x

    def diagonal(self) -> np.ndarray:
        return self.P.diagonal()


class _Signed(NamedTuple):
    """The matrix ``Y K Y + r I``, known by K and the labels."""

    K: np.ndarray
    labels: np.ndarray
    ridge: float

    def times(self, x: Vector) -> Vector:
        s = exact(self.labels)
        return s * product(self.K, s * x) + Fraction(self.ridge) * x

    def absolute(self, x: np.ndarray) -> np.ndarray:
        return np.abs(self.K) @ x + self.ridge * x

    def diagonal(self) -> np.ndarray:
        return self.K.diagonal() + self.ridge


Matrix = _Factor | _Whole | _Signed


class _Program(NamedTuple):
    """The program ``min 1/2 x'Px + q'x  s.t. A x = b, lower <= x <= upper``."""

    P: Matrix
    q: np.ndarray
    A: np.ndarray
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class _Pair(NamedTuple):
    """A point and its multipliers."""

    x: Vector
    y: Vector
    z_lower: Vector
    z_upper: Vector


def _residuals(
    program: _Program, pair: _Pair
) -> tuple[Fraction | float, Fraction | float, Fraction | float, Fraction | float, float, Fraction]:
    """Return the four residuals of :func:`companion.certificates.certify_qp`, rounding, and the scale of the gap."""
    P, _, A, _, lower, upper = program
    x, y, z_lower, z_upper = pair
    unit = rounding_of(len(x))
    q, b = exact(program.q), exact(program.b) if program.b.size else vector_of([])
    Px, Aty, miss = P.times(x), product(A.T, y), abs(product(A, x) - b)
    size, dear = np.abs(floats_of(x)), np.abs(floats_of(y))
    roots = np.sqrt(np.maximum(P.diagonal(), 0.0))
    reach, absolute = float(roots @ size), np.abs(A)
    row_terms = np.maximum(absolute @ size, np.abs(program.b))
    own = np.maximum(roots * reach, P.absolute(size)) + np.abs(program.q)
    terms = own + dear @ absolute
    # a multiplier of an equation is a quotient of such terms: it is known up to the rounding of the largest one
    of_rows = np.divide(own, absolute, out=np.zeros_like(absolute), where=absolute > 0.0)
    unsure_rows = of_rows.max(axis=1, initial=0.0) @ absolute
    value = abs(dot(x, Px)) / 2 + dot(abs(q), abs(x))
    gap = dot(abs(y), miss)
    primal = max((ratio_of(m, float(t)) for m, t in zip(miss, row_terms)), default=_ZERO)
    e, illegal, products = Px + q + Aty, exact(np.zeros(len(x))), _ZERO
    for bound, z, sign in ((lower, z_lower, 1), (upper, z_upper, -1)):
        finite = np.isfinite(bound)
        if np.isnan(bound).any() or (sign * bound == np.inf).any():
            return math.inf, math.inf, math.inf, math.inf, 0.0, value
        legal = z.positive() * finite
        e, illegal = e - sign * legal, illegal + abs(z - legal)
        slack = sign * (x - exact(np.where(finite, bound, 0.0))) * finite
        product_ = abs(slack) * legal
        products, gap = max(products, largest_of(product_)), gap + sum_of(product_)
        for j in np.flatnonzero(slack.signs() < 0):
            primal = max(primal, ratio_of(-slack[j], max(size[j], abs(float(bound[j])))))
    scale = np.abs(floats_of(Px)) + np.abs(program.q) + dear @ absolute
    dual: Fraction | float = _ZERO
    large = np.abs(floats_of(e)) > unit * (terms + unsure_rows)
    for v, w, t, counts in zip(abs(e), illegal, scale.tolist(), large):
        seen = v if counts else min(v, _rational(_EPS * t))
        dual = max(dual, ratio_of(max(seen, w), t))
    noise = 0.0
    for j in np.flatnonzero(np.abs(floats_of(e)) > unit * terms):
        end = float(lower[j] if e[j] > 0 else upper[j])
        room = abs(x[j] - Fraction(end)) if math.isfinite(end) else _ZERO
        gap, noise = gap + abs(e[j]) * room, noise + float(terms[j]) * float(room)

    sums = (
        noise
        + reach * reach
        + _as_float(value)
        + float(dear @ (absolute @ size + np.abs(program.b)))
    )
    most = Fraction(_EPS) if gap <= _rational(unit * sums) else math.inf
    unsure = max(_quotient(sums, value), 1.0)
    return (
        primal,
        dual,
        min(ratio_of(products, value), most),
        min(ratio_of(gap, value), most),
        4.0 * _EPS * (x.size + y.size + 8) * unsure,
        value,
    )


def _box(value: Any, n: int) -> np.ndarray:
    return np.broadcast_to(np.asarray(value, dtype=float), (n,))


@singledispatch
def examine(result: Any, X: Any = None, y: Any = None) -> Finding:
    """Recompute the residuals of a result from the data of its problem."""
    raise TypeError(
        "verify knows results of solve_qp, qsolve1, the l1 solvers, consensus, training and solve_indefinite, lasso "
        "paths, dual solutions of lasso and elastic net, fitted estimators of companion.svm, svr and regression, and "
        "KernelPCA; "
        f"got {type(result).__name__}"
    )


@examine.register
def _(result: QPResult, X: Any = None, y: Any = None) -> Finding:
    data = _problem_of(result)
    q = np.atleast_1d(np.asarray(data["q"], dtype=float))
    n = q.size
    P = data["P"]
    matrix = _Factor(P.G, P.d) if isinstance(P, LowRank) else _Whole(_dense(P))
    A = np.zeros((0, n)) if data["A"] is None else _dense(data["A"])
    b = np.zeros(0) if data["b"] is None else np.atleast_1d(np.asarray(data["b"], dtype=float))
    program = _Program(matrix, q, A, b, _box(data["lower"], n), _box(data["upper"], n))
    x = result.history.get("z", result.x)  # qsolve1 certifies its z
    numbers = (x, result.y, result.z_lower, result.z_upper)
    if not all(np.isfinite(v).all() for v in numbers):
        return Finding(math.inf, math.inf, math.inf, math.inf, result.certificate, 0.0)
    multipliers = exact(result.y) if result.y.size else vector_of([])
    pair = _Pair(exact(x), multipliers, exact(result.z_lower), exact(result.z_upper))
    with np.errstate(over="ignore", invalid="ignore"):  # in scales only
        primal, dual, complementarity, gap, rounding, size = _residuals(program, pair)
    if not math.isfinite(result.objective):
        return Finding(primal, dual, complementarity, math.inf, result.certificate, rounding)
    objective = dot(exact(result.x), matrix.times(exact(result.x)) / 2 + exact(q))
    wrong = abs(objective - Fraction(result.objective))
    wrong = _ZERO if wrong < _SUBNORMAL else wrong
    gap = max(gap, _beyond(wrong, size, rounding))
    return Finding(primal, dual, complementarity, gap, result.certificate, rounding)


def _beyond(difference: Fraction, size: Fraction, rounding: float) -> Fraction | float:
    """Return the relative difference of a stored number and the exact one; 0 where rounding explains it."""
    relative = ratio_of(difference, size)
    return relative if relative > rounding else _ZERO


@examine.register
def _(result: DualSolution, X: Any = None, y: Any = None) -> Finding:
    return examine(result.qp)


def _problem_of(result: Any) -> dict[str, Any]:
    if result.problem is None:
        raise ValueError(
            "the result does not know its problem; results of solve_qp, qsolve1, the l1 solvers with a loss of the "
            "package, consensus with blocks in this process, training, solve_indefinite and lasso_path do"
        )
    return result.problem.data


# ----------------------------------------------------------------------------------------------
# Support vector machines and regressions
# ----------------------------------------------------------------------------------------------


def _points_of(estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return an unfitted copy of an estimator that has read the data, and what it read."""
    if X is None or y is None:
        raise TypeError(f"verify needs the data: verify({type(estimator).__name__}, X, y)")
    check_is_fitted(estimator)
    copy = clone(estimator)
    return copy, *copy._read(X, y)


@examine.register
def _(machine: SupportVectorMachine, X: Any = None, y: Any = None) -> Finding:
    r"""Examine a = (lambda, mu) with b, eta and the slacks as the multipliers of the dual program."""
    copy, X, s = _points_of(machine, X, y)
    linear = copy.kernel_.is_linear
    if linear:
        dual = copy._dual(Points(X, s, copy.kernel_, None))
        G = np.column_stack([X, np.ones(len(s))]) if dual.penalize_b else X
        matrix: Matrix = _Factor(G * s[:, None], np.full(len(s), dual.ridge))
    else:
        dual = machine.dual_program(X, y)
        matrix = _Whole(_dense(dual.P))
    n, blue = len(s), s > 0
    a, slack = np.empty(n), np.zeros(n)
    a[blue], a[~blue] = machine.lambda_, machine.mu_
    slack[blue], slack[~blue] = machine.epsilon_, machine.xi_
    gamma = getattr(machine, "gamma_", 0.0)
    unit = 2 * Fraction(gamma) if gamma > 0.0 else Fraction(1)
    b, eta = Fraction(machine.b_) * unit, Fraction(machine.eta_) * unit
    # the rows of A are s' (b is its multiplier) and 1' (eta), where the program has them
    levels = {(True, True): [-b, -eta], (True, False): [-b], (False, True): [-eta]}
    has = (bool((s == dual.A).all(axis=1).any()), bool((dual.A == 1.0).all(axis=1).any()))
    bounded = np.isfinite(dual.upper)
    x, y_ = exact(a), vector_of(levels[has])
    z_upper = exact(slack) * unit if bounded else exact(np.zeros(n))
    gradient = matrix.times(x) + exact(dual.q) + product(dual.A.T, y_) + z_upper
    z_lower = gradient.positive() * (x.signs() == 0)
    program = _Program(matrix, dual.q, dual.A, dual.c, np.zeros(n), np.full(n, dual.upper))
    with np.errstate(over="ignore", invalid="ignore"):  # in scales only
        primal, misfit, complementarity, gap, rounding, _ = _residuals(
            program, _Pair(x, y_, z_lower, z_upper)
        )
    if linear and machine.w_ is not None:
        weights = exact(machine.w_) * unit
        away = largest_of(weights - product((X * s[:, None]).T, x))
        size = float(largest_of(product(np.abs(X).T, x)))
        primal = max(primal, ratio_of(away, size))
    if dual.penalize_b:
        primal = max(primal, ratio_of(abs(b + dot(exact(s), x)), float(sum_of(x))))
        if linear and bounded and not machine.degenerate_:
            gap = max(gap, _miss_with_b(machine, X, s, x, dual))
    stored = machine.certificate_
    return Finding(primal, misfit, complementarity, gap, stored, max(rounding, stored.tolerance))


def _miss_with_b(
    machine: SupportVectorMachine, X: np.ndarray, s: np.ndarray, a: Vector, dual: DualProgram
) -> Fraction | float:
    """Return how far w, b and eta are from the dual optimum, in their own size: ``a'Pa`` of long x is no measure of b.

    It is the gap with the slacks of the points with the multiplier K, or the largest slack of another point.
    """
    w, b, eta = exact(machine.w_), Fraction(machine.b_), Fraction(machine.eta_)
    margin = exact(s) * (product(X, w) - b)
    slack, full = (eta - margin).positive(), exact((a.astype(float) >= dual.upper).astype(float))
    terms = [dot(w, w) / 2, b * b / 2, -Fraction(float(dual.c[-1])) * eta]
    terms.append(Fraction(dual.upper) * dot(full, slack))
    v, balance = product((X * s[:, None]).T, a), dot(exact(s), a)
    size = max(sum_of(abs(t) for t in terms), Fraction(_FLOOR) * sum_of(a) ** 2)
    gap = ratio_of(abs(sum(terms, _ZERO) + (dot(v, v) + balance * balance) / 2), size)
    length = max(largest_of(margin) + abs(eta) + abs(b), Fraction(_FLOOR) * sum_of(a))
    return max(gap, ratio_of(largest_of((1 - full) * slack), length))


@examine.register
def _(machine: SVMs2l, X: Any = None, y: Any = None) -> Finding:
    """Examine the linear program: the weights against the multipliers."""
    copy, X, s = _points_of(machine, X, y)
    points = make_points(X, s, copy.kernel_)
    B = points.gram if machine.w_ is None else points.Phi
    weights = machine.dual_coef_ if machine.w_ is None else machine.w_
    signed = np.asarray(B) * s[:, None]
    n, blue = len(s), s > 0
    a = np.empty(n)
    a[blue], a[~blue] = machine.lambda_, machine.mu_
    inner = product(signed, exact(weights)) - exact(s) * Fraction(machine.b_)
    slack = (1 - inner).positive()
    attained, value = sum_of(slack), sum_of(exact(a))
    x, stored = exact(a), machine.certificate_
    outside = max(max(-v, v - 1, _ZERO) for v in x)
    balance = max(
        float(ratio_of(abs(dot(exact(s), x)), max(float(value), 1.0))),
        *(float(ratio_of(abs(v), max(float(size), 1e-300)))
          for v, size in zip(product(signed.T, x), np.abs(signed).T @ a)),
    )  # fmt: skip
    largest = 1.0 + float(np.abs(inner.astype(float)).max())
    scale = max(float(attained), 1.0)
    products = largest_of(x * (inner + slack - 1))
    return Finding(
        outside,
        max(balance, float(outside)),
        ratio_of(products, largest),
        ratio_of(abs(attained - value), scale),
        stored,
        stored.tolerance,
    )


@examine.register
def _(machine: SupportVectorRegression, X: Any = None, y: Any = None) -> Finding:
    r"""Examine x = (lambda, mu, gamma) with b, epsilon and the slacks as the multipliers of the dual program."""
    copy, X, values = _points_of(machine, X, y)
    m = len(values)
    linear = copy.kernel_.is_linear
    if linear:
        G = np.column_stack([X, np.ones(m)]) if copy._penalized_b else X
        program = copy._program(Points(X, np.ones(m), copy.kernel_, None), values)
        ridge = program.K.ridge
        d = np.r_[np.full(2 * m, ridge), 0.0]
        matrix: Matrix = _Factor(np.vstack([-G, G, np.zeros((1, G.shape[1]))]), d)
        q = np.concatenate([program.epsilon + values, program.epsilon - values])
        upper, total, balanced = program.upper, program.radius, program.balanced
    else:
        dual = machine.dual_program(X, y)
        matrix = _Whole(np.pad(dual.P, (0, 1)))
        q, upper, total, balanced = dual.q, dual.upper, dual.total, dual.balanced
    one, free = np.ones(m), np.isfinite(total)
    rows = [np.r_[one, -one, 0.0]] * balanced + [np.ones(2 * m + 1)] * bool(free)
    c = [0.0] * balanced + [total] * bool(free)
    levels = [-machine.b_] * balanced + [machine.epsilon_] * bool(free)

    x = exact(np.r_[machine.lambda_, machine.mu_, 0.0])
    if free:
        left = Fraction(total) - sum_of(x)  # gamma; what is only rounding of the total is none
        left = left if abs(left) > Fraction(1e-11 * total) else _ZERO
        x = vector_of([*x[:-1], left])
    slack = np.r_[machine.xi_, machine.xi_prime_, 0.0]
    z_upper = exact(slack if np.isfinite(upper) else 0.0 * slack)
    y_ = exact(levels) if levels else vector_of([])
    A = np.array(rows).reshape(len(rows), 2 * m + 1)
    q = np.append(q, 0.0)
    gradient = matrix.times(x) + exact(q) + product(A.T, y_) + z_upper
    z_lower = gradient.positive() * (x.signs() <= 0)
    box = np.r_[np.full(2 * m, upper), np.inf]
    whole = _Program(matrix, q, A, np.array(c), np.zeros(2 * m + 1), box)
    with np.errstate(over="ignore", invalid="ignore"):  # in scales only
        primal, misfit, complementarity, gap, rounding, _ = _residuals(
            whole, _Pair(x, y_, z_lower, z_upper)
        )
    delta = x[m:-1] - x[:m]
    if linear and machine.w_ is not None:
        away = largest_of(exact(machine.w_) - product(X.T, delta))
        primal = max(primal, ratio_of(away, float(largest_of(product(np.abs(X).T, abs(delta))))))
    if copy._penalized_b:
        away = abs(Fraction(machine.b_) - sum_of(delta))
        primal = max(primal, ratio_of(away, float(sum_of(abs(delta)))))
    stored = machine.certificate_
    return Finding(primal, misfit, complementarity, gap, stored, max(rounding, stored.tolerance))


# ----------------------------------------------------------------------------------------------
# Ridge regression, lasso, elastic net
# ----------------------------------------------------------------------------------------------


def _read_regression(model: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    if X is None or y is None:
        raise TypeError(f"verify needs the data: verify({type(model).__name__}, X, y)")
    check_is_fitted(model)
    return _dense(X), np.asarray(y, dtype=float).ravel()


def _centred(v: Vector) -> Vector:
    return v - sum_of(v) / len(v)


@examine.register
def _(model: RidgeRegression, X: Any = None, y: Any = None) -> Finding:
    X, y = _read_regression(model, X, y)
    finding = _squares(X, y, float(model.K), model.intercept, exact(model.w_), model)
    away = largest_of(exact(model.xi_) - _residual(X, y, exact(model.w_), model.b_))
    size = float(np.abs(y).max() + (np.abs(X) @ np.abs(model.w_)).max() + abs(model.b_))
    return finding._replace(primal=ratio_of(away, size))


def _residual(X: np.ndarray, y: np.ndarray, w: Vector, b: float) -> Vector:
    return exact(y) - product(X, w) - Fraction(float(b))


def _squares(
    X: np.ndarray,
    y: np.ndarray,
    K_: float,
    intercept: str,
    w: Vector,
    model: Any,
    C_: float | None = None,
) -> Finding:
    r"""Examine ``|xi|^2 + K |w|^2 [+ C b^2]`` with the dual point alpha = xi / K.

    Its sum is made 0 when b is free. C is K if it is not given.
    """
    K, b = Fraction(K_), Fraction(model.b_)
    C = K if C_ is None else Fraction(C_)
    xi = _residual(X, y, w, model.b_)
    target = exact(y)
    value = dot(xi, xi) + K * dot(w, w) + (C * b * b if intercept == "penalized" else 0)
    size = max(root_of(dot(xi, xi)), _TINY * root_of(dot(target, target)))
    unit = exponent_of(largest(X))
    near = np.ldexp(X, -unit)
    columns = [
        root_of(Fraction(float(v))) * Fraction(2) ** unit for v in np.einsum("ij,ij->j", near, near)
    ]
    misfit = K * w - product(X.T, xi)
    dual = max(
        (ratio_of(abs(g), c * size + K * abs(v)) for g, c, v in zip(misfit, columns, w)),
        default=_ZERO,
    )
    total = sum_of(xi) - (C * b if intercept == "penalized" else 0)
    if intercept != "none":
        edge = root_of(Fraction(len(y))) * size + (C * abs(b) if intercept == "penalized" else 0)
        dual = max(dual, ratio_of(abs(total), edge))
    if K > 0:
        point = _centred(xi) if intercept == "free" else xi
        Xp = product(X.T, point)
        bound = 2 * dot(point, target) - dot(point, point) - dot(Xp, Xp) / K
        bound -= sum_of(point) ** 2 / C if intercept == "penalized" else 0
        gap = value - bound
    else:
        paid = C * b * b if intercept == "penalized" else 0
        gap = 2 * abs(dot(xi, target - xi) - paid)
    scale = max(value, _TINY**2 * dot(target, target), _TINY * dot(target, target))
    stored = model.certificate_
    if K > 0 and gap > scale * Fraction(stored.tolerance) and X.shape[1] <= _FEW:
        edges = [] if intercept == "none" else [-total]
        gap = _excess(X, K, C, intercept, vector_of([*misfit, *edges]))
    return Finding(_ZERO, dual, _ZERO, ratio_of(gap, scale), stored, stored.tolerance)


def _excess(X: np.ndarray, K: Fraction, C: Fraction, intercept: str, g: Vector) -> Fraction:
    r"""Return by how much w and b miss the minimum: :math:`g^\top M^{-1} g`, half of gradient and Hessian."""
    Z = X if intercept == "none" else np.column_stack([X, np.ones(len(X))])
    n = Z.shape[1]
    rows = np.array([[*product(Z.T, exact(Z[:, j]))] for j in range(n)], dtype=object)
    for j in range(n):
        rows[j, j] += K if j < X.shape[1] else C if intercept == "penalized" else 0
    rest, excess = list(g), _ZERO
    for j in range(n):  # elimination without pivots: M is positive definite
        pivot = rows[j, j]
        excess += rest[j] * rest[j] / pivot
        for i in range(j + 1, n):
            factor = rows[i, j] / pivot
            rows[i, j:] -= factor * rows[j, j:]
            rest[i] -= factor * rest[j]
    return excess


@examine.register
def _(model: KernelRidge, X: Any = None, y: Any = None) -> Finding:
    X, y = _read_regression(model, X, y)
    if model.w_ is not None:
        Phi = np.asarray(model.kernel_.features(X))
        return _squares(Phi, y, float(model.K), model.intercept, exact(model.w_), model)
    G, K, free = model.kernel_(X), Fraction(float(model.K)), model.intercept == "free"
    alpha, target = exact(model.alpha_), exact(y)
    fit = product(G, alpha)
    xi = target - fit - Fraction(model.b_)
    value = dot(xi, xi) + K * dot(alpha, fit)
    point = _centred(xi) if free else xi
    y_square = dot(target, target)
    f = fit + Fraction(model.b_)
    size = max(root_of(dot(xi, xi)), root_of(dot(f, f)))
    if K > 0:
        away = xi - K * alpha
        dual = ratio_of(root_of(dot(away, away)), size)
        gap = value - (
            2 * dot(point, target) - dot(point, point) - dot(point, product(G, point)) / K
        )
    else:
        slope = product(G, point)
        dual = ratio_of(root_of(dot(slope, slope)), float(np.linalg.norm(G)) * float(size))
        gap = 2 * abs(dot(xi, target - xi))
    total = abs(sum_of(alpha)) if free else _ZERO
    weight = root_of(dot(alpha, alpha) * len(y))
    stored = model.certificate_
    return Finding(
        ratio_of(total, weight),
        dual,
        _ZERO,
        ratio_of(abs(gap), max(value, _TINY * y_square)),
        stored,
        stored.tolerance,
    )


@examine.register
def _(model: KernelPCA, X: Any = None, y: Any = None) -> Finding:
    r"""Examine :math:`V^\top V = I` and :math:`\widehat{\mathbf K} V = V \Sigma^2`.

    K is the floating-point kernel matrix; where the fit uses explicit features, it is the exact product of these.
    That no larger eigenvalue is left is seen in float64, with a bound of the rounding.
    """
    if X is None:
        raise TypeError("verify needs the data: verify(KernelPCA, X)")
    check_is_fitted(model)
    X = as_matrix(X, "X")
    by_features = model._directions is not None
    M = _dense(model.kernel_.features(X) if by_features else model.kernel_(X))
    columns = [exact(v) for v in model.eigenvectors_.T]
    values = [Fraction(float(v)) for v in model.eigenvalues_]
    V = model.eigenvectors_
    skew = max(
        abs(part - (j == k))
        for k, column in enumerate(products_of(V.T, columns))
        for j, part in enumerate(column)
    )
    images = [_centred(v) for v in columns]
    images = products_of(M, products_of(M.T, images) if by_features else images)
    away = [_centred(image) - value * v for image, value, v in zip(images, values, columns)]
    off = max(root_of(dot(v, v)) for v in away)
    unit = exponent_of(largest(M))
    rest = np.ldexp(M - M.mean(axis=0), -unit)
    if by_features:
        rest, unit = rest @ rest.T, 2 * unit
    else:
        rest -= rest.mean(axis=1)[:, None]
    small = np.ldexp(model.eigenvalues_, -unit)
    left = float(linalg.eigvalsh(rest - (V * small) @ V.T)[-1])
    gap = variance_left(small, left, model.n_components == len(values))
    stored = model.certificate_
    return Finding(skew, ratio_of(off, values[0]), _ZERO, gap, stored, stored.tolerance)


@examine.register
def _(model: L1Regression, X: Any = None, y: Any = None) -> Finding:
    r"""Examine ``1/2 |xi|^2 + K/2 |w|^2 + tau |w|_1 [+ C/2 b^2]`` with a dual point made from the residual.

    The dual function is :math:`\lambda^\top y - \tfrac12 \|\lambda\|^2 - \tfrac1{2K} \|S_\tau(X^\top\lambda)\|^2`,
    minus :math:`(\mathbf 1^\top\lambda)^2/(2C)` where b is penalized. Any lambda (with sum 0 where b is free) gives
    a bound.
    """
    X, y = _read_regression(model, X, y)
    K = float(model.K) if isinstance(model, ElasticNet) else 0.0
    if model.tau == 0:
        return _squares(X, y, K, model.intercept, exact(model.w_), model, float(model.C))
    numbers = (K, float(model.tau), float(model.C), model.b_, model.tau_max_)
    return _l1_regression(X, y, model.w_, numbers, model.intercept, model.certificate_)


def _l1_regression(
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    numbers: tuple[float, float, float, float, float],
    intercept: str,
    stored: Certificate,
) -> Finding:
    K, tau, C, b, tau_max = (Fraction(v) for v in numbers)
    free, penalized = intercept == "free", intercept == "penalized"
    w, target = exact(weights), exact(y)
    xi = _residual(X, y, w, float(b))
    value = (dot(xi, xi) + K * dot(w, w) + (C * b * b if penalized else 0)) / 2
    value += tau * sum_of(abs(w))
    point = _centred(xi) if free else xi
    c = product(X.T, point)
    largest = max(tau_max, _ZERO)
    flat = _centred(target) if free else target
    scale = max(value, Fraction(_SMALL) * dot(flat, flat) / 2)
    steepest = largest_of(c)
    scaled = tau / steepest if steepest > tau else Fraction(1)
    gap = min(  # the residual itself, where its excess is finite; and scaled, so that it has none
        value - _l1_bound(point, target, c, theta, K, tau, C if penalized else None)
        for theta in {scaled, Fraction(1)}
        if K > 0 or theta == scaled
    )
    if free:
        gap = max(gap - len(y) * (2 * Fraction(_EPS) * b) ** 2, _ZERO)  # what rounding b costs
    slope = c - K * w
    excess = largest_of(slope) - tau
    reference = max(tau, Fraction(_SMALL) * largest)
    products = largest_of(tau * abs(w) - w * slope)
    spread = sum_of(abs(xi)) + len(y) * _SMALL * abs(b)
    balance = abs(sum_of(xi)) if free else abs(sum_of(xi) - C * b) if penalized else _ZERO
    spread = max(float(spread), 1e-6 * float(np.abs(y).sum()))
    return Finding(
        ratio_of(balance, spread),
        ratio_of(max(excess, _ZERO), reference),
        ratio_of(products, scale),
        ratio_of(abs(gap), scale),
        stored,
        stored.tolerance,
    )


def path_findings(path: L1Path) -> list[Finding]:
    """Examine each point of a lasso path. What the path says of itself is its gaps."""
    data = _problem_of(path)
    tolerance = max(float(data["tol"]), 1e-9)
    found = []
    for tau, w, b, gap in zip(path.tau, path.w, path.b, path.gap):
        numbers = (float(data["K"]), float(tau), float(data["C"]), float(b), path.tau_max)
        stored = Certificate(tolerance, tolerance, tolerance, float(gap), tolerance)
        found.append(_l1_regression(data["X"], data["y"], w, numbers, data["intercept"], stored))
    return found


def _l1_bound(
    point: Vector,
    target: Vector,
    c: Vector,
    theta: Fraction,
    K: Fraction,
    tau: Fraction,
    C: Fraction | None,
) -> Fraction:
    """Return the value of the dual function at theta times the residual, whose correlations are c."""
    bound = theta * dot(point, target) - theta**2 * dot(point, point) / 2
    over = (theta * abs(c) - tau).positive()
    if K > 0:
        bound -= dot(over, over) / (2 * K)
    if C is not None:
        bound -= (theta * sum_of(point)) ** 2 / (2 * C)
    return bound


# ----------------------------------------------------------------------------------------------
# The training algorithms, and indefinite kernels
# ----------------------------------------------------------------------------------------------


@examine.register
def _(result: TrainingResult, X: Any = None, y: Any = None) -> Finding:
    r"""Examine alpha in the dual program, and the stored objective at w (or at beta)."""
    data, stored = _problem_of(result), result.certificate
    labels, C, power = data["y"], float(data["C"]), data["power"]
    numbers = (result.alpha, result.beta, result.objective, result.dual_objective)
    if not all(np.isfinite(v).all() for v in numbers):
        return Finding(math.inf, math.inf, math.inf, math.inf, stored, 0.0)
    alpha, beta = exact(result.alpha), exact(result.beta)
    if result.w is None:
        gram = _dense(result.kernel(result.points))
        matrix: Matrix = _Signed(gram, labels, 0.5 / C if power == 2 else 0.0)
        h = product(gram, beta)
        square = dot(beta, h)
    else:
        F = np.asarray(result.kernel.features(result.points, limit=np.inf))
        matrix = _Factor(F * labels[:, None], np.full(len(F), 0.5 / C if power == 2 else 0.0))
        h, square = product(F, exact(result.w)), dot(exact(result.w), exact(result.w))
    n, upper = len(labels), C if power == 1 else np.inf
    none, gradient = vector_of([]), matrix.times(alpha) - 1
    z_lower = gradient.positive() * (result.alpha == 0.0)
    z_upper = (-gradient).positive() * (result.alpha == upper)
    program = _Program(
        matrix, -np.ones(n), np.zeros((0, n)), np.zeros(0), np.zeros(n), np.full(n, upper)
    )
    primal, dual, complementarity, gap, rounding, _ = _residuals(
        program, _Pair(alpha, none, z_lower, z_upper)
    )
    slack = (1 - exact(labels) * h).positive()
    J = square / 2 + Fraction(C) * sum_of(slack**power)
    D = sum_of(alpha) - dot(alpha, gradient + 1) / 2
    if max(primal, dual, complementarity, gap) <= stored.tolerance:
        gap = max(gap, ratio_of(J - D, max(J, sum_of(abs(alpha)))))
    for claim, value in ((result.objective, J), (result.dual_objective, D)):
        size = max(abs(value), sum_of(abs(alpha)))
        gap = max(gap, _beyond(abs(Fraction(claim) - value), size, stored.tolerance))
    return Finding(primal, dual, complementarity, gap, stored, max(rounding, stored.tolerance))


@examine.register
def _(result: IndefiniteResult, X: Any = None, y: Any = None) -> Finding:
    r"""Examine the saddle point (alpha, K) of ``L(a, K) = 1'a - 1/2 z'Kz + rho |K - K0|_F^2``, z = Ya.

    For every K that is positive semidefinite, ``max_a L(a, K)`` is an upper bound of the maximum of f. And for every
    such S, ``1'alpha + rho |K0|^2 - rho |M + S|^2`` with ``M = K0 + z z'/(4 rho)`` is a lower bound of
    ``f(alpha) = min_K L(alpha, K)``. Here K = U U', from the eigenvectors of the matrix that is stored, and S = W W',
    from those of -M: both are positive semidefinite without rounding, and what it does to the bounds is of second
    order.
    """
    data, stored = _problem_of(result), result.certificate
    K0, C, rho = data["K0"], Fraction(float(data["C"])), Fraction(float(data["rho"]))
    s, tau = exact(data["y"]), 1 / (4 * rho)
    numbers = (result.alpha, result.multipliers, result.K, result.objective, result.upper_bound)
    signed = data["y"] * result.alpha
    with np.errstate(all="ignore"):
        M = K0 + np.outer(signed, 0.25 / float(data["rho"]) * signed)
    if not all(np.isfinite(v).all() for v in (*numbers, M)):
        return Finding(math.inf, math.inf, math.inf, math.inf, stored, 0.0)
    alpha, a, z = exact(result.alpha), exact(result.multipliers), exact(signed)
    U, W = _root_of_psd((result.K + result.K.T) / 2), _root_of_psd(-M)

    def slope(v: Vector) -> Vector:
        return 1 - s * product(U, product(U.T, s * v))

    UU, K0U = _square(U), _trace(K0, U)
    constant = rho * (UU - 2 * K0U + _inner(K0, K0))
    far = 2 * tau * dot(z, product(K0, z)) + (tau * dot(z, z)) ** 2 + 2 * _trace(K0, W)
    Wz = product(W.T, z)
    far += 2 * tau * dot(Wz, Wz) + _square(W)  # |M + S|^2 - |K0|^2
    low = sum_of(alpha) - rho * far
    at_a, at_alpha = slope(a), slope(alpha)
    excess = _largest_on_q1(at_a, s, C) - dot(at_a, a)
    high = (sum_of(a) + dot(a, at_a)) / 2 + max(excess, _ZERO) + constant
    size = sum_of(alpha)
    outside = max(
        abs(dot(s, alpha)), abs(dot(s, a)), *(max(-v, v - C) for v in (*alpha, *a)), _ZERO
    )
    by_gradient = _largest_on_q1(at_alpha, s, C) - dot(at_alpha, alpha)
    gap = ratio_of(max(high - low, _ZERO), size)
    terms = max(size, constant)
    for claim, number in ((result.objective, low), (result.upper_bound, high)):
        wrong = abs(Fraction(claim) - number)
        gap = max(gap, _beyond(wrong, terms, stored.tolerance))
    largest_entry = float(np.abs(result.K).max())
    away = float(np.abs(result.K - U @ U.T).max())
    rounding = len(K0) * _EPS * _as_float(ratio_of(constant, size))
    return Finding(
        max(ratio_of(outside, size), ratio_of(Fraction(away), largest_entry)),
        ratio_of(max(excess, _ZERO), size),
        ratio_of(max(by_gradient, _ZERO), size),
        gap,
        stored,
        max(stored.tolerance, rounding),
    )


@examine.register
def _(machine: IndefiniteSVC, X: Any = None, y: Any = None) -> Finding:
    """Examine the saddle point that the machine was made from."""
    copy, X, s = _points_of(machine, X, y)
    K0 = np.asarray(make_points(X, s, copy.kernel_).gram, dtype=float)
    problem = Problem(
        "indefinite kernel", {"K0": (K0 + K0.T) / 2, "y": s, "C": copy.C, "rho": copy.rho}
    )
    result = IndefiniteResult(
        alpha=machine.alpha_,
        objective=machine.objective_,
        upper_bound=machine.objective_ + machine.gap_,
        multipliers=machine.multipliers_,
        n_iter=machine.n_iter_,
        converged=True,
        status="",
        L=0.0,
        certificate=machine.certificate_,
        K=machine.proxy_kernel_,
        problem=problem,
    )
    return examine(result)


def _root_of_psd(M: np.ndarray) -> np.ndarray:
    """Return U for which U U' is about the positive part of M: its eigenvectors, times the roots of the eigenvalues."""
    d, V = np.linalg.eigh(M)
    large = d > len(d) * _EPS * np.abs(d).max(initial=0.0)  # others have no sign
    return V[:, large] * np.sqrt(d[large])


def _trace(K: np.ndarray, U: np.ndarray) -> Fraction:
    """Return the sum of the products of the entries of K and U U'."""
    columns = [exact(u) for u in U.T]
    return sum_of(map(dot, columns, products_of(K, columns))) if columns else _ZERO


def _square(U: np.ndarray) -> Fraction:
    """Return the sum of the squared entries of U U', or U'U."""
    columns = [exact(u) for u in U.T]
    return sum_of(dot(v, v) for v in products_of(U.T, columns)) if columns else _ZERO


def _inner(A: np.ndarray, B: np.ndarray) -> Fraction:
    """Return the sum of the products of the entries."""
    (M, low), (N, least) = integers_of(A.ravel()), integers_of(B.ravel())
    return int(M @ N) * Fraction(2) ** (low + least)


def _largest_on_q1(c: Vector, s: Vector, C: Fraction) -> Fraction:
    """Return ``max c'v  s.t. s'v = 0, 0 <= v <= C``: pairs of one point of each class, best first, while they gain."""
    blue = sorted((v for v, t in zip(c, s) if t > 0), reverse=True)
    red = sorted((v for v, t in zip(c, s) if t < 0), reverse=True)
    return C * sum_of(max(u + v, _ZERO) for u, v in zip(blue, red))


# ----------------------------------------------------------------------------------------------
# The l1 problems of Section 16.8
# ----------------------------------------------------------------------------------------------


@examine.register
def _(result: ADMMResult, X: Any = None, y: Any = None) -> Finding:
    if result.certificate is None:
        raise ValueError("the result has no certificate to be verified")
    data = _problem_of(result)
    numbers = (result.x, result.z, result.rho * result.u)
    if not all(np.isfinite(v).all() for v in numbers):
        return _l1_finding(result, math.inf, math.inf, math.inf, math.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        return _L1[result.problem.name](result, **data)  # type: ignore[union-attr]


def _multiplier(result: ADMMResult) -> Vector:
    return exact(result.rho * result.u)


def _least_absolute(result: ADMMResult, A: np.ndarray, b: np.ndarray) -> Finding:
    r"""``min |A x - b|_1``; the dual is ``max -b'lambda`` with ``A'lambda = 0``, ``|lambda| <= 1``."""
    x, z, lambda_ = exact(result.x), exact(result.z), _multiplier(result)
    miss = product(A, x) - exact(b)
    value, size = sum_of(abs(miss)), float(np.abs(b).sum() + (np.abs(A) @ np.abs(result.x)).sum())
    total = max(float(value), _FLOOR * size)
    slope = product(A.T, lambda_)
    dual = max(
        largest_of(lambda_) - 1,
        *(ratio_of(abs(v), _norm(a)) for v, a in zip(slope, A.T)),
        _ZERO,
    )
    reach = float(np.abs(b).max() + (np.abs(A) @ np.abs(result.x)).max())
    return _l1_finding(
        result,
        ratio_of(largest_of(miss - z), reach),
        dual,
        ratio_of(largest_of(abs(miss) - lambda_ * miss), total),
        ratio_of(abs(value + dot(exact(b), lambda_)), total),
    )


def _basis_pursuit(result: ADMMResult, A: np.ndarray, b: np.ndarray) -> Finding:
    r"""``min |x|_1, A x = b``; the dual is ``max b'nu`` with ``|A'nu| <= 1``. Here nu fits ``A'nu = lambda``."""
    x, lambda_ = exact(result.z), _multiplier(result)
    norms = np.array([_norm(a) for a in A])
    miss = product(A, x) - exact(b)
    scale = np.abs(b) + norms * _norm(result.z)
    primal = max(ratio_of(abs(m), float(s)) for m, s in zip(miss, scale))
    nu = exact(
        np.linalg.lstsq((A / np.where(norms > 0, norms, 1.0)[:, None]).T, lambda_.astype(float))[0]
    )
    nu = nu / exact(np.where(norms > 0, norms, 1.0))
    slope = product(A.T, nu)
    value = sum_of(abs(x))
    dual = max(largest_of(slope) - 1, largest_of(slope - lambda_), _ZERO)
    return _l1_finding(
        result,
        primal,
        dual,
        ratio_of(largest_of(abs(x) - slope * x), value),
        ratio_of(abs(value - dot(exact(b), nu)), value),
    )


def _lasso(result: ADMMResult, A: np.ndarray, b: np.ndarray, tau: float) -> Finding:
    return _group_lasso(result, A, b, np.arange(A.shape[1]), np.full(A.shape[1], tau))


def _lasso_by_admm(
    result: ADMMResult, X: np.ndarray, y: np.ndarray, K: float, tau: float, C: float, intercept: str
) -> Finding:
    data = shift(X, y, intercept, C)
    tau_max = float(np.abs(data.correlation).max())
    numbers = (K, tau, C, data.intercept(result.z), tau_max)
    assert result.certificate is not None
    return _l1_regression(X, y, result.z, numbers, intercept, result.certificate)


def _group_lasso(
    result: ADMMResult, A: np.ndarray, b: np.ndarray, label: np.ndarray, tau: np.ndarray
) -> Finding:
    r"""``min 1/2 |A x - b|^2 + sum_i tau_i |x_i|``; the dual point is the residual, scaled to ``|A_i'r| <= tau_i``."""
    x, target = exact(result.z), exact(b)
    r = target - product(A, x)
    c, bound = product(A.T, r), exact(tau)
    members = [np.flatnonzero(label == i) for i in range(len(tau))]
    alone = all(len(m) == 1 for m in members)

    def norm(v: Vector, m: np.ndarray) -> Fraction:
        return abs(v[m[0]]) if alone else root_of(dot(v[m], v[m]))

    sizes, slopes = vector_of(norm(x, m) for m in members), vector_of(norm(c, m) for m in members)
    penalty = bound * sizes
    value = dot(r, r) / 2 + sum_of(penalty)
    theta = min([t / s for t, s in zip(bound, slopes) if s > t and t > 0] + [Fraction(1)])
    gap = value - theta * dot(r, target) + theta**2 * dot(r, r) / 2
    total = max(float(value), _FLOOR * float(dot(target, target)) / 2)
    start = product(A.T, target)
    largest = max(float(norm(start, m)) for m in members)
    excess = max(s - t for s, t in zip(slopes, bound))
    # with tau = 0 no scaling makes the residual feasible: there the gap is x'c
    unpenalized = [m for m, t in zip(members, bound) if t == 0]
    if unpenalized:
        gap = abs(sum_of(penalty) - dot(x, c)) + _gain(A, c, np.concatenate(unpenalized))
    products = max(abs(p - dot(x[m], c[m])) for p, m in zip(penalty, members))
    return _l1_finding(
        result,
        _ZERO,
        ratio_of(max(excess, _ZERO), max(float(max(bound)), _SMALL * largest)),
        ratio_of(products, total),
        ratio_of(abs(gap), total),
    )


def _generalized_lasso(
    result: ADMMResult, A: np.ndarray, b: np.ndarray, F: np.ndarray, tau: float
) -> Finding:
    r"""``min 1/2 |A x - b|^2 + tau |F x|_1``, stationary where ``A'(A x - b) + F'lambda = 0``, ``|lambda| <= tau``."""
    x, z, lambda_, t = exact(result.x), exact(result.z), _multiplier(result), Fraction(tau)
    Fx, r = product(F, x), product(A, x) - exact(b)
    size = np.abs(b) + np.abs(A) @ np.abs(result.x)
    value = dot(r, r) / 2 + t * sum_of(abs(Fx))
    total = max(float(value), _FLOOR * float(size @ size) / 2)
    steep, steepest = np.abs(A).T @ size, float(np.abs(F).max(initial=0.0))
    unit = min(tau, float(steep.max()) / steepest) if steepest > 0.0 else 0.0  # of the multipliers
    slope = np.abs(F).T @ np.maximum(np.abs(lambda_.astype(float)), _FLOOR * unit)
    slope = np.maximum(slope, _FLOOR * steep)
    misfit = abs(product(A.T, r) + product(F.T, lambda_))
    noise = sum(A.shape) * _EPS * float(steep.max()) / steepest if steepest > 0.0 else 0.0
    misfit = (
        misfit - exact(noise * np.abs(F).sum(axis=0))
    ).positive()  # A'r, on which lambda rests, is rounded
    over = ratio_of(max(largest_of(lambda_) - t, _ZERO), tau)
    reach = steepest * np.abs(result.x).max()
    length = max((np.abs(F) @ np.abs(result.x)).max(initial=0.0), _FLOOR * reach)
    return _l1_finding(
        result,
        ratio_of(largest_of(Fx - z), float(length)),
        max(max(map(ratio_of, misfit, slope), default=0.0), over),
        ratio_of(max((abs(t * abs(v) - u * v) for u, v in zip(lambda_, Fx)), default=_ZERO), total),
        ratio_of(abs(t * sum_of(abs(Fx)) - dot(lambda_, Fx)), total),
    )


def _logistic(result: ADMMResult, A: np.ndarray, tau: np.ndarray) -> Finding:
    r"""``min sum_i log(1 + exp(-a_i'x)) + sum_j tau_j |x_j|`` for rows that carry their label; to 60 digits."""
    x, bound = exact(result.z), exact(tau)
    with decimal.localcontext() as context:
        context.prec, context.Emax, context.Emin = _PRECISION, 999999, -999999
        t = [decimal.Decimal(v.numerator) / decimal.Decimal(v.denominator) for v in product(A, x)]
        tail = [(-abs(v)).exp() for v in t]  # of the larger of the two probabilities
        loss = [max(-v, decimal.Decimal(0)) + (1 + e).ln() for v, e in zip(t, tail)]
        p = vector_of(Fraction(e / (1 + e) if v >= 0 else 1 / (1 + e)) for v, e in zip(t, tail))
        value = sum_of(Fraction(v) for v in loss) + sum_of(bound * abs(x))
        c = product(A.T, p)
        theta = min([b / abs(v) for v, b in zip(c, bound) if abs(v) > b > 0] + [Fraction(1)])
        entropies = (_entropy(theta * v) for v in p)
        gap = value - sum_of(entropies)
    products = max(abs(t * abs(v) - v * g) for t, v, g in zip(bound, x, c))
    free = bound.signs() == 0
    excess = max(abs(v) - b for v, b in zip(c, bound))
    if free.any():
        weight = np.sqrt([float(v * (1 - v)) for v in p])[:, None]
        gap = abs(sum_of(bound * abs(x)) - dot(x, c)) + _gain(weight * A, c, np.flatnonzero(free))
    start = float(np.abs(A.T @ np.full(len(A), 0.5)).max(initial=0.0))
    total = max(float(value), _FLOOR * len(A) * math.log(2.0))
    return _l1_finding(
        result,
        _ZERO,
        ratio_of(max(excess, _ZERO), max(float(np.max(tau)), _SMALL * start)),
        ratio_of(products, total),
        ratio_of(abs(gap), total),
    )


def _gain(A: np.ndarray, c: Vector, free: np.ndarray) -> Fraction:
    """Return by how much the loss falls, at least, when the best entry without penalty is chosen anew."""
    curvature = np.einsum("ij,ij->j", A[:, free], A[:, free])
    return max(
        (c[j] ** 2 / Fraction(h) / 2 for j, h in zip(free, curvature.tolist()) if h > 0),
        default=_ZERO,
    )


def _entropy(p: Fraction) -> Fraction:
    """Return ``-p log p - (1 - p) log(1 - p)``, in the precision of the context."""
    total = _ZERO
    for part in (p, 1 - p):
        if part > 0:
            number = decimal.Decimal(part.numerator) / decimal.Decimal(part.denominator)
            total -= part * Fraction(number.ln())
    return total


def _l1_finding(
    result: ADMMResult,
    primal: Fraction | float,
    dual: Fraction | float,
    complementarity: Fraction | float,
    gap: Fraction | float,
) -> Finding:
    stored = result.certificate
    assert stored is not None
    return Finding(primal, dual, complementarity, gap, stored, stored.tolerance)


def _consensus(result: ADMMResult, blocks: list[Any], objective: Any) -> Finding:
    r"""``min sum_i f_i(z) + g(z)``: the copies against z, a step of z, and the dual point made from z."""
    if type(objective) not in (RidgeObjective, LassoObjective, SquaredHingeObjective):
        raise ValueError(
            "verify knows RidgeObjective, LassoObjective and SquaredHingeObjective, got a result for "
            f"{type(objective).__name__}"
        )
    parts = [(_dense(A), np.asarray(b, dtype=float).ravel()) for A, b in blocks]
    z = exact(result.z)
    losses, gradients, curvatures = [], [], []
    for A, b in parts:
        inner, target = product(A, z), exact(b)
        if isinstance(objective, SquaredHingeObjective):
            weight = Fraction(objective.K)
            slack = (1 - target * inner).positive()
            losses.append(weight * dot(slack, slack))
            gradients.append(product(A.T, -2 * weight * target * slack))
            curvatures.append(2.0 * objective.K * np.einsum("ij,ij->j", A, A))
        else:
            miss = inner - target
            losses.append(dot(miss, miss) / 2)
            gradients.append(product(A.T, miss))
            curvatures.append(np.einsum("ij,ij->j", A, A))
    loss, gradient = sum_of(losses), sum(gradients, vector_of([_ZERO] * len(z)))
    d = np.mean(curvatures, axis=0)
    d = np.where(d > 0.0, d, d[d > 0.0].mean() if (d > 0.0).any() else 1.0)
    root, t = np.sqrt(d), vector_of(1 / (len(parts) * v) for v in exact(d))
    v = z - t * gradient
    if isinstance(objective, LassoObjective):
        tau, theta = Fraction(objective.tau), Fraction(1)
        moved = vector_of(max(abs(p) - tau * r, _ZERO) * (1 if p > 0 else -1) for p, r in zip(v, t))
        value = loss + tau * sum_of(abs(z))
        if loss > 0:  # the best multiple of the residual that is feasible
            slope, steepest = 2 * loss - dot(z, gradient), largest_of(gradient)
            theta = slope / (2 * loss)
            if abs(theta) * steepest > tau:
                theta = tau / steepest * (1 if theta > 0 else -1)
            bound = theta * slope - theta**2 * loss
        else:
            bound = _ZERO
    else:
        K = Fraction(objective.K) if isinstance(objective, RidgeObjective) else Fraction(1)
        moved = vector_of(p / (1 + K * r) for p, r in zip(v, t))
        value = loss + K * dot(z, z) / 2
        bound = loss - dot(z, gradient) - dot(gradient, gradient) / (2 * K)
    length = max(
        float(np.abs(root * z.astype(float)).max()),
        max(float(np.abs(g.astype(float) / root).max()) for g in gradients),
        1e-6 * math.sqrt(float(abs(value))),
    )
    copies = [largest_of(exact(root) * (exact(x) - z)) for x in np.atleast_2d(result.x)]
    gap = ratio_of(max(value - bound, _ZERO), max(abs(value), abs(bound)))
    wrong = abs(Fraction(result.objective) - value)
    assert result.certificate is not None
    return _l1_finding(
        result,
        ratio_of(max(copies), length),
        ratio_of(largest_of(exact(root) * (z - moved)), length),
        _ZERO,
        max(gap, _beyond(wrong, abs(value), result.certificate.tolerance)),
    )


_L1: dict[str, Callable[..., Finding]] = {
    "least absolute deviations": _least_absolute,
    "basis pursuit": _basis_pursuit,
    "lasso": _lasso,
    "lasso by ADMM": _lasso_by_admm,
    "group lasso": _group_lasso,
    "generalized lasso": _generalized_lasso,
    "logistic regression": _logistic,
    "consensus": _consensus,
}
