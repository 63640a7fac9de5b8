"""Exact certificates: they confirm what the solvers say, and they are not fooled."""

import math
from copy import copy
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from companion.admm import (
    ConsensusObjective,
    LassoObjective,
    LeastSquaresLoss,
    LogisticLoss,
    LowRank,
    RidgeObjective,
    SmoothLoss,
    SquaredHingeObjective,
    basis_pursuit,
    consensus,
    generalized_lasso,
    group_lasso,
    l1_regularized,
    lasso,
    least_absolute_deviations,
    qsolve1,
    solve_qp,
)
from companion.exceptions import ConvergenceWarning
from companion.kernels import Gaussian, KernelPCA, Polynomial
from companion.regression import (
    ElasticNet,
    KernelRidge,
    Lasso,
    RidgeRegression,
    elastic_net_dual,
    lasso_admm,
    lasso_dual,
    lasso_path,
)
from companion.results import Certificate
from companion.svm import (
    HardMarginSVC,
    IndefiniteSVC,
    K_path,
    SVMs1,
    SVMs2,
    SVMs2l,
    SVMs2prime,
    SVMs3,
    SVMs4,
    SVMs5,
    dual_coordinate_ascent,
    nu_path,
    primal_kernel_newton,
    primal_newton,
    solve_indefinite,
)
from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR
from tests.exact import verify
from tests.exact.numbers import exact, product, ratio
from tests.exact.results import largest_sum, square, trace


def confirm(answer, *data):
    found = verify(answer, *data)
    assert found.ok, found
    assert found.agrees, (found, found.stored)
    return found


def random_qp(seed, n=12, p=3, rank=None, low_rank=False):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((n, n if rank is None else rank))
    A = rng.standard_normal((p, n))
    b = A @ rng.uniform(0.2, 0.8, n)
    return LowRank(G) if low_rank else G @ G.T, rng.standard_normal(n) * 3, A, b


# -- the arithmetic


def test_products_are_those_of_fractions():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 4)) * 10.0 ** rng.integers(-70, 70, (5, 4))
    A[0] = 0.0
    x = rng.standard_normal(4)
    for row, v in zip(A.tolist(), product(A, exact(x))):
        true = sum(Fraction(a) * Fraction(t) for a, t in zip(row, x.tolist()))
        mantissa, exponent = v.man_exp()
        assert Fraction(int(mantissa)) * Fraction(2) ** int(exponent) == true


def test_no_number_passes_for_small():
    assert ratio(math.nan, 1.0) == ratio(1.0, 0.0) == ratio(1.0, math.inf) == math.inf
    assert ratio(0.0, 0.0) == 0.0


# -- quadratic programs


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_agree(seed):
    P, q, A, b = random_qp(seed)
    result = solve_qp(P, q, A, b, upper=1.0)
    confirm(result)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("low_rank", [False, True])
def test_degenerate_programs_agree(seed, low_rank):
    P, q, A, b = random_qp(seed, rank=4, low_rank=low_rank)
    A, b = np.vstack([A, A[:2], A.sum(axis=0)]), np.r_[b, b[:2], b.sum()]
    upper = np.ones(12)
    upper[0] = 0.0
    confirm(solve_qp(P, q, A, b, upper=upper))


def test_free_programs_and_lists():
    confirm(solve_qp([[2, 0], [0, 0]], [-1, 0], lower=-np.inf))
    confirm(solve_qp([[0.0]], [1.0], lower=-3.0, upper=5.0))
    confirm(solve_qp([[2.0, 1.0], [1.0, 2.0]], [0.1, -0.3], [1.0, 1.0], [0.7], lower=-1.0))


def test_linear_programs_agree():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((4, 9))
    confirm(solve_qp(np.zeros((9, 9)), rng.uniform(0.1, 1, 9), A, A @ rng.uniform(0, 1, 9)))


def test_qsolve1_is_verified_at_its_z():
    P, q, A, b = random_qp(0, n=6, p=2)
    confirm(qsolve1(P, q, A, b))


