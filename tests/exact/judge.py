"""A judge of fitted estimators that shares no code with them: from the data, with a thousand bits, nothing forgiven."""

# fmt: off
from itertools import combinations_with_replacement
from math import factorial, inf, prod

import numpy as np
from flint import arb

from tests.exact import verify
from tests.exact.numbers import exact, ratio, solve


def plane(m, X):
    """Return the Gram matrix, w or its coefficients, <w, phi(x)>, |w|^2, and the size of the terms of <w, phi(x)>."""
    F, name, w, n = exact(X), getattr(m, "kernel", "linear"), getattr(m, "w_", None), X.shape[1]
    H, d = F if name == "precomputed" else F @ F.T, m.kernel_params["degree"] if name == "poly" else 0
    G = np.exp(H - (H.diagonal()[:, None] + H.diagonal()) / 2) if name == "gaussian" else (H + 1) ** d if d else H
    if d and w is not None:  # the monomials of degree d in (x, 1), in the package's order
        sets = sorted(combinations_with_replacement(range(n + 1), d), key=lambda i: i.count(n))
        ways = [factorial(d) // prod(factorial(i.count(k)) for k in range(n + 1)) for i in sets]
        F, roots = exact(np.column_stack([X, np.ones(len(X))])), np.sqrt(exact(ways))
        F = np.column_stack([F[:, i].prod(axis=1) * root for i, root in zip(sets, roots)])
    c, F = (exact(getattr(m, "dual_coef_", getattr(m, "alpha_", 0))), G) if w is None else (exact(w), F)
    return G, c, F @ c, c @ (F @ c if w is None else c), abs(F) @ abs(c)


def machine(m, X, y, v):
    """Return primal value, bound, their size, f, that of its terms: of a machine or tube, s (f - t) >= eta - slack."""
    name, n, tube, (G, _, f, square, reach) = type(m).__name__, len(y), hasattr(m, "C_"), plane(m, X)
    squared, given = name in ("SVMs4", "SVMs5", "QuadraticNuSVR"), name in ("SVMs2", "EpsilonSVR")
    penalized, by_norm = name in ("SVMs3", "SVMs5", "NuSVRPenalizedBias"), name == "SVMs1"
    s = np.repeat([-1, 1], n) if tube else np.where(y == m.classes_[1], 1, -1)
    a, k, price = exact(np.zeros(len(s))), len(s) // n, exact(v) * (arb(m.C_) / n) if tube else exact(0 * v + m.K_)
    a[s == 1 - 2 * tube], a[s == 2 * tube - 1], price = exact(m.lambda_), exact(m.mu_), np.tile(price, k)
    b, eta, t = (arb(m.b_), -arb(m.epsilon_), exact(np.tile(y, 2))) if tube else (-arb(m.b_), arb(float(m.eta_)), 0 * a)
    c = arb(1) if by_norm else price[0] * n * arb(float(getattr(m, "nu", 0)))
    unit, sides, s = square.sqrt() if by_norm else 1, [s != 0] if penalized else [s > 0, s < 0], exact(s)
    slack, a = np.maximum(eta - s * (np.tile(f + b, k) - t), 0) / unit, a if squared else np.minimum(a, price)
    terms = [(price * slack ** (1 + squared)).sum(), -c * eta / unit * (not given), square / 2 * (not by_norm)]
    terms, least = np.array([*terms, penalized * b * b / 2]), min(a[side].sum() for side in sides)
    share = least if given else min(least, c / len(sides)) if tube else c / len(sides)
    for side in sides:  # the sum is made exact, in proportion; who is 0 stays so, if others have room
        now, upper = a[side].sum(), 2 * a[side] if squared else price[side]
        top = 0 * upper if now > share else np.minimum(2 * a[side], upper)
        top = upper if now < share and not top.sum() > share else top
        a[side] += (top - a[side]) * ((share - now) / (top - a[side]).sum()) if now != share else 0
    z = (s * a).reshape(k, n).sum(axis=0)
    half = (z @ (G + penalized) @ z + (a @ (a / price) / 2 if squared else 0)) / 2
    low = -(2 * half).sqrt() if by_norm else (t * s) @ a + given * eta * a.sum() - half
    return terms.sum(), low, abs(terms).sum(), f + b, reach + abs(b) + abs(t[:n])


def regression(m, X, y, v):
    """Return the same for (kernel) ridge regression, K > 0, and for lasso and elastic net, tau > 0."""
    (G, c, f, square, reach), t, b, v = plane(m, X), exact(y), arb(m.b_), exact(v)
    free, penalized, tau = m.intercept == "free", m.intercept == "penalized", arb(float(getattr(m, "tau", 0)))
    K, xi, n = arb(float(getattr(m, "K", 0))), t - f - b, len(y)
    value = v @ (xi * xi) + K * square + getattr(m, "C", K) * b * b * penalized
    if hasattr(m, "tau"):
        value, a = value / 2 + tau * abs(c).sum(), exact(m.lambda_) - free * exact(m.lambda_).sum() / n
        over = abs(exact(X.T) @ a)  # a is made feasible
        a = a * min([arb(1), *(tau / o for o in over if o > tau)]) if K == 0 else a
        beyond = (np.maximum(over - tau, 0) ** 2).sum() / (2 * K) if K > 0 else 0
        return value, t @ a - a @ a / 2 - beyond - penalized * a.sum() * a.sum() / 2 / m.C, value, f + b, reach + abs(b)
    on, t, one = v > 0, t - v @ t / v.sum() * free, exact(np.ones((int(sum(v > 0)), int(free))))
    M = np.block([[G[on][:, on] + np.diag(K / v[on]) + penalized, one], [one.T, 0 * one.T @ one]])
    low = K * (t[on] @ solve(M, np.append(t[on], one[0] * 0))[: len(one)])  # (G + K/v) alpha + b 1 = y, 1'alpha = 0
    right = m.certificate_.tolerance * (v @ (t * t))  # of a fit that is right to the tolerance, squared
    return value, low, max(value, right), f + b, reach + abs(b)


def judge(m, X, y, weight=None):
    """Return how far an estimator is from optimal, or its values from its own; infinity for predictions of another."""
    if hasattr(m, "rho"):
        return verify(m, X, y).worst
    kind, told = regression if hasattr(m, "intercept") else machine, getattr(m, "decision_function", m.predict)
    high, low, size, f, reach = kind(m, X, y, np.ones(len(y)) if weight is None else weight)
    off = inf if (abs(exact(told(X)) - f) > reach * arb(8 * len(y) + 480) / 2**53 + 1e-300).any() else 0.0
    return max(ratio(v, size) for v in (off, high - low, m.objective_ - high, getattr(m, "dual_objective_", low) - low))
