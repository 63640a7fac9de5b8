r"""A judge of fitted machines and regressions that shares no code with them: from the data, without rounding.

It evaluates the text's primal objective at the stored hyperplane, and a lower bound of the optimal value: the dual
function at the stored multipliers, after these are made feasible; for ridge regression the optimum itself. Both are
balls of a thousand bits (`tests.exact.numbers`), and so is the matrix of the kernel.
"""

from typing import Any

import numpy as np
from flint import arb, arb_mat

from tests.exact.numbers import exact, solve

SHAPES = {  # of exact inner products h and squared distances d
    "linear": lambda h, d: h,
    "poly": lambda h, d: (h + 1) ** 2,
    "gaussian": lambda h, d: (-d / 2).exp(),
}
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


def with_sum(a: np.ndarray, total: Any, upper: Any) -> np.ndarray:
    """Return multipliers in [0, upper] with a given sum that are near those in a."""
    a = plus(a) if upper is None else upper - plus(upper - plus(a))
    now = sum(a, arb(0))
    if now >= total:
        return a * (total / now) if now > 0 else a
    room = now / total if upper is None else (len(a) * upper - total) / (len(a) * upper - now)
    return a / room if upper is None else upper - (upper - a) * room


def classifier(m: Any, X: np.ndarray, y: np.ndarray) -> tuple[Any, Any, Any, Any]:
    """Return primal value, lower bound, size of the terms and f of a machine with b and, but for s2, eta."""
    name, G, s = type(m).__name__, gram(m.kernel, X), exact(np.where(y == m.classes_[1], 1.0, -1.0))
    beta, n, K = exact(m.dual_coef_), len(y), arb(float(m.K_))
    inner = times(exact(X), exact(m.w_)) if m.kernel == "linear" else times(G, beta)
    square = sum(exact(m.w_) ** 2 if m.kernel == "linear" else beta * inner, arb(0))
    b, eta, blue = arb(m.b_), arb(float(m.eta_)), np.array([v > 0 for v in s])
    Km = arb(1) if name == "SVMs1" else K * n * arb(float(getattr(m, "nu", 0)))
    unit = square.sqrt() if name == "SVMs1" and square > 0 else arb(1)
    f, b_squared = (inner - b) / unit, b * b if name in ("SVMs3", "SVMs5") else arb(0)
    eta = arb(1) if name == "SVMs2" else eta / unit
    slack = plus(eta - s * f)
    terms = [K * sum(slack ** (2 if name in ("SVMs4", "SVMs5") else 1), arb(0)), b_squared / 2]
    terms += [] if name == "SVMs1" else [square / 2]
    terms += [] if name == "SVMs2" else [-Km * eta]
    a, upper = exact(np.zeros(n)), None if name in ("SVMs4", "SVMs5") else K
    a[blue], a[~blue] = exact(m.lambda_), exact(m.mu_)
    if name in ("SVMs3", "SVMs5"):
        a = with_sum(a, Km, upper)
    else:
        half = min(sum(plus(a[k]), arb(0)) for k in (blue, ~blue)) if name == "SVMs2" else Km / 2
        a[blue], a[~blue] = with_sum(a[blue], half, upper), with_sum(a[~blue], half, upper)
    value = sum((s * a) * times(G, s * a), arb(0))
    if name in ("SVMs3", "SVMs5"):
        value += sum(s * a, arb(0)) * sum(s * a, arb(0))
    if upper is None:
        value += sum(a * a, arb(0)) / (2 * K)
    low = -value.sqrt() if name == "SVMs1" else -value / 2 + (name == "SVMs2") * sum(a, arb(0))
    return sum(terms, arb(0)), low, sum((abs(t) for t in terms), arb(0)), inner - b