def test_an_exact_solution_has_residuals_zero():
    found = confirm(solve_qp(np.eye(2), [-2.0, -0.5], [[1.0, 1.0]], [1.0], upper=1.0))
    assert found.worst == 0.0


TAMPERED = {
    "x moved": lambda r: {"x": r.x + 1e-6},
    "x moved along the equations": lambda r: {"x": r.x + 1e-6 * np.array([1.0, -1.0, 0.0])},
    "x outside its bounds": lambda r: {"x": r.x - 2.0},
    "a multiplier of the wrong sign": lambda r: {"z_lower": r.z_lower - 1e-6, "z_upper": r.z_upper - 1e-6},
    "a multiplier off its bound": lambda r: {"z_lower": r.z_lower + 1e-6, "z_upper": r.z_upper + 1e-6},
    "y moved": lambda r: {"y": r.y + 1e-6},
    "y turned round": lambda r: {"y": -r.y},
    "another objective": lambda r: {"objective": r.objective + 1e-6},
    "not a number": lambda r: {"x": np.full(3, np.nan)},
    "infinite": lambda r: {"y": np.array([np.inf])},
}  # fmt: skip


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED.keys())
def test_tampering_is_found(change):
    P = np.array([[4.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 4.0]])
    result = solve_qp(P, [-2.0, -1.0, 3.0], [[1.0, 1.0, 1.0]], [1.0], upper=0.6)
    confirm(result)
    found = verify(replace(result, **change(result)))
    assert not found.ok
    assert not found.agrees


def test_a_certificate_that_claims_too_much_is_found():
    P, q, A, b = random_qp(1)
    with pytest.warns(UserWarning, match="did not reach"):
        result = solve_qp(P, q, A, b, upper=1.0, tol=1e-70)
    honest = verify(result)
    assert not honest.ok
    assert honest.agrees  # it says so itself
    claimed = replace(result, certificate=Certificate(0.0, 0.0, 0.0, 0.0, 1e-70))
    assert not verify(claimed).agrees


def test_the_problem_is_remembered_without_a_copy():
    P, q, A, b = random_qp(2)
    result = solve_qp(P, q, A, b)
    assert result.problem.data["P"] is P
    assert result.problem.data["q"] is q
    assert "problem" not in repr(result)


def test_what_cannot_be_verified_says_why():
    result = replace(solve_qp(np.eye(1), [1.0]), problem=None)
    with pytest.raises(ValueError, match="does not know its problem"):
        verify(result)
    with pytest.raises(TypeError, match="got LinearRegression"):
        verify(LinearRegression().fit(np.eye(2), [1.0, 2.0]), np.eye(2), [1.0, 2.0])
    with pytest.raises(TypeError, match=r"verify\(SVMs2, X, y\)"):
        verify(SVMs2())
    with pytest.raises(TypeError, match=r"verify\(RidgeRegression, X, y\)"):
        verify(RidgeRegression())
    for machine in (SVMs2(), SVMs2l(), NuSVR(), RidgeRegression(), Lasso(tau=1.0)):
        with pytest.raises(NotFittedError, match=type(machine).__name__):
            verify(machine, np.eye(2), [-1.0, 1.0])


# -- support vector machines


