"""Where fits are flagged: float64 has no better answer near the optimum, or the data have none. Without rounding."""

from itertools import product

import numpy as np
import pytest
from flint import arb

from companion.arithmetic import rounded_together
from companion.exceptions import ConvergenceWarning
from companion.regression import KernelRidge
from companion.svm import DegenerateSolutionWarning, SVMs1
from companion.svr import NuSVR, NuSVRPenalizedBias
from tests.exact.judge import plane, regression
from tests.exact.numbers import exact, floats, solve
from tests.exact.test_judge import KINDS, MACHINES, TUBES, problem

middle = np.frompyfunc(lambda ball: arb(ball).mid(), 1, 1)


def flagged(maker, kind, seed):
    model, X, y, _ = problem(maker, kind, np.random.default_rng([seed, KINDS.index(kind)]))
    with pytest.warns((ConvergenceWarning, DegenerateSolutionWarning)):
        model.fit(X, y)
    assert not model.certificate_.ok
    return model, X, y, plane(model, X)[0]


def optimum(P, q, A, c, top):
    """Minimise x'Px/2 + q'x, A x = c, 0 <= x <= top, by an interior point method; return x and the multipliers of A."""
    n, x, y = len(q), exact(np.ones(len(q))) * (top / 2), exact(np.zeros(len(c)))
    low = high = exact(np.ones(n)) * max(abs(P @ x + q))
    while (aim := (low @ x + high @ (top - x)) / (20 * n)) > 1e-60 * top * max(abs(q)):
        rest = top - x
        r = P @ x + q + A.T @ y - aim / x + aim / rest
        M = np.block([[P + np.diag(low / x + high / rest), A.T], [A, np.zeros((len(c), len(c)))]])
        step = middle(solve(middle(M), np.append(-r, c - A @ x)))
        dx, dlow, dhigh = (
            step[:n],
            (aim - low * step[:n]) / x - low,
            (aim + high * step[:n]) / rest - high,
        )
        pairs = (x, dx), (rest, -dx), (low, dlow), (high, dhigh)
        t = min(1.0, *(0.99 * float(-v / d) for values in pairs for v, d in zip(*values) if d < 0))
        x, y, low, high = (
            middle(v + t * d) for v, d in ((x, dx), (y, step[n:]), (low, dlow), (high, dhigh))
        )
    return x, y


LIMITS = [  # all regressions of the stored table that are flagged at an absolute price of at most 1e14, with exact data
    *((maker, case) for maker in (NuSVR, NuSVRPenalizedBias) for case in (
        "outlier 1010", "overlapping 1009", "copies 1005", "separable 1009", "overlapping 1013", "separable 1004",
        "overlapping 1017", "units 1010", "outlier 1015")),
    (NuSVRPenalizedBias, "flat 1015"),
]  # fmt: skip


@pytest.mark.parametrize(("maker", "case"), LIMITS)
def test_the_optimum_itself_rounded_to_float64_misses_the_tolerance(maker, case):
    model, X, y, G = flagged(maker, case.split()[0], int(case.split()[1]))
    m, C, penalized, t = len(y), arb(model.C), maker is NuSVRPenalizedBias, exact(y)
    s, P = exact(np.repeat([1, -1], m)), np.tile(G + penalized, (2, 2))
    rows, c = (
        np.array([s, s * s])[int(penalized) :],
        exact([0.0, 1.0])[int(penalized) :] * (C * arb(model.nu)),
    )
    for k in (len(c), len(c) - 1):  # without the last equation epsilon is 0
        x, levels = optimum(P * np.outer(s, s), np.append(t, -t), rows[:k], c[:k], C / m)
        if k < len(c) or levels[-1] > 0:
            break
    z = x[m:] - x[:m]
    b, epsilon = z.sum() if penalized else -levels[0], levels[-1] if k == len(c) else arb(0)

    def value(z, b, epsilon):
        slack = np.maximum(abs(G @ z + b - t) - epsilon, 0)
        return (z @ G @ z + penalized * b * b) / 2 + C * (arb(model.nu) * epsilon + slack.sum() / m)

    best = t @ z - z @ (G + penalized) @ z / 2
    assert value(z, b, epsilon) - best < 1e-30 * best
    merged = np.array([sum(z[(point == X).all(axis=1)]) for point in np.unique(X, axis=0)])
    first = np.unique(X, axis=0, return_index=True)[1]
    coef, rounded = floats(merged), np.zeros(m)
    rest = floats(merged - exact(coef))
    rounded[first] = rounded_together(np.array([*map(floats, G[first][:, first])]), coef, rest)
    missed = value(exact(rounded), *exact(floats([b, epsilon]))) - best
    assert missed > model.certificate_.tolerance * best


def indefinite(G):
    """Whether elimination meets a negative pivot."""
    while len(G):
        k = int(np.argmax([abs(float(pivot.mid())) for pivot in G.diagonal()]))
        if not G[k, k] > 0:
            return bool(G[k, k] < 0)
        others = np.arange(len(G)) != k
        G = (G - np.outer(G[:, k], G[k]) / G[k, k])[others][:, others]
    return False


@pytest.mark.parametrize(
    "maker", [SVMs1, *(pytest.param(m, marks=pytest.mark.slow) for m in (*MACHINES[1:], *TUBES))]
)
@pytest.mark.filterwarnings("ignore::companion.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::companion.svm.DegenerateSolutionWarning")
def test_each_rounded_matrix_that_is_flagged_belongs_to_no_features(maker):
    for kind, seed in product(KINDS, range(1000, 1020)):
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        model, K, y, weight = problem(maker, kind, rng)
        if model.kernel != "precomputed":
            continue
        if not model.fit(K, y, *([] if weight is None else [weight])).certificate_.ok:
            on = slice(None) if weight is None else weight > 0
            G = exact(K)[on][:, on]
            if not model._penalized:  # b is free: coefficients of w have the sum 0
                G = G[1:, 1:] - G[1:, :1] - (G[:1, 1:] - G[0, 0])
            assert indefinite(G), (kind, seed)


def test_the_minimum_is_another_one_for_a_kernel_s_matrix_in_float64():
    model, X, y, weight = problem(KernelRidge, "units", np.random.default_rng([1006, 4]))
    with pytest.warns(ConvergenceWarning, match="raise K"):
        model.fit(X, y, weight)
    high, least, *_ = regression(model, X, y, weight)
    on, small = weight > 0, model.certificate_.tolerance * least
    assert high - least < 1e-3 * small  # alpha is right all the same
    G = exact([floats(row) for row in plane(model, X)[0][on][:, on]])
    alpha = solve(G + np.diag(model.K / exact(weight)[on]), exact(y)[on])
    assert abs(model.K * (exact(y)[on] @ alpha) - least) > small
