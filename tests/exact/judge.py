r"""A judge of fitted machines and regressions that shares no code with them: from the data, without rounding.

It evaluates the text's primal objective at the stored hyperplane, and a lower bound of the optimal value: the dual
function at the stored multipliers, after these are made feasible; for ridge regression the optimum itself. Both are
balls of a thousand bits (`tests.exact.numbers`), and so is the matrix of the kernel.
"""

import math
from typing import Any

import numpy as np
from flint import arb, arb_mat

from tests.exact.numbers import exact, floats, ratio, solve

SHAPES = {  # of exact inner products h and squared distances d
    "linear": lambda h, d: h,
    "poly": lambda h, d: (h + 1) ** 2,
    "gaussian": lambda h, d: (-d / 2).exp(),
}
Judged = tuple[
    Any, Any, Any, Any, Any
]  # primal value, lower bound, size of the terms, f, size of its terms
plus = np.frompyfunc(lambda v: v if v > 0 else arb(0), 1, 1)


def times(A: Any, B: Any) -> np.ndarray:
    """Return the product of two exact matrices, or of a matrix and a vector."""
    right = B if B.ndim == 2 else B[:, None]
    M = arb_mat(A.tolist()) * arb_mat(right.tolist())
    return np.array(M.entries(), dtype=object).reshape(len(A), *B.shape[1:])


def gram(name: str, X: np.ndarray) -> np.ndarray:
    """Return the exact matrix of a kernel; X is that matrix if it is precomputed."""
    if name == "precomputed":
        return exact(X)
    H = times(exact(X), exact(X).T)
    D = H.diagonal()[:, None] + H.diagonal()[None, :] - 2 * H
    return np.frompyfunc(SHAPES[name], 2, 1)(H, D)


def features(name: str, X: np.ndarray) -> np.ndarray | None:
    """Return exact features whose inner products are the kernel, in the package's order; None where it has none."""
    if name not in ("linear", "poly"):
        return None
    E, root, n = exact(X), arb(2).sqrt(), X.shape[1]
    if name == "linear":
        return E
    pairs = [E[:, i] * E[:, j] * (1 if i == j else root) for i in range(n) for j in range(i, n)]
    return np.column_stack([*pairs, E * root, exact(np.ones(len(X)))])


def with_sum(a: np.ndarray, total: Any, upper: np.ndarray | None) -> np.ndarray:
    """Return multipliers in [0, upper] with a given sum that are near those in a."""
    a = plus(a) if upper is None else np.where(a > upper, upper, plus(a))
    now = sum(a, arb(0))
    if upper is None or now >= total:
        return a * (total / now) if now > 0 else a
    some = (
        a > 0 if sum(upper[a > 0], arb(0)) > total else a >= 0
    )  # who is 0 stays so, if others have room
    most = sum(upper[some], arb(0))
    return np.where(some, upper - (upper - a) * ((most - total) / (most - now)), a)


def plane(m: Any, X: np.ndarray) -> tuple[Any, Any, Any, Any, Any]:
    """Return the Gram matrix, the stored coefficients, <w, phi(x)>, |w|^2, and the size of the terms of the former."""
    kernel, w = getattr(m, "kernel", "linear"), getattr(m, "w_", None)
    G = gram(kernel, X)
    M = G if w is None else features(kernel, X)
    c = exact(w) if w is not None else exact(m.alpha_ if hasattr(m, "alpha_") else m.dual_coef_)
    inner = times(M, c)
    return G, c, inner, sum(c * (inner if w is None else c), arb(0)), times(abs(M), abs(c))


def machine(m: Any, X: np.ndarray, y: np.ndarray) -> Judged:
    """Return the values of a machine or a tube: of constraints s (f - t) >= eta - slack, both of a tube."""
    name, n, tube, nu = type(m).__name__, len(y), hasattr(m, "C_"), arb(float(getattr(m, "nu", 0)))
    squared, given = name in ("SVMs4", "SVMs5", "QuadraticNuSVR"), name in ("SVMs2", "EpsilonSVR")
    penalized = name in ("SVMs3", "SVMs5", "NuSVRPenalizedBias")
    G, _, inner, square, reach = plane(m, X)
    unit = square.sqrt() if name == "SVMs1" and square > 0 else arb(1)
    if tube:
        s, t, price, c = np.repeat([-1.0, 1.0], n), exact(y), arb(m.C_) / n, arb(m.C_) * nu
        a, f, eta = exact(np.append(m.lambda_, m.mu_)), inner + arb(m.b_), -arb(m.epsilon_)
    else:
        s, t = np.where(y == m.classes_[1], 1.0, -1.0), exact(np.zeros(n))
        price = exact(np.broadcast_to(m.K_, n))
        a, f, eta = exact(np.zeros(n)), inner - arb(m.b_), arb(float(m.eta_)) / unit
        a[s > 0], a[s < 0] = exact(m.lambda_), exact(m.mu_)
        c = arb(1) if name == "SVMs1" else price[0] * n * nu
    sides, s, k = [s == s] if penalized else [s > 0, s < 0], exact(s), 1 + tube
    price = exact(np.zeros(k * n)) + price
    slack, b = plus(eta - s * np.tile((f - t) / unit, k)), arb(m.b_)
    terms = [sum(price * slack * (slack if squared else 1), arb(0)), b * b / 2 * penalized]
    terms += [arb(0) if given else -c * eta, arb(0) if name == "SVMs1" else square / 2]
    sums = [sum(plus(a[side]), arb(0)) for side in sides]
    share = min(sums) if given else min(*sums, c / len(sides)) if tube else c / len(sides)
    for side in sides:
        a[side] = with_sum(a[side], share, None if squared else price[side])
    z = (s * a).reshape(k, n).sum(axis=0)
    value = sum(z * times(G, z), arb(0)) + penalized * sum(z, arb(0)) * sum(z, arb(0))
    value += squared * sum(a * a / price, arb(0)) / 2
    low = sum(t * z, arb(0)) + given * eta * sum(a, arb(0)) - value / 2
    low = -value.sqrt() if name == "SVMs1" else low
    return sum(terms, arb(0)), low, sum(map(abs, terms), arb(0)), f, reach + abs(b) + abs(t)