def two_clouds(seed=0, n=24, gap=1.0, offset=0.0):
    rng = np.random.default_rng(seed)
    y = np.repeat([1, -1], [n // 2, n - n // 2])
    return rng.standard_normal((n, 2)) + gap * y[:, None] + offset, y


MACHINES = [
    SVMs1(K=0.12),
    SVMs2(K=0.7),
    SVMs2prime(nu=0.5),
    SVMs3(nu=0.5),
    SVMs4(nu=0.5),
    SVMs5(nu=0.5),
    SVMs2l(),
]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kernel", ["linear", "poly", "gaussian"])
def test_machines(machine, kernel):
    X, y = two_clouds()
    confirm(machine.set_params(kernel=kernel).fit(X, y), X, y)
    machine.set_params(kernel="linear")


def test_hard_margin():
    X, y = two_clouds(gap=4.0)
    confirm(HardMarginSVC().fit(X, y), X, y)


@pytest.mark.parametrize("name", ["SVMs2", "SVMs2prime", "SVMs4"])
def test_points_far_from_the_origin(name):
    machine = {type(m).__name__: m for m in MACHINES}[name]
    X, y = two_clouds(offset=1e3)
    confirm(machine.fit(X, y), X, y)


def test_repeated_points():
    X, y = two_clouds(n=12)
    X, y = np.vstack([X, X, X[:3]]), np.r_[y, y, -y[:3]]
    confirm(SVMs2(K=1.0).fit(X, y), X, y)
    confirm(SVMs2prime(nu=0.6).fit(X, y), X, y)


@pytest.mark.parametrize("attribute", ["b_", "w_", "lambda_", "epsilon_"])
@pytest.mark.parametrize(
    "machine", [SVMs1(K=0.12), SVMs2(K=0.7), SVMs2prime(nu=0.5), SVMs3(nu=0.5)]
)
def test_a_machine_that_was_changed(machine, attribute):
    X, y = two_clouds()
    machine = machine.fit(X, y)
    value = getattr(machine, attribute)
    setattr(machine, attribute, value - 1e-6 if attribute != "epsilon_" else value + 1e-5)
    found = verify(machine, X, y)
    assert not found.ok
    assert not found.agrees


def test_a_machine_and_other_data():
    X, y = two_clouds()
    machine = SVMs2().fit(X, y)
    X = X.copy()
    X[machine.support_[0]] += 1e-5
    assert not verify(machine, X, y).ok


# -- support vector regression

TUBES = [
    NuSVR(nu=0.4, C=3.0),
    EpsilonSVR(epsilon=0.2, C=3.0),
    NuSVRPenalizedBias(nu=0.4, C=3.0),
    QuadraticNuSVR(nu=0.4, C=3.0),
]


@pytest.mark.parametrize("tube", TUBES, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_tubes(tube, kernel):
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, (20, 2))
    y = X[:, 0] - 0.5 * X[:, 1] + 0.4 * rng.standard_normal(20) + 3.0
    tube.set_params(kernel=kernel)
    confirm(tube.fit(X, y), X, y)
    for attribute in ("b_", "mu_", "epsilon_"):
        value = getattr(tube, attribute)
        if attribute == "epsilon_" and isinstance(tube, EpsilonSVR):
            continue
        setattr(tube, attribute, value + 1e-6)
        assert not verify(tube, X, y).agrees, attribute
        setattr(tube, attribute, value)


# -- regression


def table(seed=1, m=20, n=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) + 2.0
    return X, X[:, 0] - 2 * X[:, 1] + rng.standard_normal(m) + 4.0


@pytest.mark.parametrize("intercept", ["free", "none", "penalized"])
@pytest.mark.parametrize("shape", [(20, 5), (6, 9)])
@pytest.mark.parametrize(
    "model",
    [
        RidgeRegression(K=0.5),
        RidgeRegression(K=0.0),
        Lasso(tau=2.0),
        ElasticNet(K=0.3, tau=1.0),
        ElasticNet(K=0.3, tau=0.0),
    ],
    ids=["ridge", "least squares", "lasso", "elastic net", "ridge by elastic net"],
)
def test_regressions(model, intercept, shape):
    X, y = table(m=shape[0], n=shape[1])
    if shape[0] < shape[1] and isinstance(model, RidgeRegression) and model.K == 0.0:
        X, y = table(m=20, n=5)
        X = np.column_stack([X, X[:, 0]])  # rank deficient
    model.set_params(intercept=intercept).fit(X, y)
    confirm(model, X, y)
    model.w_ = model.w_ + 1e-4
    assert not verify(model, X, y).agrees


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize("intercept", ["free", "none"])
@pytest.mark.parametrize("K", [0.5, 1e-3])
def test_kernel_ridge(kernel, intercept, K):
    X, y = table()
    model = KernelRidge(K=K, kernel=kernel, intercept=intercept).fit(X, y)
    confirm(model, X, y)
    if kernel == "gaussian":
        model.alpha_ = model.alpha_ + 1e-5
        assert not verify(model, X, y).agrees


@pytest.mark.parametrize("n_components", [None, 2])
@pytest.mark.parametrize("kernel", ["linear", "rbf", Polynomial(2), "precomputed"])
def test_kernel_components(kernel, n_components):
    X = np.random.default_rng(17).standard_normal((15, 3)) + 5.0
    X = Gaussian(2.0)(X) if kernel == "precomputed" else X
    pca = KernelPCA(n_components, kernel=kernel).fit(X)
    found = verify(pca, X)
    assert pca.certificate_.ok
    assert found.ok
    assert found.agrees
    honest = pca.certificate_
    for attribute in ("eigenvalues_", "eigenvectors_"):
        changed = copy(pca)
        setattr(changed, attribute, (1.0 + 1e-6) * getattr(pca, attribute))
        assert not changed.certificate_.ok
        assert not verify(changed, X).ok
    assert honest.gap < 1e-12


def test_components_that_leave_a_larger_one_out():
    X = np.random.default_rng(17).standard_normal((15, 3))
    pca = KernelPCA(3, kernel="rbf").fit(X)
    pca.eigenvalues_, pca.eigenvectors_ = pca.eigenvalues_[1:], pca.eigenvectors_[:, 1:]
    pca.n_components = 2
    certificate = pca.certificate_
    assert certificate.dual_residual < 1e-12
    assert certificate.gap > 0.1
    assert not verify(pca, X).ok
    with pytest.raises(TypeError, match="needs the data"):
        verify(pca)


def test_digits_of_components_far_from_the_origin_are_told():
    X = np.random.default_rng(17).standard_normal((15, 3))
    assert KernelPCA(2, kernel=Polynomial(2)).fit(X).certificate_.ok
    with pytest.warns(ConvergenceWarning, match="far from the origin"):
        far = KernelPCA(2, kernel=Polynomial(2)).fit(X + 1e7)
    assert not far.certificate_.ok
    assert verify(far, X + 1e7).agrees
    with pytest.warns(ConvergenceWarning, match="far from the origin"):
        KernelPCA(2, kernel=Gaussian(1e5)).fit(X)


def test_dual_programs():
    X, y = table()
    for intercept in ("free", "none", "penalized"):
        confirm(lasso_dual(X, y, 2.0, intercept=intercept))
    confirm(elastic_net_dual(X, y, 0.5, 1.0))


# -- the l1 problems


def l1_answers():
    rng = np.random.default_rng(7)
    A, b = rng.standard_normal((15, 6)), rng.standard_normal(15) * 3
    yield "least absolute deviations", least_absolute_deviations(A, b)
    yield "basis pursuit", basis_pursuit(rng.standard_normal((5, 12)), rng.standard_normal(5))
    yield "repeated rows", basis_pursuit(np.repeat(A[:3], 2, axis=0), np.repeat(b[:3], 2))
    yield "lasso", lasso(A, b, 1.5)
    yield "lasso, wide", lasso(A.T, b[:6], 0.5)
    yield "lasso, tau = 0", lasso(A, b, 0.0)
    yield "group lasso", group_lasso(A, b, [0, 0, 1, 1, 1, 2], 2.0)
    yield "fused lasso", generalized_lasso(np.eye(6), b[:6], np.diff(np.eye(6), axis=0), 0.7)
    y = np.where(b > 0, 1.0, -1.0)
    yield "logistic", l1_regularized(LogisticLoss(A, y), 0.8)
    yield "own penalties", group_lasso(A, b, range(6), 1.0, weights=[1, 2, 3, 0.5, 1, 0.2])


@pytest.mark.parametrize(
    ("name", "result"), list(l1_answers()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_l1_problems(name, result):
    confirm(result)
    moved = replace(result, x=result.x + 1e-4, z=result.z + 1e-4)
    assert not verify(moved).agrees


def test_a_loss_of_the_readers_own_has_no_exact_form():
    class Squares(SmoothLoss):
        n = 2

        def value(self, x):
            return float((x - 1) @ (x - 1)) / 2

        def gradient(self, x):
            return x - 1

        def hessian(self, x, S):
            return np.eye(S.size)

    result = l1_regularized(Squares(), 0.2)
    with pytest.raises(ValueError, match="does not know its problem"):
        verify(result)


# -- training algorithms


def labelled_clouds(seed=0, n=30):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.standard_normal((n, 2)) + 0.8 * y[:, None], y


TRAINED = {
    "hinge": lambda X, y: dual_coordinate_ascent(X, y, C=10.0),
    "quadratic": lambda X, y: dual_coordinate_ascent(X, y, C=2.0, loss="quadratic"),
    "Gaussian": lambda X, y: dual_coordinate_ascent(X, y, C=2.0, kernel="rbf"),
    "features": lambda X, y: dual_coordinate_ascent(X, y, kernel="poly", kernel_params={"degree": 2}),
    "Newton": lambda X, y: primal_newton(X, y, C=10.0),
    "Newton in beta": lambda X, y: primal_kernel_newton(X, y, C=2.0, kernel="rbf"),
    "precomputed": lambda X, y: primal_kernel_newton(X @ X.T + 1.0, y, kernel="precomputed"),
}  # fmt: skip


@pytest.mark.parametrize("train", TRAINED.values(), ids=TRAINED.keys())
def test_training_agrees(train):
    result = train(*labelled_clouds())
    confirm(result)
    for change in (
        {"alpha": result.alpha + 1e-4},
        {"alpha": -result.alpha},
        {"objective": result.objective * (1 + 1e-4)},
        {"dual_objective": result.dual_objective * (1 + 1e-4)},
        {"alpha": result.alpha * np.nan},
        {"w": result.w * 1.01} if result.w is not None else {"beta": result.beta * 1.01},
    ):
        wrong = verify(replace(result, **change))
        assert not wrong.ok, change
        assert not wrong.agrees, change


def test_training_that_was_cut_short_says_so():
    with pytest.warns(ConvergenceWarning, match="max_iter|epochs"):
        result = dual_coordinate_ascent(*labelled_clouds(), C=10.0, max_iter=2)
    found = verify(result)
    assert not found.ok
    assert found.agrees


# -- indefinite kernels


def indefinite_problem(seed, n=24):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, n))
    return B + B.T, np.where(np.arange(n) % 3, 1.0, -1.0)


@pytest.mark.parametrize("method", ["smm", "spgm", "accelerated"])
@pytest.mark.parametrize("seed", range(3))
def test_saddle_points_agree(method, seed):
    K0, y = indefinite_problem(seed)
    confirm(solve_indefinite(K0, y, C=1.0, rho=0.5, method=method))


def test_tampering_with_a_saddle_point_is_found():
    K0, y = indefinite_problem(0)
    result = solve_indefinite(K0, y, C=1.0, rho=0.5)
    for change in (
        {"alpha": result.alpha * 0.9},
        {"alpha": result.alpha + 1e-4 * y},
        {"multipliers": result.multipliers * 0.9},
        {"K": result.K + 0.01 * np.eye(len(y))},
        {"K": result.K - 0.01 * np.eye(len(y))},
        {"objective": result.objective * 1.001},
        {"upper_bound": result.upper_bound * 1.001},
        {"K": result.K * np.nan},
    ):
        wrong = verify(replace(result, **change))
        assert not wrong.ok, change
        assert not wrong.agrees, change


def test_indefinite_machines_agree():
    X, y = labelled_clouds()
    machine = IndefiniteSVC(C=2.0, kernel="sigmoid", kernel_params={"coef0": -1.0}).fit(X, y)
    assert machine.lambda_min_ < 0.0
    confirm(machine, X, y)
    machine.alpha_ = machine.alpha_ * 0.9
    assert not verify(machine, X, y).ok


@pytest.mark.parametrize("rho", [1e5, 1e8, 1e20])
def test_a_large_price_of_the_distance_is_no_obstacle(rho):
    """The constant rho |K - K0|^2 is 1e20 times the rest: what rounding does to K must not count times rho."""
    K0, y = indefinite_problem(1, n=8)
    result = solve_indefinite(K0, y, C=1.0, rho=rho)
    confirm(result)
    assert not verify(replace(result, alpha=result.alpha * 0.9, objective=np.nan)).ok
    assert not verify(replace(result, K=K0)).ok  # not positive semidefinite
    away = result.K + 1e-4 * np.abs(result.K).max() * np.eye(len(K0))
    assert not verify(replace(result, K=away)).ok


def test_sums_over_a_matrix_that_is_given_by_a_factor():
    rng = np.random.default_rng(0)
    V, K = rng.integers(-9, 10, (5, 3)) / 8, rng.integers(-9, 10, (5, 5)) / 4
    assert trace(K, V) == np.trace(K @ V @ V.T)
    assert square(V) == ((V @ V.T) ** 2).sum()


def test_the_linear_program_over_two_classes():
    """Blue 3, -1 against red 2, -1, -5: the pair 3 + 2 gains, -1 - 1 does not."""
    c, s = exact([3.0, -1.0, 2.0, -1.0, -5.0]), exact([1.0, 1.0, -1.0, -1.0, -1.0])
    assert largest_sum(c, s, 2) == 10


# -- consensus


def blocks(seed=0):
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((30, 5)), rng.standard_normal(30)
    return [(A[:7], b[:7]), (A[7:20], b[7:20]), (A[20:], b[20:])]


CONSENSUS = {
    "ridge": (RidgeObjective(0.5), float),
    "lasso": (LassoObjective(2.0), float),
    "lasso at zero": (LassoObjective(1e3), float),
    "squared hinge": (SquaredHingeObjective(3.0), np.sign),
}


@pytest.mark.parametrize(("objective", "kind"), CONSENSUS.values(), ids=CONSENSUS.keys())
def test_consensus_agrees(objective, kind):
    rows = [(A, b if kind is float else kind(b)) for A, b in blocks()]
    result = consensus(rows, objective)
    confirm(result)
    for change in (
        {"z": result.z + 1e-2},
        {"x": result.x + 1e-2},
        {"objective": result.objective * 1.001},
        {"z": result.z * np.nan},
    ):
        wrong = verify(replace(result, **change))
        assert not wrong.ok, change
        assert not wrong.agrees, change


class Nonnegative(ConsensusObjective):
    def block(self, A, b):
        return LeastSquaresLoss(A, b)

    def penalty(self, z):
        return 0.0 if (z >= 0).all() else np.inf

    def penalty_prox(self, v, t):
        return np.maximum(v, 0)


def test_consensus_results_that_cannot_be_verified_say_why():
    with pytest.raises(ValueError, match="got a result for Nonnegative"):
        verify(consensus(blocks(), Nonnegative()))
    result = consensus(blocks(), RidgeObjective(1.0))
    with pytest.raises(ValueError, match="does not know its problem"):
        verify(replace(result, problem=None))


# -- paths


@pytest.mark.parametrize("intercept", ["free", "none", "penalized"])
@pytest.mark.parametrize("K", [0.0, 0.7])
def test_the_texts_admm_for_the_lasso(intercept, K):
    rng = np.random.default_rng(19)
    X = rng.standard_normal((20, 5)) + 3.0
    y = X[:, 0] + rng.standard_normal(20)
    result = lasso_admm(X, y, 4.0, K=K, intercept=intercept, C=2.0, tol=1e-11)
    assert result.certificate.ok
    assert verify(result).ok
    np.testing.assert_allclose(
        result.z, ElasticNet(K, 4.0, intercept=intercept, C=2.0).fit(X, y).w_, atol=1e-9
    )
    changed = verify(replace(result, z=result.z + 1e-5))
    assert not changed.ok
    with pytest.warns(ConvergenceWarning):
        short = lasso_admm(X, y, 4.0, K=K, intercept=intercept, C=2.0, max_iter=3)
    assert not short.certificate.ok
    assert not verify(short).ok


@pytest.mark.parametrize("intercept", ["free", "none", "penalized"])
@pytest.mark.parametrize("K", [0.0, 0.7])
def test_lasso_paths_agree_at_every_point(intercept, K):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 30))
    path = lasso_path(X, X[:, 0] + rng.standard_normal(20), n_taus=5, K=K, intercept=intercept)
    found = verify(path)
    assert len(found) == 5
    assert all(point.ok and point.agrees for point in found)
    w = path.w.copy()
    w[3] *= 1.01
    assert [point.ok for point in verify(replace(path, w=w))] == [True, True, True, False, True]
    with pytest.raises(ValueError, match="does not know its problem"):
        verify(replace(path, problem=None))