def tube(m: Any, X: np.ndarray, y: np.ndarray) -> tuple[Any, Any, Any, Any]:
    """Return the same for a support vector regression."""
    name, G, t, n = type(m).__name__, gram(m.kernel, X), exact(y), len(y)
    theta, C, b = exact(m.dual_coef_), arb(float(m.C_)), arb(m.b_)
    inner = times(exact(X), exact(m.w_)) if m.kernel == "linear" else times(G, theta)
    square = sum(exact(m.w_) ** 2 if m.kernel == "linear" else theta * inner, arb(0))
    over = plus(abs(t - inner - b) - arb(float(m.epsilon_)))
    quadratic, penalized = name == "QuadraticNuSVR", name == "NuSVRPenalizedBias"
    terms = [square / 2, C / n * sum(over ** (1 + quadratic), arb(0)), b * b / 2 * penalized]
    most = None if name == "EpsilonSVR" else C * arb(float(m.nu))
    terms += [] if most is None else [most * arb(float(m.epsilon_))]
    up, down, upper = plus(theta), plus(-theta), None if quadratic else C / n
    sums = sum(up, arb(0)), sum(down, arb(0))
    if not penalized:
        half = min(*sums, sums[0] if most is None else most / 2)
        up, down = with_sum(up, half, upper), with_sum(down, half, upper)
    elif sum(sums) > most:
        up, down = (
            with_sum(v, most * part / sum(sums), upper) for v, part in zip((up, down), sums)
        )
    theta = up - down
    low = sum(t * theta, arb(0)) - sum(theta * times(G, theta), arb(0)) / 2
    total = sum(theta, arb(0)) if penalized else arb(0)
    low -= total * total / 2 + n / (4 * C) * sum(theta * theta, arb(0)) * quadratic
    low -= arb(float(m.epsilon_)) * sum(up + down, arb(0)) if most is None else arb(0)
    return sum(terms, arb(0)), low, sum(terms, arb(0)), inner + b


def regression(m: Any, X: np.ndarray, y: np.ndarray) -> tuple[Any, Any, Any, Any]:
    """Return the same for ridge regression, kernel ridge regression (K > 0), lasso and elastic net (tau > 0)."""
    t, free, n = exact(y), m.intercept == "free", len(y)
    K, tau = arb(float(getattr(m, "K", 0.0))), arb(float(getattr(m, "tau", 0.0)))
    C = arb(float(getattr(m, "C", getattr(m, "K", 0.0))))
    penalized = m.intercept == "penalized"
    kernel, by_weights = getattr(m, "kernel", "linear"), getattr(m, "w_", None) is not None
    G, Phi = gram(kernel, X), features(kernel, X)
    c = exact(m.w_) if by_weights else exact(m.alpha_)
    inner = times(Phi if by_weights else G, c)
    square, b = sum(c * c if by_weights else c * inner, arb(0)), arb(m.b_)
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
        return value, low, value, inner + b
    M = G + np.diag(exact(np.full(n, 1.0)) * K) + (exact(np.ones((n, n))) if penalized else 0)
    if free:  # (G + K I) alpha + b 1 = y, 1'alpha = 0
        one = exact(np.ones((n, 1)))
        M = np.block([[M, one], [one.T, exact(np.zeros((1, 1)))]])
    alpha = solve(M, np.append(t, exact(np.zeros(1))) if free else t)[:n]
    t = t - sum(t, arb(0)) / n if free else t
    fit = sum(t * t, arb(0)) * arb(
        m.certificate_.tolerance
    )  # a fit that is right to the tolerance, squared
    return value, K * sum(t * alpha, arb(0)), fit if fit > value else value, inner + b


def judge(m: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return how far a fitted estimator is from optimal, or its stored values from its own, beside their terms."""
    of = classifier if hasattr(m, "eta_") else tube if hasattr(m, "epsilon_") else regression
    value, low, size, f = of(m, X, y)
    stored = [m.objective_ - value]
    stored += [m.dual_objective_ - low] if hasattr(m, "dual_objective_") else []
    if size == 0:
        return 0.0 if all(v == 0 for v in (value - low, *stored)) else np.inf
    worst = max(float((abs(v) / size).upper()) for v in (value - low, *stored))
    told = np.asarray(m.decision_function(X) if hasattr(m, "eta_") else m.predict(X))
    clear = max(float(abs(v).upper()) for v in f) * 1e-6 + 1e-300
    wrong = [abs(p - v) > clear for p, v in zip(told.tolist(), f)]
    return np.inf if any(wrong) else worst