def indefinite(m: Any, X: np.ndarray, y: np.ndarray) -> Judged:
    """Return the same for the saddle point of an `IndefiniteSVC` with a given matrix: both bounds are by duality."""
    K0, C, rho, s = (
        exact(X),
        arb(float(m.C)),
        arb(float(m.rho)),
        np.where(y == m.classes_[1], 1.0, -1.0),
    )
    a = exact(np.minimum(m.alpha_, m.C))
    half = min(sum(a[side], arb(0)) for side in (s > 0, s < 0))
    for side in (s > 0, s < 0):
        a[side] = with_sum(a[side], half, C)
    z = exact(s) * a
    M = K0 + np.outer(z, z) / (4 * rho)
    d, V = np.linalg.eigh(floats(M.ravel()).reshape(M.shape))
    up, down = (exact(V * np.sqrt(np.maximum(sign * d, 0.0))) for sign in (1.0, -1.0))
    S, K, square = times(down, down.T), times(up, up.T), lambda A: sum((A * A).ravel(), arb(0))
    beyond, total = plus(np.array([-sum((M * S).ravel(), arb(0))]))[0], sum(a, arb(0))
    f = total + rho * (
        square(K0) - square(M) + (beyond * beyond / square(S) if square(S) > 0 else 0)
    )
    c, price = exact(s * m.multipliers_), rho * square(K - K0)
    h = times(K, c)
    margins, half_square = exact(s) * (h - arb(m.b_)), sum(c * h, arb(0)) / 2
    free = margins[
        m.multipliers_ < m.C
    ]  # with a high price, a longer w is better than the slack of a rounding
    lengths = (arb(1), 1 / min([arb(1), *free]))
    bound = min(
        C * sum(plus(1 - t * margins), arb(0)) + t * t * half_square for t in lengths if t > 0
    )
    return bound + price, f, total, np.zeros(0), np.zeros(0)


def regression(m: Any, X: np.ndarray, y: np.ndarray) -> Judged:
    """Return the same for ridge regression, kernel ridge regression (K > 0), lasso and elastic net (tau > 0)."""
    t, free, n = exact(y), m.intercept == "free", len(y)
    K, tau = arb(float(getattr(m, "K", 0.0))), arb(float(getattr(m, "tau", 0.0)))
    C = arb(float(getattr(m, "C", getattr(m, "K", 0.0))))
    penalized = m.intercept == "penalized"
    G, c, inner, square, reach = plane(m, X)
    b = arb(m.b_)
    xi = t - inner - b
    value = sum(xi * xi, arb(0)) + K * square + C * b * b * penalized
    if hasattr(m, "tau"):
        value, lam = value / 2 + tau * sum(abs(c), arb(0)), exact(m.lambda_)
        lam = lam - sum(lam, arb(0)) / n if free else lam
        over = abs(times(exact(X).T, lam))
        if K == 0:
            lam = lam * min(arb(1), *(tau / v for v in over if v > tau), arb(1))
        total = sum(lam, arb(0)) if penalized else arb(0)
        low = sum(t * lam - lam * lam / 2, arb(0)) - total * total / (2 * C)
        low -= sum(plus(over - tau) ** 2, arb(0)) / (2 * K) if K > 0 else arb(0)
        return value, low, value, inner + b, reach + abs(b)
    M = G + np.diag(exact(np.full(n, 1.0)) * K) + (exact(np.ones((n, n))) if penalized else 0)
    if free:  # (G + K I) alpha + b 1 = y, 1'alpha = 0
        one = exact(np.ones((n, 1)))
        M = np.block([[M, one], [one.T, exact(np.zeros((1, 1)))]])
    alpha = solve(M, np.append(t, exact(np.zeros(1))) if free else t)[:n]
    t = t - sum(t, arb(0)) / n if free else t
    fit = sum(t * t, arb(0)) * arb(
        m.certificate_.tolerance
    )  # a fit that is right to the tolerance, squared
    return (
        value,
        K * sum(t * alpha, arb(0)),
        fit if fit > value else value,
        inner + b,
        reach + abs(b),
    )


def judge(m: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return how far a fitted estimator is from optimal, or its stored values from its own, beside their terms.

    What it predicts may differ from the exact values of its hyperplane by the rounding of their terms only.
    """
    kinds = (("rho", indefinite), ("eta_", machine), ("epsilon_", machine), ("b_", regression))
    value, low, size, f, reach = next(kind for name, kind in kinds if hasattr(m, name))(m, X, y)
    saddle = hasattr(m, "rho")  # its value has a large constant
    stored = [
        (m.objective_ - (low if saddle else value), max(size, abs(value)) if saddle else size)
    ]
    stored += [(m.dual_objective_ - low, size)] if hasattr(m, "dual_objective_") else []
    told = m.decision_function(X) if hasattr(m, "classes_") else m.predict(X)
    rounding = arb(8 * (len(y) + X.shape[1] ** 2)) / 2**53
    wrong = [abs(p - v) > rounding * r for p, v, r in zip(told.tolist(), f, reach)]
    return math.inf if any(wrong) else max(ratio(*pair) for pair in ((value - low, size), *stored))
