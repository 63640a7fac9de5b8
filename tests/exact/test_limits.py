"""Where fits are flagged: float64 has no better answer near the optimum, or the data have none. Without rounding."""

import numpy as np
import pytest

from companion.exceptions import ConvergenceWarning
from companion.regression import KernelRidge
from companion.svm import DegenerateSolutionWarning, SVMs1, SVMs2
from tests.exact.judge import plane, regression
from tests.exact.numbers import exact, floats, solve
from tests.exact.test_judge import KINDS, problem


def flagged(maker, kind, seed):
    model, X, y, _ = problem(maker, kind, np.random.default_rng([seed, KINDS.index(kind)]))
    with pytest.warns((ConvergenceWarning, DegenerateSolutionWarning)):
        model.fit(X, y)
    assert not model.certificate_.ok
    return model, plane(model, X)[0], exact(np.where(y == model.classes_[1], 1, -1))


def optimum(G, s, K, start):
    """Return the multipliers of (SVM_s2), the weight b of f = G (s a) + b, and the slacks: KKT conditions hold."""
    full, free = start >= K, (start > 0.0) & (start < K)
    P, zero = np.outer(s, s) * G, exact(np.zeros((1, 1)))
    for _ in range(50):
        F, a = np.flatnonzero(free), exact(np.where(full, K, 0.0))
        M = np.block([[P[F][:, F], s[F, None]], [s[None, F], zero]])
        *a[F], b = solve(M, np.append(1 - (P @ a)[F], -(s @ a)))
        u = np.where(free, 0, 1 - P @ a - s * b)  # it is 0 in these equations
        low = np.where(free, a < 0, u < 0).astype(bool)
        high = np.where(free, a > K, u > 0).astype(bool)
        wrong = np.where(free, low | high, np.where(full, low, high))
        if not wrong.any():
            return a, b, np.maximum(u, 0)
        full, free = np.where(free, high, full & ~low), np.where(free, ~wrong, wrong)
    pytest.fail("the sets do not settle")


@pytest.mark.parametrize("case", [("overlapping", 288), ("overlapping", 1043), ("outlier", 1015)])
def test_the_optimum_itself_rounded_to_float64_misses_the_tolerance(case):
    model, G, s = flagged(SVMs2, *case)
    K, start = model.K_, np.empty(len(s))
    start[s == 1], start[s == -1] = model.lambda_, model.mu_
    a, b, slack = optimum(G, s, K, start)
    c = exact(floats(s * a))
    best, value = (s * a) @ G @ (s * a) / 2 + K @ slack, c @ G @ c / 2
    moved = G @ c + exact(floats([b]))[0]
    least = np.minimum(a, K - a) @ abs(moved - G @ (s * a) - b)  # as the page says
    value += K @ np.maximum(1 - s * moved, 0)
    assert value - best >= least
    assert value - best > model.certificate_.tolerance * best


@pytest.mark.parametrize("seed", [1002, 1008, 1014])
def test_a_rounded_matrix_of_products_may_belong_to_no_features(seed):
    _, G, _ = flagged(SVMs1, "offset", seed)  # b is free: coefficients of w have the sum 0
    centred = G - G.mean(axis=0) - G.mean(axis=0)[:, None] + G.mean()
    v = exact(np.linalg.eigh(floats(centred.ravel()).reshape(G.shape))[1][:, 0])
    v -= v.mean()
    assert v @ G @ v < 0


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