def test_paths_of_machines_agree_at_every_point():
    X, y = labelled_clouds()
    for path in (nu_path(X, y, [0.4, 0.6, 0.8]), K_path(X, y, [0.1, 1.0], kernel="rbf")):
        found = verify(path, X, y)
        assert len(found) == len(path)
        assert all(point.ok and point.agrees for point in found)
    path[0].b_ += 1e-3
    assert [point.ok for point in verify(path, X, y)] == [False, True]


# -- right answers whose last digits cannot be better


def test_a_gradient_that_others_make_smaller_is_no_rounding():
    """min 1e12 (x1 - x2)^2 / 2 - x1 - x2 on the unit square. The terms of P x at (1/2, 1/2) hide much of q."""
    P = 1e12 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    result = solve_qp(P, [-1.0, -1.0], upper=1.0)
    confirm(result)
    middle = replace(result, x=np.full(2, 0.5), z_upper=np.zeros(2), objective=-1.0)
    assert verify(middle).worst >= 1.0


def test_a_constant_response_whose_mean_is_rounded():
    X, y = np.full((3, 1), 2.0), np.full(3, -2e-8)
    model = ElasticNet().fit(X, y)
    confirm(model, X, y)
    model.b_ *= 1 + 1e-9
    assert not verify(model, X, y).ok


