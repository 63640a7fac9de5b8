"""What each kind of result says, and the form of its problem.

An examination returns the largest relative error that it found. An estimator is examined by the text's program in
the multipliers (or the weights) that it stores, and by its claims: everything that a prediction uses, and the slacks,
are compared with what follows from these multipliers without rounding.
"""

import math
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from flint import arb
from scipy import linalg, sparse

from companion import regression
from companion.admm import L1Penalty, LeastSquaresLoss, LogisticLoss, RidgePenalty, SquaredHingeLoss
from companion.arithmetic import EPS
from companion.engine.certificate import LowRank
from companion.kernels import KernelPCA, as_kernel
from companion.regression import ElasticNet, KernelRidge, Lasso, RidgeRegression
from companion.results import ADMMResult, Certificate, Problem, QPResult
from companion.svm import IndefiniteResult, IndefiniteSVC, SVMs2l, TrainingResult
from companion.svm.soft_margin import SupportVectorMachine
from companion.svr.tube import SupportVectorRegression
from tests.exact.convex import Candidate
from tests.exact.numbers import exact, floats, length, product, ratio, split


@dataclass(frozen=True)
class Verdict:
    """The largest relative error of a result, and the certificate that it carries."""

    worst: float
    stored: Certificate

    @property
    def ok(self) -> bool:
        """Whether the result is what it should be."""
        return self.worst <= self.stored.tolerance

    @property
    def agrees(self) -> bool:
        """Whether the certificate promises no more than is true."""
        return self.ok or not self.stored.ok


def verify(result: Any, X: Any = None, y: Any = None) -> Any:
    """Examine a result, or an estimator with its data; a list for a list and for a path."""
    if isinstance(result, (list, tuple)):
        return [verify(part, X, y) for part in result]
    if getattr(result, "problem", True) is None:
        raise ValueError("the result does not know its problem")
    if isinstance(result, regression.L1Path):
        return _path(result)
    if hasattr(result, "fit"):
        X, y = dense(X), None if y is None else np.asarray(y).ravel()
        return Verdict(examine(result, X, y), result.certificate_)
    result = result.qp if isinstance(result, regression.DualSolution) else result
    with np.errstate(over="ignore", invalid="ignore"):
        return Verdict(examine(result, X, y), result.certificate)


@singledispatch
def examine(result: Any, X: Any, y: Any) -> float:
    """Return the largest relative error of a result."""
    raise TypeError(f"verify knows what the package returns, got {type(result).__name__}")


def dense(M: Any) -> np.ndarray:
    """Return a matrix as an array."""
    return np.atleast_2d(np.asarray(M.toarray() if sparse.issparse(M) else M, dtype=float))


def away(stated: Any, true: Any, size: Any) -> float:
    """Return the largest difference of stated numbers from exact ones, relative to the size of their terms."""
    stated, true, size = np.atleast_1d(stated), np.atleast_1d(true), np.atleast_1d(size)
    if stated.shape != true.shape or not np.isfinite(stated).all():
        return math.inf
    pairs = zip(stated.tolist(), true.tolist(), np.broadcast_to(size, true.shape).tolist())
    return max((ratio(arb(s) - t, z) for s, t, z in pairs), default=0.0)


def told(method: Any, X: np.ndarray) -> Any:
    """Return what a fitted estimator says about its data; nan if it cannot."""
    try:
        return np.ravel(method(X))
    except (ValueError, IndexError):
        return np.nan


def same(stated: Any, true: Any) -> float:
    """Return 0 for equal arrays, and infinity."""
    return 0.0 if np.array_equal(stated, true) else math.inf


def finite(*parts: Any) -> bool:
    """Say whether all numbers of a result are finite."""
    return all(np.isfinite(part).all() for part in parts)


