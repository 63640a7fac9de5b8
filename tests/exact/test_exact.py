"""Exact certificates: they confirm what the solvers say, and they are not fooled."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from companion import admm, regression, svm
from companion.admm import LogisticLoss, consensus, qsolve1, solve_qp
from companion.exceptions import ConvergenceWarning
from companion.regression import ElasticNet, KernelRidge, RidgeRegression
from companion.results import Certificate
from companion.svm import dual_coordinate_ascent, primal_kernel_newton, primal_newton
from tests.exact import verify
from tests.exact.numbers import exact, product

RNG = np.random.default_rng(7)
A, b = RNG.standard_normal((15, 6)), RNG.standard_normal(15) * 3
SIGNS = np.where(np.arange(30) % 2, 1.0, -1.0)
CLOUDS = RNG.standard_normal((30, 2)) + 0.8 * SIGNS[:, None]
POINTS = RNG.standard_normal((20, 5)) + 2.0
VALUES = POINTS[:, 0] - 2 * POINTS[:, 1] + RNG.standard_normal(20) + 4.0
BLOCKS = [admm.LeastSquaresLoss(A[i], b[i]) for i in (slice(4), slice(4, 9), slice(9, None))]
LABELLED = [admm.SquaredHingeLoss(part.A, np.sign(part.b), 3.0) for part in BLOCKS]
K0 = A @ A.T + 3 * np.diag(b)
INTERCEPTS = ("free", "none", "penalized")
the_texts_admm = partial(regression.lasso_admm, POINTS, VALUES, 4.0, K=0.7, tol=1e-11)
dual_of_the_lasso = partial(regression.lasso_dual, POINTS, VALUES, 2.0)


def program(seed=0, n=12, p=3, rank=None, low_rank=False):
    rng = np.random.default_rng(seed)
    G, rows = rng.standard_normal((n, rank or n)), rng.standard_normal((p, n))
    P = admm.LowRank(G) if low_rank else G @ G.T
    return P, rng.standard_normal(n) * 3, rows, rows @ rng.uniform(0.2, 0.8, n)


def degenerate(**options):
    P, q, rows, right = program(rank=4, **options)
    upper = np.r_[0.0, np.ones(11)]
    rows = np.vstack([rows, rows[:2], rows.sum(axis=0)])
    right = np.r_[right, right[:2], right.sum()]
    return solve_qp(P, q, rows, right, upper=upper)


def confirm(answer, *data):
    found = verify(answer, *data)
    assert found.ok, found
    assert found.agrees, (found, found.stored)
    return found


OF_A_PROGRAM = {"x": 1e-6, "y": 1e-6, "z_lower": 1e-6, "objective": 1e-6}
DUAL = {"objective": 1e-6}
OF_A_SPLITTING = {"x": 1e-4, "z": 1e-4}
OF_TRAINING = {"alpha": 1e-4, "objective": 1e-3, "dual_objective": 1e-3}
OF_A_SADDLE = {
    "alpha": 1e-4,
    "multipliers": 1e-2,
    "K": 1e-2,
    "objective": 1e-2,
    "upper_bound": 1e-2,
}
OF_CONSENSUS = {"x": 1e-2, "z": 1e-2}
ANSWERS = {
    "quadratic program": (lambda: solve_qp(*program(), upper=1.0), OF_A_PROGRAM),
    "dependent rows": (degenerate, {"x": 1e-6, "objective": 1e-6}),
    "low rank": (lambda: degenerate(low_rank=True), {"x": 1e-6, "objective": 1e-6}),
    "linear program": (lambda: solve_qp(np.zeros((12, 12)), np.arange(1.0, 13.0), *program()[2:]), OF_A_PROGRAM),
    "free variables": (lambda: solve_qp([[2, 0], [0, 0]], [-1, 0], lower=-np.inf), {"x": [1e-6, 0.0]}),
    "qsolve1 at its z": (lambda: qsolve1(*program(n=6, p=2)), {"y": 1e-3}),
    "least absolute deviations": (lambda: admm.least_absolute_deviations(A, b), OF_A_SPLITTING),
    "basis pursuit": (lambda: admm.basis_pursuit(A.T, b[:6]), {"z": 1e-4}),
    "repeated rows": (lambda: admm.basis_pursuit(A[[0, 0, 1, 1]], b[[0, 0, 1, 1]]), {"z": 1e-4}),
    "lasso": (lambda: admm.lasso(A, b, 1.5), {"z": 1e-4}),
    "lasso, wide": (lambda: admm.lasso(A.T, b[:6], 0.5), {"z": 1e-4}),
    "least squares": (lambda: admm.lasso(A, b, 0.0), {"z": 1e-4}),
    "group lasso": (lambda: admm.group_lasso(A, b, [0, 0, 1, 1, 1, 2], 2.0), {"z": 1e-4}),
    "fused lasso": (lambda: admm.generalized_lasso(np.eye(6), b[:6], np.diff(np.eye(6), axis=0), 0.7), OF_A_SPLITTING),
    "logistic": (lambda: admm.l1_regularized(LogisticLoss(A, np.sign(b)), 0.8), {"z": 1e-4}),
    **{f"the text's ADMM, {b}": (partial(the_texts_admm, intercept=b), {"z": 1e-5}) for b in INTERCEPTS},
    **{f"dual of the lasso, {b}": (partial(dual_of_the_lasso, intercept=b), DUAL) for b in INTERCEPTS},
    "dual of the elastic net": (lambda: regression.elastic_net_dual(POINTS, VALUES, 0.5, 1.0), DUAL),
    "consensus, ridge": (lambda: consensus(BLOCKS, admm.RidgePenalty(0.5)), {**OF_CONSENSUS, "objective": 1e-2}),
    "consensus, lasso": (lambda: consensus(BLOCKS, admm.L1Penalty(2.0)), {**OF_CONSENSUS, "objective": 1e-2}),
    "consensus, hinge": (lambda: consensus(LABELLED, admm.RidgePenalty(1.0)), OF_CONSENSUS),
    "ascent": (lambda: dual_coordinate_ascent(CLOUDS, SIGNS, C=10.0), {**OF_TRAINING, "w": 1e-2}),
    "ascent, quadratic loss": (lambda: dual_coordinate_ascent(CLOUDS, SIGNS, loss="quadratic"), OF_TRAINING),
    "ascent, Gaussian": (lambda: dual_coordinate_ascent(CLOUDS, SIGNS, kernel="rbf"), {**OF_TRAINING, "beta": 1e-2}),
    "Newton": (lambda: primal_newton(CLOUDS, SIGNS, C=10.0), {**OF_TRAINING, "w": 1e-2}),
    "Newton in beta": (lambda: primal_kernel_newton(CLOUDS, SIGNS, C=2.0, kernel="rbf"), OF_TRAINING),
    "saddle point": (lambda: svm.solve_indefinite(K0, np.sign(b), C=1.0, rho=0.5), OF_A_SADDLE),
    "saddle point, spgm": (lambda: svm.solve_indefinite(K0, np.sign(b), C=1.0, rho=0.5, method="spgm"), OF_A_SADDLE),
}  # fmt: skip


@pytest.mark.parametrize(("solve", "changes"), ANSWERS.values(), ids=ANSWERS.keys())
def test_answers_are_confirmed_and_altered_ones_are_not(solve, changes):
    result = solve()
    confirm(result)
    result = getattr(result, "qp", result)
    for name, size in changes.items():
        value = getattr(result, name)
        grown = value + np.asarray(size) * (1.0 if np.ndim(value) else abs(value) + 1.0)
        for wrong in (grown, value * np.nan):
            found = verify(replace(result, **{name: wrong}))
            assert not found.ok, name
            assert not found.agrees, name


def test_products_are_those_of_fractions():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((5, 4)) * 10.0 ** rng.integers(-70, 70, (5, 4))
    M[0] = 0.0
    x = rng.standard_normal(4)
    for row, v in zip(M.tolist(), product(M, exact(x))):
        true = sum(Fraction(a) * Fraction(t) for a, t in zip(row, x.tolist()))
        mantissa, exponent = v.man_exp()
        assert Fraction(int(mantissa)) * Fraction(2) ** int(exponent) == true


def test_a_certificate_that_claims_too_much_is_found():
    with pytest.warns(ConvergenceWarning, match="did not reach"):
        result = solve_qp(*program(1), upper=1.0, tol=1e-70)
    honest = verify(result)
    assert not honest.ok
    assert honest.agrees  # it says so itself
    assert not verify(replace(result, certificate=Certificate(0.0, 0.0, 0.0, 0.0, 1e-70))).agrees


def test_a_run_that_was_cut_short_says_so():
    with pytest.warns(ConvergenceWarning):
        ascent = dual_coordinate_ascent(CLOUDS, SIGNS, C=10.0, max_iter=2)
    with pytest.warns(ConvergenceWarning):
        splitting = regression.lasso_admm(POINTS, VALUES, 4.0, max_iter=3)
    for found in verify([ascent, splitting]):
        assert (found.ok, found.agrees) == (False, True)


def test_regressions_at_their_limits():
    X = np.column_stack([POINTS, POINTS[:, 0]])  # rank deficient
    kernel = KernelRidge(K=1e-3, kernel="rbf")
    for model in (RidgeRegression(K=0.0), ElasticNet(K=0.3, tau=0.0), kernel):
        confirm(model.fit(X, VALUES), X, VALUES)


def test_paths_are_examined_at_every_point():
    several = [svm.SVMs2(K).fit(CLOUDS, SIGNS) for K in (0.1, 1.0)]
    several[0].b_ += 1e-3
    assert [point.ok for point in verify(several, CLOUDS, SIGNS)] == [False, True]
    path = regression.lasso_path(POINTS, VALUES, n_taus=4, K=0.7, intercept="penalized")
    assert all(point.ok and point.agrees for point in verify(path))
    w = path.w.copy()
    w[2] *= 1.01
    assert [point.ok for point in verify(replace(path, w=w))] == [True, True, False, True]


@pytest.mark.parametrize("rho", [1e5, 1e20])
def test_a_large_price_of_the_distance_is_no_obstacle(rho):
    """The constant rho |K - K0|^2 is 1e20 times the rest: what rounding does to K must not count times rho."""
    M = K0[:8, :8]
    result = svm.solve_indefinite(M, SIGNS[:8], C=1.0, rho=rho)
    confirm(result)
    assert not verify(replace(result, K=M)).ok  # not positive semidefinite


def test_a_gradient_that_others_make_smaller_is_no_rounding():
    """min 1e12 (x1 - x2)^2 / 2 - x1 - x2 on the unit square. The terms of P x at (1/2, 1/2) hide much of q."""
    P = 1e12 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    result = solve_qp(P, [-1.0, -1.0], upper=1.0)
    confirm(result)
    middle = replace(result, x=np.full(2, 0.5), z_upper=np.zeros(2), objective=-1.0)
    assert verify(middle).worst >= 1.0