def test_a_generalized_lasso_whose_differences_are_rounding():
    F = np.array([[-2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    result = generalized_lasso(np.full((3, 3), -2.0), np.full(3, -2.0), F, 1.0)
    confirm(result)
    assert not verify(replace(result, z=result.z + 1e-6)).ok


def test_a_generalized_lasso_whose_multipliers_are_rounding():
    A = np.diag([-2.0, 0.0, 0.0])
    result = generalized_lasso(A, [-2.0, -2.0, -2.0], np.full((2, 3), -2.0), 1.0)
    confirm(result)
    assert not verify(replace(result, u=result.u + 1e-6)).ok


def test_a_generalized_lasso_with_a_column_that_only_the_penalty_sees():
    """The sixth variable; the multipliers are zero, and what rounding leaves of them is all of its gradient."""
    A = np.array(
        [
            [2.0, -3, -3, -3, 3, 0, 2],
            [12, -6, -3, 0, 9, 0, 12],
            [0, -8, -10, -12, 6, 0, 0],
            [-4, 2, 1, 0, -3, 0, -4],
        ]
    )
    F = np.array([[1.0, -1, 0, 1, 0, -1, 1], [0, 0, 1, 1, 1, 1, 0]])
    result = generalized_lasso(A, [-1.0, 2.0, -3.0, -4.0], F, 0.0013597311837102652)
    confirm(result)
    assert not verify(replace(result, u=result.u + 1e-6)).ok
    assert not verify(replace(result, x=result.x + 1e-6)).ok