def of_classes(machine: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the signs of the classes, the multipliers and the slacks, in the order of the points."""
    s = np.where(y == np.unique(y)[1], 1.0, -1.0)
    a, slack = np.empty(len(s)), np.zeros(len(s))
    a[s > 0], a[s < 0] = machine.lambda_, machine.mu_
    slack[s > 0], slack[s < 0] = machine.epsilon_, machine.xi_
    return s, a, slack


def of_machine(machine: Any, X: np.ndarray, y: np.ndarray, a: np.ndarray) -> float:
    """Examine what a machine has copied: the classes, the support and the points."""
    copied = same(machine.classes_, np.unique(y)), same(machine.X_fit_, X)
    return max(*copied, same(machine.support_, np.flatnonzero(a)))


class Matrix(NamedTuple):
    """The matrix D (K + G G') D + diag(d) by its parts, or some of them; D = diag(s)."""

    d: Any = 0.0
    K: np.ndarray | None = None
    G: np.ndarray | None = None
    s: Any = 1.0

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return the product with an exact vector."""
        s, total = exact(self.s), exact(np.zeros(len(x)))
        if self.K is not None:
            total = product(self.K, s * x)
        if self.G is not None:
            total = total + product(self.G, product(self.G.T, s * x))
        return s * total + exact(self.d) * x

    def dense(self, n: int) -> np.ndarray:
        """Return the matrix, rounded."""
        total = np.zeros((n, n)) if self.K is None else self.K
        total = total if self.G is None else total + self.G @ self.G.T
        s = np.broadcast_to(self.s, n)
        return np.outer(s, s) * total + np.diag(np.broadcast_to(self.d, n))

    def sizes(self, x: np.ndarray) -> np.ndarray:
        """Return the size of the terms of each entry of that product."""
        size, total = np.abs(floats(x)), 0.0
        if self.K is not None:
            roots = np.sqrt(np.maximum(self.K.diagonal(), 0.0))
            total = np.maximum(np.abs(self.K) @ size, roots * (roots @ size))
        if self.G is not None:
            total = total + np.abs(self.G) @ (np.abs(self.G).T @ size)
        return total + self.d * size


def quadratic(P: Any, q: np.ndarray, x: np.ndarray, **rest: Any) -> Candidate:
    """Return the candidate for a program with the objective 1/2 x'Px + q'x; P may be P x and the size of its terms."""
    Px, sizes = (P.times(x), P.sizes(x)) if isinstance(P, Matrix) else P
    value = abs(sum(x * Px, arb(0))) / 2 + sum(abs(exact(q) * x), arb(0))
    size, A = np.abs(q), np.asarray(rest.get("A", np.zeros((0, len(q)))))
    constants = size + np.abs(A).T @ np.abs(floats(rest.get("y", exact([]))))
    # nothing is small beside a sum P x that ought to vanish
    columns = np.where(constants > 0.0, np.abs(floats(Px)) + size, sizes)
    if not (np.any(floats(rest.get("y", exact([])))) or size @ np.abs(floats(x))):
        value = arb(0.5 * float(np.abs(floats(x)) @ sizes))
    return Candidate(x, Px + exact(q), sizes + size, columns, value, **rest)


@examine.register
def _(result: QPResult, X: Any, y: Any) -> float:
    data = result.problem.data
    q = np.atleast_1d(np.asarray(data["q"], dtype=float))
    is_thin, P = isinstance(data["P"], LowRank), data["P"]
    P = Matrix(P.d, G=P.G) if is_thin else Matrix(K=dense(P))
    z = np.asarray(result.history.get("z", result.x))  # qsolve1 certifies its z
    stated = (z, result.y, result.z_lower, result.z_upper, [result.objective])
    if not finite(*stated):
        return math.inf
    rest = {"y": exact(result.y), "lower": data["lower"], "upper": data["upper"]}
    if data["A"] is not None:
        rest |= {"A": dense(data["A"]), "b": np.atleast_1d(data["b"])}
    at = quadratic(P, q, exact(z), **rest)
    low, high = exact(result.z_lower), exact(result.z_upper)
    off = [ratio(e - l + u, c) for e, l, u, c in zip(at.e, low, high, at.scale)]
    wrong = [ratio(v, c) for v, c in zip(split(low)[1] + split(high)[1], at.scale)]
    products = arb(0)
    for multiplier, bound in ((low, at.lower), (high, at.upper)):
        for j in np.flatnonzero(multiplier != 0):
            far = not np.isfinite(bound[j])
            products += math.inf if far else abs(multiplier[j] * (at.x[j] - bound[j]))
    x = exact(result.x)
    objective = sum(x * (P.times(x) / 2 + exact(q)), arb(0))
    claim = ratio(arb(result.objective) - objective, at.value)
    return max(at.nearby(P.times, P.dense(len(q))), *off, *wrong, ratio(products, at.value), claim)


def has_row(dual: Any, row: Any) -> bool:
    """Say whether a row is among the equations of a program."""
    return bool((row == dual.A).all(axis=1).any())


def kernel_of(estimator: Any, X: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the Gram matrix, or the points if the kernel is linear: then the products are exact, too."""
    kernel = as_kernel(estimator.kernel, **(estimator.kernel_params or {}))
    return (None, X) if kernel.is_linear else (dense(kernel(X)), None)


def same_weights(c: np.ndarray, inner: Any, K: Any, F: Any) -> tuple[Any, Any]:
    """Return the products of the weights with coefficients c and those of the multipliers, which are to be the same.

    Coefficients are not unique where the images depend on each other: large ones that cancel are not stored.
    """
    return floats(Matrix(0.0, K, F).times(exact(c))) if np.isfinite(c).all() else c, inner


@examine.register
def _(machine: SupportVectorMachine, X: Any, y: Any) -> float:
    """Examine a = (lambda, mu) in the dual program, where b and eta are the multipliers of the equations."""
    dual, (K, F) = machine.dual_program(X, y), kernel_of(machine, X)
    s, a, slack = of_classes(machine, y)
    unit = arb(2.0 * getattr(machine, "gamma_", 0.0) or 1.0)
    b, eta, weight = arb(machine.b_), arb(machine.eta_), exact(s * a)
    penalized = not has_row(dual, s)  # b is in the matrix, not in an equation
    ridge = 0.5 / machine.K_ if hasattr(machine, "K_") and np.isinf(dual.upper).all() else 0.0
    one = np.ones((len(s), 1)) if penalized else np.zeros((len(s), 0))
    G = one if F is None else np.column_stack([F, one])
    P = Matrix(ridge, K, G, s)
    levels = [-b * unit] * has_row(dual, s) + [-eta * unit] * has_row(dual, 1.0)
    at = quadratic(
        P, dual.q, exact(a), A=dual.A, b=dual.c, y=np.array(levels, dtype=object), lower=0.0, upper=dual.upper,
    )  # fmt: skip
    sizes = P.sizes(exact(a)) / float(unit) + abs(machine.b_)
    claims = [of_machine(machine, X, y, a)]
    if machine.degenerate_:
        nothing = [machine.b_, machine.norm_, *machine.dual_coef_]
        return max(*claims, at.infeasibility, 0.0 if not np.any(nothing) else math.inf)
    inner = Matrix(0.0, K, F).times(weight) / unit
    off = arb(machine.norm_) ** 2 - sum(weight * inner, arb(0)) / unit
    claims.append(ratio(off, float(a @ sizes) / float(unit)))
    f = inner - b
    if penalized:
        claims.append(away(machine.b_, -sum(weight, arb(0)) / unit, a.sum() / float(unit)))
    if F is not None:  # where b is free, w is summed from the features less their mean
        terms = np.abs(F).T @ a + (0.0 if penalized else np.abs(F.mean(axis=0))) * a.sum()
        claims.append(away(machine.w_, product(F.T, weight) / unit, terms / float(unit)))
    claims.append(away(told(machine.decision_function, X), f, sizes))
    claims.append(away(*same_weights(machine.dual_coef_, inner, K, F), sizes))
    claims.append(away(slack, split(eta - exact(s) * f)[0], sizes + abs(machine.eta_)))
    return max(at.nearby(P.times, P.dense(len(s))), *claims)


@examine.register
def _(machine: SVMs2l, X: Any, y: Any) -> float:
    """Examine w, b, the slacks xi and their multipliers a: min 1'xi with s (B w - b) + xi >= 1."""
    kernel = as_kernel(machine.kernel, **(machine.kernel_params or {}))
    by_weights = machine.w_ is not None
    B = np.asarray(kernel.features(X)) if by_weights else dense(kernel(X))
    stated = machine.w_ if by_weights else machine.dual_coef_
    s, a, slack = of_classes(machine, y)
    w, b, n = exact(stated), arb(machine.b_), len(s)
    f = product(B, w) - b
    beyond = exact(s) * f - 1
    left, xi = split(beyond)
    x = np.concatenate([w, [b], xi, left])
    A = np.column_stack([s[:, None] * B, -s, np.eye(n), -np.eye(n)])
    r = np.r_[np.full(len(w) + 1, -np.inf), np.zeros(2 * n)]
    cost = np.r_[np.zeros(len(w) + 1), np.ones(n), np.zeros(n)]
    value = max(sum(xi, arb(0)), arb(1), key=float)
    at = Candidate(x, exact(cost), cost, cost, value, A, np.ones(n), exact(-a), r)
    sizes = np.abs(B) @ np.abs(stated) + abs(machine.b_) + 1.0
    claims = [of_machine(machine, X, y, a)]
    claims += [away(told(machine.decision_function, X), f, sizes), away(slack, xi, sizes)]
    square = sum(w * w if by_weights else w * (f + b), arb(0))
    total = float(stated @ stated) if by_weights else float(np.abs(stated) @ sizes)
    claims.append(ratio(arb(machine.norm_) ** 2 - square, total))
    return max(at.worst, *claims)


@examine.register
def _(tube: SupportVectorRegression, X: Any, y: Any) -> float:
    """Examine x = (lambda, mu, gamma), where b and epsilon are the multipliers of the equations."""
    dual, (K, F), m = tube.dual_program(X, y), kernel_of(tube, X), len(y)
    balanced, free = has_row(dual, np.repeat([1.0, -1.0], m)), has_row(dual, 1.0)
    total_of_all, penalized = float(dual.c[-1]) if free else np.inf, not balanced
    delta, b = exact(tube.mu_) - exact(tube.lambda_), arb(tube.b_)
    inner = Matrix(0.0, K, F).times(delta)
    bias = sum(delta, arb(0)) if penalized else arb(0)
    ridge = 0.0 if np.isfinite(dual.upper).all() else m / (2 * tube.C_)
    fitted = inner + bias + arb(ridge) * delta
    one = np.ones((m, 1)) if penalized else np.zeros((m, 0))
    P = Matrix(ridge, K, one if F is None else np.column_stack([F, one]))

    def times(x: np.ndarray) -> np.ndarray:
        half = P.times(x[m:-1] - x[:m])
        return np.concatenate([-half, half, [arb(0)]])

    sizes = Matrix(ridge, K, F).sizes(abs(delta)) + abs(float(bias))
    x = np.concatenate([exact(tube.lambda_), exact(tube.mu_), [arb(0)]])
    left = arb(total_of_all) - sum(x, arb(0)) if free else arb(0)
    x[-1] = left if abs(left) > 1e-11 * total_of_all else arb(0)  # rounding of the total is none
    rows = [np.r_[np.ones(m), -np.ones(m), 0.0]] * balanced + [np.ones(2 * m + 1)] * free
    q, Px = np.append(dual.q, 0.0), np.concatenate([-fitted, fitted, [arb(0)]])
    last = sizes.max() + np.abs(dual.q).max()
    at = quadratic(
        (Px, np.r_[sizes, sizes, last]), q, x, A=np.array(rows).reshape(len(rows), 2 * m + 1),
        b=np.array([0.0] * balanced + [total_of_all] * free), y=exact([-tube.b_] * balanced + [tube.epsilon_] * free),
        lower=0.0, upper=np.r_[np.full(2 * m, dual.upper), np.inf],
    )  # fmt: skip
    f, total = inner + b, (sizes + np.abs(y)).max() + abs(tube.b_)
    residual = exact(y) - f
    over, under = (split(side - arb(tube.epsilon_))[0] for side in (residual, -residual))
    claims = [same(tube.support_, np.flatnonzero(delta != 0)), same(tube.X_fit_, X)]
    claims += [away(*same_weights(tube.dual_coef_, inner, K, F), total)]
    claims.append(away(told(tube.predict, X), f, total))
    claims += [away(tube.xi_prime_, over, total), away(tube.xi_, under, total)]
    claims += [away(tube.residuals_, residual, total)]
    if penalized:
        claims.append(away(tube.b_, bias, float(sum(abs(delta), arb(0)))))
    if F is not None:
        claims.append(away(tube.w_, product(F.T, delta), np.abs(F).T @ np.abs(floats(delta))))
    square = sum(delta * inner, arb(0))
    claims.append(ratio(arb(tube.norm_) ** 2 - square, float(np.abs(floats(delta)) @ sizes)))
    difference = np.column_stack([-np.eye(m), np.eye(m), np.zeros(m)])
    return max(at.nearby(times, difference.T @ P.dense(m) @ difference), *claims)


def squares(X: Any, y: Any, w: Any, b: float, K: float, tau: float, C: float | None) -> float:
    r"""Examine ``1/2 |y - Xw - b|^2 + K/2 |w|^2 + tau |w|_1 + C/2 b^2``; there is no b if C is None."""
    none, n = C is None, len(w)
    Z = X if none else np.column_stack([X, np.ones(len(y))])
    d, taus = (np.r_[np.full(n, v), [] if none else last] for v, last in ((K, C), (tau, 0.0)))
    return worst(*smooth_squares(Z, y, exact(w if none else np.append(w, b)), d, taus))


def worst(at: Candidate, *quadratic: Any) -> float:
    """Return the worst of x with the multipliers of the minimum on its support: its gap is all that x has."""
    return max(at.missed, at.beside(*quadratic).worst)


def smooth_squares(
    Z: Any, y: Any, x: Any, d: Any, tau: Any, groups: Any = None
) -> tuple[Candidate, Any, np.ndarray]:
    """Return the candidate for least squares with the penalties d x^2/2 and tau |x|, and its P, exact and rounded."""
    r, size, curve = exact(y) - product(Z, x), np.abs(floats(x)), exact(np.broadcast_to(d, len(x)))
    terms = np.abs(Z).T @ (np.abs(Z) @ size + np.abs(y)) + d * size
    value = sum(r * r, arb(0)) / 2 + sum(curve * x * x, arb(0)) / 2
    labels, tau = np.arange(len(x)) if groups is None else groups, np.broadcast_to(tau, len(x))
    for g in np.unique(labels[tau > 0.0]):
        value += arb(float(tau[labels == g][0])) * length(x[labels == g])
    at = Candidate(x, curve * x - product(Z.T, r), terms, terms, value, tau=tau, groups=groups)
    at.norm = length(exact(y))
    return at, lambda v: product(Z.T, product(Z, v)) + curve * v, Z.T @ Z + np.diag(floats(curve))


def price_of_b(intercept: str, C: float) -> float | None:
    """Return the price of b^2: none for a free b, and None where there is no b."""
    return {"none": None, "free": 0.0, "penalized": float(C)}[intercept]


def linear_claims(model: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray, M: Any = None) -> float:
    """Examine the predictions M w + b and the residuals; M is X, the features, or the Gram matrix."""
    M = X if M is None else M
    fit, sizes = product(M, exact(w)) + arb(model.b_), np.abs(M) @ np.abs(w) + abs(model.b_)
    unused = 0.0 if model.intercept != "none" or model.b_ == 0.0 else math.inf
    left = away(model.xi_, exact(y) - fit, sizes + np.abs(y))
    return max(away(told(model.predict, X), fit, sizes), left, unused)


@examine.register(RidgeRegression)
@examine.register(Lasso)
@examine.register(ElasticNet)
def _(model: Any, X: Any, y: Any) -> float:
    K, tau = (float(getattr(model, name, 0.0)) for name in ("K", "tau"))
    price = price_of_b(model.intercept, getattr(model, "C", K))  # that of ridge regression is K
    claims = [squares(X, y, model.w_, model.b_, K, tau, price)]
    if not isinstance(model, RidgeRegression):
        claims.append(same(model.support_, np.flatnonzero(model.w_)))
    elif K > 0:
        claims.append(away(K * model.alpha_, exact(model.xi_), np.abs(model.xi_).max()))
    return max(*claims, linear_claims(model, X, y, model.w_))


@examine.register
def _(model: KernelRidge, X: Any, y: Any) -> float:
    """Examine the weights of the features, or alpha: (G + K I) alpha + b 1 = y, and 1'alpha = 0 for a free b."""
    K, free = float(model.K), model.intercept == "free"
    seen = same(model.X_fit_, X)
    if model.w_ is not None:
        Phi = np.asarray(model.kernel_.features(X))
        optimum = squares(Phi, y, model.w_, model.b_, K, 0.0, 0.0 if free else None)
        return max(optimum, seen, linear_claims(model, X, y, model.w_, Phi))
    G, alpha = dense(model.kernel_(X)), exact(model.alpha_)
    claims = max(seen, linear_claims(model, X, y, model.alpha_, G))
    if not K:
        return max(claims, squares(G, y, model.alpha_, model.b_, 0.0, 0.0, 0.0 if free else None))
    rows = {"A": np.ones((1, len(y))), "b": np.zeros(1), "y": exact([model.b_])} if free else {}
    return max(claims, quadratic(Matrix(K, G), -y, alpha, **rows).worst)


def _path(path: regression.L1Path) -> list[Verdict]:
    """Examine each point of a lasso path; what the path says of itself is its gaps."""
    data, found = path.problem.data, []
    tolerance, C = max(float(data["tol"]), 1e-9), price_of_b(data["intercept"], data["C"])
    for tau, w, b, gap in zip(path.tau, path.w, path.b, path.gap):
        worst = squares(data["X"], data["y"], w, float(b), float(data["K"]), float(tau), C)
        found.append(Verdict(worst, Certificate(0.0, 0.0, 0.0, float(gap), tolerance)))
    return found


@examine.register
def _(pca: KernelPCA, X: Any, y: Any) -> float:
    """Examine V'V = I and K V = V S for the centred K. That no larger eigenvalue is left is seen in float64."""
    M = pca.kernel_(X)
    V, values = exact(pca.eigenvectors_), exact(pca.eigenvalues_)
    if not finite(pca.eigenvectors_, pca.eigenvalues_):
        return math.inf
    images = product(M, V) - np.outer(product(M, exact(np.ones(len(M)))), sum(V, arb(0)) / len(V))
    images = images - sum(images, arb(0)) / len(images)
    size = float(np.abs(M).max()) * len(M)
    skew = np.abs(floats((product(pca.eigenvectors_.T, V) - np.eye(V.shape[1])).ravel())).max()
    off = max(ratio(sum(t * t, arb(0)).sqrt(), size) for t in (images - V * values).T)
    centred = M - M.mean(axis=0)
    centred = centred - centred.mean(axis=1)[:, None]
    found = (pca.eigenvectors_ * pca.eigenvalues_) @ pca.eigenvectors_.T
    least = pca.eigenvalues_[-1] if pca.n_components == len(values) else 0.0
    better = (linalg.eigvalsh(centred - found)[-1] - least) / pca.eigenvalues_.sum()
    coordinates = exact((pca.eigenvectors_ * np.sqrt(pca.eigenvalues_)).ravel())
    claims = max(same(pca.X_fit_, X), away(told(pca.transform, X), coordinates, math.sqrt(size)))
    return max(skew, off, claims, better if better > 1e-12 * len(M) else 0.0)


@examine.register
def _(result: TrainingResult, X: Any, y: Any) -> float:
    """Examine alpha in the dual program without b, and the stored objectives at w (or at beta)."""
    data = result.problem.data
    s, C, hinge = data["y"], float(data["C"]), data["power"] == 1
    if not finite(result.alpha, result.beta, result.objective, result.dual_objective):
        return math.inf
    alpha, n = exact(result.alpha), len(s)
    if result.w is None:
        K, F, v = dense(data["kernel"](data["X"])), None, exact(result.beta)
    else:
        F = np.asarray(data["kernel"].features(data["X"], limit=np.inf))
        K, v = None, exact(result.w)
    f = product(K if F is None else F, v)
    square = sum(v * (f if F is None else v), arb(0))
    P = Matrix(0.0 if hinge else 0.5 / C, K, F, s)
    at = quadratic(P, -np.ones(n), alpha, lower=0.0, upper=C if hinge else np.inf)
    slack = split(1 - exact(s) * f)[0]
    J = square / 2 + arb(C) * sum(slack ** (1 if hinge else 2), arb(0))
    D = sum(alpha, arb(0)) - sum(alpha * P.times(alpha), arb(0)) / 2
    size = max(float(J), float(sum(abs(alpha), arb(0))))
    claims = [ratio(arb(result.objective) - J, size), ratio(arb(result.dual_objective) - D, size)]
    return max(at.worst, *claims, ratio(J - D, size))


@examine.register
def _(result: IndefiniteResult, X: Any, y: Any) -> float:
    r"""Examine the saddle point (alpha, K) of ``L(a, K) = 1'a - 1/2 z'Kz + rho |K - K0|_F^2``, z = Ya.

    For every K that is positive semidefinite, ``max_a L(a, K)`` is an upper bound of the maximum of f. And for every
    such S, ``1'alpha + rho |K0|^2 - rho |M + S|^2`` with ``M = K0 + z z'/(4 rho)`` is a lower bound of
    ``f(alpha) = min_K L(alpha, K)``. Here K = U U', from the eigenvectors of the matrix that is stored, and S = W W',
    from those of -M: both are positive semidefinite without rounding, and what it does to the bounds is of second
    order.
    """
    data = result.problem.data
    stated = (result.alpha, result.multipliers, result.K, result.objective, result.upper_bound)
    signed = data["y"] * result.alpha
    if not finite(*stated):
        return math.inf
    M = data["K0"] + np.outer(signed, 0.25 / float(data["rho"]) * signed)
    C, rho, s = arb(float(data["C"])), arb(float(data["rho"])), exact(data["y"])
    alpha, a, z, tau = exact(result.alpha), exact(result.multipliers), exact(signed), 1 / (4 * rho)
    U, W, K0 = root((result.K + result.K.T) / 2), root(-M), data["K0"]

    def slope(v: np.ndarray) -> np.ndarray:
        return 1 - s * product(U, product(U.T, s * v))

    squared_K0 = sum(exact(K0.ravel()) ** 2, arb(0))
    constant = rho * (square(U) - 2 * trace(K0, U) + squared_K0)
    w, zz = product(W.T, z), sum(z * z, arb(0))
    far = 2 * tau * sum(z * product(K0, z), arb(0)) + (tau * zz) ** 2 + 2 * trace(K0, W)
    far += 2 * tau * sum(w * w, arb(0)) + square(W)  # |M + S|^2 - |K0|^2
    low = sum(alpha, arb(0)) - rho * far
    excess = largest_sum(slope(a), s, C) - sum(slope(a) * a, arb(0))
    high = (sum(a, arb(0)) + sum(a * slope(a), arb(0))) / 2 + constant
    high += excess if excess > 0 else arb(0)
    size = sum(alpha, arb(0))
    outside = [abs(sum(s * alpha, arb(0))), abs(sum(s * a, arb(0))), *split(alpha)[1], *split(a)[1]]
    outside += [*split(alpha - C)[0], *split(a - C)[0]]
    terms = max(size, constant, key=float)  # the constant rho |K - K0|^2 may be the larger part
    off = ratio(float(np.abs(result.K - U @ U.T).max()), float(np.abs(result.K).max()))
    stored = zip((result.objective, result.upper_bound), (low, high))
    claims = [ratio(arb(stated) - true, terms) for stated, true in stored]
    return max(ratio(max(outside, key=float), size), ratio(high - low, size), off, *claims)


@examine.register
def _(machine: IndefiniteSVC, X: Any, y: Any) -> float:
    """Examine the machine with the proxy kernel, b, and the coefficients of the prediction."""
    classes, K0 = np.unique(y), dense(as_kernel(machine.kernel, **(machine.kernel_params or {}))(X))
    s, K0 = np.where(y == classes[1], 1.0, -1.0), (K0 + K0.T) / 2
    result = IndefiniteResult(
        alpha=machine.alpha_, objective=machine.objective_, upper_bound=machine.objective_ + machine.gap_,
        multipliers=machine.multipliers_, b=machine.b_, n_iter=0, status="", L=0.0,
        K=machine.proxy_kernel_, certificate=machine.certificate_,
        problem=Problem("", {"K0": K0, "y": s, "C": float(machine.C), "rho": float(machine.rho)}),
    )  # fmt: skip
    a, weight = machine.multipliers_, s * machine.multipliers_
    if not finite(machine.alpha_, a, machine.proxy_kernel_):
        return math.inf
    margins = quadratic(
        Matrix(K=machine.proxy_kernel_, s=s), -np.ones(len(s)), exact(a), A=s[None], b=np.zeros(1),
        y=exact([-machine.b_]), lower=0.0, upper=float(machine.C),
    )  # fmt: skip
    z = s * machine.alpha_
    d, V = np.linalg.eigh(K0 + np.outer(z, z) / (4.0 * machine.rho))
    V = V[:, d > 1e-12 * max(d[-1], 0.0)]
    weight = V @ (weight @ V)
    claims = [of_machine(machine, X, y, a)]
    claims += [same(machine.lambda_, a[s > 0]), same(machine.mu_, a[s < 0])]
    claims.append(away(machine.dual_coef_, exact(weight), np.abs(weight).max()))
    f = product(K0, exact(weight)) - arb(machine.b_)
    sizes = np.abs(K0) @ np.abs(weight) + abs(machine.b_)
    claims.append(away(told(machine.decision_function, X), f, sizes))
    return max(examine(result, X, y), margins.worst, *claims)


def root(M: np.ndarray) -> np.ndarray:
    """Return U for which U U' is about the positive part of M: its eigenvectors, times the roots of the eigenvalues."""
    d, V = np.linalg.eigh(M)
    large = d > len(d) * EPS * np.abs(d).max(initial=0.0)  # others have no sign
    return V[:, large] * np.sqrt(d[large])


def trace(K: np.ndarray, U: np.ndarray) -> Any:
    """Return the sum of the products of the entries of K and U U'."""
    V = exact(U)
    return sum((V * product(K, V)).ravel(), arb(0))


def square(U: np.ndarray) -> Any:
    """Return the sum of the squared entries of U U', or U'U."""
    return sum((product(U.T, exact(U)) ** 2).ravel(), arb(0))


def largest_sum(c: np.ndarray, s: np.ndarray, C: Any) -> Any:
    """Return ``max c'v  s.t. s'v = 0, 0 <= v <= C``: pairs of one point of each class, best first, while they gain."""
    blue = sorted((v for v, t in zip(c, s) if t > 0), key=float, reverse=True)
    red = sorted((v for v, t in zip(c, s) if t < 0), key=float, reverse=True)
    return C * sum((u + v for u, v in zip(blue, red) if u + v > 0), arb(0))


@examine.register
def _(result: ADMMResult, X: Any, y: Any) -> float:
    if not finite(result.x, result.z, result.u, result.rho):
        return math.inf
    return L1[result.problem.name](result, **result.problem.data)


def split_off(h: Candidate, result: ADMMResult, F: np.ndarray, c: Any, tau: float) -> float:
    """Examine ``h(x) + tau |z|_1`` with ``F x - z = c``, from the candidate for h alone."""
    k, n = F.shape
    z, none = product(F, h.x) - exact(c), np.zeros(k)
    at = Candidate(
        np.concatenate([h.x, z]), np.concatenate([h.gradient, exact(none)]), np.r_[h.terms, none],
        np.r_[h.columns, none], h.value + arb(tau) * sum(abs(z), arb(0)), np.column_stack([F, -np.eye(k)]),
        c, exact(result.rho * result.u), tau=np.r_[np.zeros(n), np.full(k, tau)], plus=h.plus, norm=h.norm,
    )  # fmt: skip
    largest = (np.abs(F) @ h.size + np.abs(c)).max(initial=math.ulp(0.0))
    return max(at.worst, away(result.z, z, float(largest)))


def least_absolute(result: ADMMResult, A: np.ndarray, b: np.ndarray) -> float:
    """Examine ``min |r|_1`` with ``A x - r = b``."""
    none, columns = np.zeros(A.shape[1]), np.abs(A).sum(axis=0)
    terms = np.abs(A) @ np.abs(result.x) + np.abs(b)  # of a fit of every row
    least = arb(0.0 if result.z.any() else terms.sum())
    nothing = Candidate(exact(result.x), exact(none), none, columns, least)
    return split_off(nothing, result, A, b, 1.0)


def basis_pursuit(result: ADMMResult, A: np.ndarray, b: np.ndarray) -> float:
    """Examine ``min |x|_1`` with ``A x = b``; its multipliers are fitted to ``A'y = -lambda``."""
    norms = np.array([np.linalg.norm(a / (np.abs(a).max() or 1.0)) * np.abs(a).max() for a in A])
    norms = np.where(norms > 0.0, norms, 1.0)
    y = np.linalg.lstsq((A / norms[:, None]).T, -result.rho * result.u)[0] / norms
    x = exact(result.z)
    none = np.zeros(len(x))
    return Candidate(x, exact(none), none, none, sum(abs(x), arb(0)), A, b, exact(y), tau=1.0).worst


def lasso_by_admm(
    result: ADMMResult, X: Any, y: Any, intercept: str, C: float, **prices: float
) -> float:
    """Examine the text's ADMM: b is the best one for the weights."""
    price = price_of_b(intercept, C)
    b = 0.0 if price is None else (y - X @ result.z).sum() / (len(y) + price)
    return squares(X, y, result.z, float(b), C=price, **prices)


def regularized(result: ADMMResult, loss: Any, tau: np.ndarray, label: np.ndarray) -> float:
    """Examine ``l(x) + sum_g tau_g |x_g|`` at z."""
    if isinstance(loss, LogisticLoss):
        return logistic(result, loss.A, tau)
    if not isinstance(loss, LeastSquaresLoss):
        raise ValueError(f"verify does not know {type(loss).__name__}")
    groups = label if len(tau) < len(label) else None
    return worst(*smooth_squares(loss.A, loss.b, exact(result.z), 0.0, tau[label], groups))


def generalized_lasso(result: ADMMResult, A: Any, b: Any, F: np.ndarray, tau: float) -> float:
    """Examine ``1/2 |A x - b|^2 + tau |z|_1`` with ``F x - z = 0``."""
    h, *quadratic = smooth_squares(A, b, exact(result.x), 0.0, 0.0)
    u = result.rho * result.u
    push = product(F.T, exact(u))
    h = replace(h, gradient=h.gradient + push, columns=h.columns + np.abs(F).T @ np.abs(u))
    near = h.beside(*quadratic)
    near = replace(near, gradient=near.gradient - push)
    return max(h.missed, split_off(near, result, F, np.zeros(len(F)), tau))


def logistic(result: ADMMResult, A: np.ndarray, tau: np.ndarray) -> float:
    """Examine ``sum_i log(1 + exp(-a_i'x)) + sum_j tau_j |x_j|`` for rows that carry their label."""
    x = exact(result.z)
    t = product(A, x)
    p = np.array([1 / (1 + v.exp()) for v in t], dtype=object)
    value = sum(((1 + (-v).exp()).log() for v in t), arb(0)) + sum(abs(exact(tau) * x), arb(0))
    likely = np.abs(floats(p))
    terms = np.abs(A).T @ (likely * (1.0 + np.abs(A) @ np.abs(result.z)))
    return Candidate(x, -product(A.T, p), terms, np.abs(A).T @ likely, value, tau=tau).worst


def consensus(result: ADMMResult, losses: list[Any], penalty: Any) -> float:
    """Examine ``sum_i f_i(z) + g(z)`` at z, the copies of z, and the stored objective."""
    if type(penalty) not in (RidgePenalty, L1Penalty):
        raise ValueError(f"verify does not know {type(penalty).__name__}")
    A, z = np.vstack([loss.A for loss in losses]), exact(result.z)
    tau, K = getattr(penalty, "tau", 0.0), getattr(penalty, "K", 0.0)
    if isinstance(losses[0], SquaredHingeLoss):  # whose rows carry their label
        slack = split(1 - product(A, z))[0]
        seen, root = np.array([v > 0 for v in slack]), math.sqrt(2.0 * losses[0].K)
        A, b = root * A[seen], np.full(seen.sum(), root)
    else:
        b = np.concatenate([loss.b for loss in losses])
    at, *quadratic = smooth_squares(A, b, z, K, tau)
    curvature = np.maximum((A * A).sum(axis=0) + K, math.ulp(0.0))
    steps = at.columns / curvature  # of z, for one block alone
    size = max(float(np.abs(result.z).max()), float(steps.max(initial=0.0)))
    copies = [away(x, z, size) for x in np.atleast_2d(result.x)]
    return max(worst(at, *quadratic), *copies, ratio(arb(result.objective) - at.value, at.value))


L1 = {
    "least absolute deviations": least_absolute,
    "basis pursuit": basis_pursuit,
    "lasso by ADMM": lasso_by_admm,
    "regularised loss": regularized,
    "generalized lasso": generalized_lasso,
    "consensus": consensus,
}
