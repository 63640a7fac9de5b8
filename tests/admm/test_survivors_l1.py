"""Tests of the l1 problems and of first-order methods that kill mutants (``make mutants``)."""

import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linprog

from companion.admm import (
    accelerated_proximal_gradient,
    basis_pursuit,
    estimate_lipschitz,
    generalized_lasso,
    group_lasso,
    krasnoselskii_mann,
    l1_regularized,
    lasso,
    least_absolute_deviations,
    proximal_gradient,
    proximal_point,
    soft_threshold,
)
from companion.admm.l1.deviations import _MANY, _LeastAbsolute
from companion.admm.l1.generalized import _GeneralizedLasso
from companion.admm.l1.interior import central_path
from companion.admm.l1.loop import in_units, relative, run
from companion.admm.l1.losses import LeastSquaresLoss, LogisticLoss, SmoothLoss
from companion.admm.l1.pursuit import _BasisPursuit
from companion.admm.l1.regularized import _L1, _GroupL2, _Regularized
from companion.admm.l1.signs import first_zero, newton_step
from companion.admm.l1.vertex import independent_rows, orthonormal
from companion.admm.splitting import Iterate
from companion.exceptions import ConvergenceWarning


def _data(m: int, n: int, seed: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)), rng.standard_normal(m)


FAT, TALL = _data(3, 6), _data(9, 3)
DIFFERENCES = np.diff(np.eye(3), axis=0)
UNITS = [(0, 0, 0), (400, -350, 300), (-400, 300, -280)]  # of A, b and F, as powers of two


def _solve(name: str, a: int = 0, c: int = 0, f: int = 0, **options):
    """Solve a problem in other units; return the result and the powers of x, z and the objective."""
    A, b = TALL
    A, b = np.ldexp(A, a), np.ldexp(b, c)
    if name == "deviations":
        return least_absolute_deviations(A, b, **options), (c - a, c, c)
    if name == "pursuit":
        return basis_pursuit(np.ldexp(FAT[0], a), np.ldexp(FAT[1], c), **options), (c - a,) * 3
    if name == "generalized":
        F, tau = np.ldexp(DIFFERENCES, f), float(np.ldexp(0.7, a + c - f))
        return generalized_lasso(A, b, F, tau, **options), (c - a, f + c - a, 2 * c)
    if name == "lasso":
        return lasso(A, b, float(np.ldexp(0.7, a + c)), **options), (c - a, c - a, 2 * c)
    found = group_lasso(A, b, [0, 0, 1], float(np.ldexp(0.7, a + c)), **options)
    return found, (c - a, c - a, 2 * c)


PROBLEMS = ["deviations", "pursuit", "generalized", "lasso", "group"]


@pytest.mark.parametrize("units", UNITS[1:])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_iteration_is_the_same_in_any_unit(name: str, units: tuple[int, int, int]) -> None:
    """Of x, z, the multiplier, the objective, the residuals and what a callback sees."""
    seen: list = []
    options = {"finish": False, "max_iter": 5, "keep_iterates": True, "tol": 1e-13}
    with pytest.warns(ConvergenceWarning):
        base, _ = _solve(name, **options)
    with pytest.warns(ConvergenceWarning):
        found, (x, z, value) = _solve(name, *units, **options, callback=seen.append)
    assert np.isfinite(base.history["objective"]).all()
    powers = {
        "x": x, "z": z, "u": z, "objective": value, "rho": value - 2 * z,
        "primal_residual": z, "dual_residual": value - x,
    }  # fmt: skip
    if (
        name == "deviations"
    ):  # each column of A has its own power, and the slopes of all one residual
        powers.pop("dual_residual")
    for key, power in powers.items():
        there = np.ldexp(found.history[key], -power)
        np.testing.assert_allclose(there, base.history[key], rtol=1e-9, atol=1e-12)
    for key in ("x", "z", "objective", "rho"):
        there = np.ldexp(getattr(found, key), -powers[key])
        np.testing.assert_allclose(there, getattr(base, key), rtol=1e-9, atol=1e-12)
    multipliers = np.ldexp(found.rho * found.u, z - value), base.rho * base.u
    np.testing.assert_allclose(*multipliers, rtol=1e-9, atol=1e-12)
    for k, step in enumerate(seen):
        np.testing.assert_allclose(step.x, found.history["x"][k], rtol=1e-12)
        np.testing.assert_array_equal(step.z, found.history["z"][k + 1])
        np.testing.assert_array_equal(step.u, found.history["u"][k + 1])
        for key in ("rho", "primal_residual", "dual_residual"):
            assert getattr(step, key) == found.history[key][k]


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_run_from_the_solution_stays_there(name: str, units: tuple[int, int, int]) -> None:
    """With another penalty too: u is rescaled, so that the multiplier is the same."""
    solution, (_, z, value) = _solve(name, *units)
    for rho in (None, float(np.ldexp(3.0, value - 2 * z))):
        options = {"finish": False, "max_iter": 1, "tol": 1e-30, "rho": rho}
        with warnings.catch_warnings():  # the step is rounding, or 0
            warnings.simplefilter("ignore", ConvergenceWarning)
            again, _ = _solve(name, *units, warm_start=solution, **options)
        np.testing.assert_allclose(np.ldexp(again.z - solution.z, -z), 0.0, atol=1e-10)
        assert np.ldexp(again.history["primal_residual"][0], -z) < 1e-10
        if rho is not None:
            assert again.rho == rho


@pytest.mark.parametrize("name", PROBLEMS)
def test_without_the_finish_the_tolerance_ends_the_run(name: str) -> None:
    rough, fine = (_solve(name, finish=False, tol=tol)[0] for tol in (1e-3, 1e-9))
    assert rough.converged
    assert fine.converged
    assert rough.n_iter < fine.n_iter


def test_what_no_point_can_certify_is_not_converged() -> None:
    with pytest.warns(ConvergenceWarning, match="no certified solution"):
        run = lasso(*TALL, 0.7, tol=1e-300, max_iter=400)
    assert (run.converged, run.status) == (False, "max_iter")


def test_residuals_are_relative() -> None:
    assert (relative(0.0, 0.0), relative(1.0, 2.0), relative(1.0, 0.0)) == (0.0, 0.5, np.inf)
    assert np.isnan(relative(np.nan, 1.0))
    assert in_units(3.0, 1, "tau") == 1.5
    for power, heaviest in ((-2000, np.inf), (-1, 5.0)):
        with pytest.raises(ValueError, match=r"^tau = 3 is too large"):
            in_units(3.0, power, "tau", heaviest)


# -- the certificates see each condition


def test_a_certificate_of_the_least_l1_norm_sees_each_condition() -> None:
    A, b = FAT
    problem, solution = _BasisPursuit(A, b), basis_pursuit(A, b)
    x, lambda_ = solution.x, solution.rho * solution.u
    assert problem.certify(x, x, lambda_, 1e-8).ok
    assert problem.certify(x, x, 1.5 * lambda_, 1e-8).dual_residual == pytest.approx(0.5)
    outside = np.linalg.svd(A)[2][-1]  # A'nu is never that
    free = np.where(x == 0.0, outside, 0.0)
    wrong = problem.certify(x, x, lambda_ * (x != 0) + 0.1 * free * (x == 0), 1e-8)
    assert wrong.dual_residual > 1e-3
    assert problem.certify(1.1 * x, 1.1 * x, lambda_, 1e-8).primal_residual > 1e-3
    assert problem.certify(x, x, -lambda_, 1e-8).complementarity > 1e-3


# -- exact finishes from the steps of ADMM, without the central path


def _least_deviations(A: np.ndarray, b: np.ndarray) -> float:
    m, n = A.shape
    rows = np.block([[A, -np.eye(m)], [-A, -np.eye(m)]])
    return linprog(np.r_[np.zeros(n), np.ones(m)], rows, np.r_[b, -b], bounds=(None, None)).fun


def _smallest_norm(A: np.ndarray, b: np.ndarray) -> float:
    return linprog(np.ones(2 * A.shape[1]), A_eq=np.hstack([A, -A]), b_eq=b).fun


@pytest.mark.parametrize("seed", range(4))
def test_vertices_are_found_from_the_splitting_too(seed: int) -> None:
    """Distinct data, and whole numbers, of which many rows fit or many entries vanish."""
    rng = np.random.default_rng(seed)
    for A in (rng.standard_normal((12, 3)), rng.integers(-2, 3, (12, 3)).astype(float)):
        b = rng.integers(-3, 4, 12).astype(float)
        for problem, best in (
            (_LeastAbsolute(A, b), _least_deviations(A, b)),
            (_BasisPursuit(A.T, A.T @ b), _smallest_norm(A.T, A.T @ b)),
        ):
            problem.path_is_next = False
            options = {"rho": None, "relaxation": 1.6, "tol": 1e-8, "max_iter": 3000}
            found = run(problem, given=None, finish=True, warm_start=None, **options)
            assert found.converged
            assert found.objective == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("problem", [_LeastAbsolute(*TALL), _BasisPursuit(*FAT)])
def test_the_directions_of_the_central_path_solve_its_system(problem) -> None:
    """dz - D dlambda = g, with dz in the range of A and dlambda orthogonal to it, or the reverse."""
    rng = np.random.default_rng(41)
    p = len(problem.Q)
    D, g = rng.uniform(0.1, 10.0, p), rng.standard_normal(p)
    directions = problem._newton(D)
    assert directions is not None
    dz, dlambda = directions(g)
    np.testing.assert_allclose(dz - D * dlambda, g, atol=1e-12)
    inside, outside = (dz, dlambda) if isinstance(problem, _LeastAbsolute) else (dlambda, dz)
    np.testing.assert_allclose(problem.Q.T @ outside, 0.0, atol=1e-12)
    np.testing.assert_allclose(problem.Q @ (problem.Q.T @ inside), inside, atol=1e-12)


@pytest.mark.parametrize("unit", [2.0**-60, 1.0, 2.0**60])
def test_the_central_path_ends_at_a_solution(unit: float) -> None:
    A, b = _data(40, 4, seed=42)
    problem = _LeastAbsolute(A, b)
    path = list(central_path(unit * problem.shortest, problem._newton, max_iter=20))
    assert len(path) > 2
    for point in path:
        moved = point.z / unit + problem.b
        np.testing.assert_allclose(problem.Q @ (problem.Q.T @ moved), moved, atol=1e-9)
        np.testing.assert_allclose(problem.Q.T @ point.lambda_, 0.0, atol=1e-9)
        assert np.abs(point.lambda_).max() < 1.0
        assert (point.spread > 0.0).all()
    z, lambda_, spread = path[-1]
    best = _least_deviations(A, b)
    assert np.abs(z).sum() / unit == pytest.approx(best, rel=1e-9)
    assert -(b @ lambda_) == pytest.approx(best, rel=1e-9)
    assert np.sum(spread < 1.0) == 4  # as many rows are fitted as there are columns
    np.testing.assert_allclose(z[spread < 1.0] / unit, 0.0, atol=1e-9)


# -- losses


class _Quadratic(SmoothLoss):
    """x'Hx/2 - h'x, by value, gradient and Hessian alone."""

    def __init__(self, H: np.ndarray, h: np.ndarray) -> None:
        self.H, self.h, self.n = H, h, len(h)

    def value(self, x: np.ndarray) -> float:
        return float(x @ self.H @ x / 2 - self.h @ x)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return self.H @ x - self.h

    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        return self.H[np.ix_(S, S)].copy()


@pytest.mark.parametrize("shape", [(9, 4), (3, 4)])
def test_by_how_much_a_loss_can_fall(shape: tuple[int, int]) -> None:
    """Columns of many lengths, one of them zero: the fall is that to the minimum over the entries S."""
    A, b = _data(*shape, seed=43)
    A = A * np.array([1e-6, 1.0, 1e6, 0.0])
    x, S = np.array([1e5, 0.3, -1e-5, 2.0]), np.array([0, 2, 3])
    exact = LeastSquaresLoss(A, b)
    plain = _Quadratic(A.T @ A, A.T @ b)
    rest = b - A[:, [1]] @ x[[1]]
    best = np.sum((rest - A[:, S[:2]] @ np.linalg.lstsq(A[:, S[:2]], rest)[0]) ** 2) / 2
    for loss in (exact, plain):
        assert loss.gain(x, S) == pytest.approx(exact.value(x) - best, rel=1e-6)


@pytest.mark.parametrize("rho", [0.5, 50.0])
def test_the_prox_of_a_loss_by_newton(rho: float) -> None:
    A, b = _data(9, 4, seed=44)
    v = np.array([1.0, -2.0, 0.5, 3.0])
    expected = np.linalg.solve(A.T @ A + rho * np.eye(4), A.T @ b + rho * v)
    for loss in (LeastSquaresLoss(A, b), _Quadratic(A.T @ A, A.T @ b), LeastSquaresLoss(A, b)):
        np.testing.assert_allclose(loss.prox(v, rho), expected, rtol=1e-10)
    logistic = LogisticLoss(A, np.sign(b))
    x = logistic.prox(30.0 * v, rho / 100)
    np.testing.assert_allclose(logistic.gradient(x), -rho / 100 * (x - 30.0 * v), atol=1e-8)


def test_the_dual_value_of_a_loss_is_below_each_value() -> None:
    """-phi*(t grad phi) at A x, for the squares and for the logistic loss."""
    A, b = _data(9, 4, seed=45)
    x, t = np.array([0.5, -0.25, 1.0, 0.125]), 0.375
    r = b - A @ x
    squares = LeastSquaresLoss(A, b).dual_value(x, t)
    assert squares == pytest.approx(b @ b / 2 - np.sum((b - t * r) ** 2) / 2)
    y = np.sign(b)
    p = t / (1.0 + np.exp(y * (A @ x)))
    entropies = -p * np.log(p) - (1.0 - p) * np.log1p(-p)
    assert LogisticLoss(A, y).dual_value(x, t) == pytest.approx(entropies.sum())
    assert LogisticLoss(A, y).curvature == pytest.approx(np.sum(A**2) / 16)
    assert LeastSquaresLoss(A, b).curvature == pytest.approx(np.sum(A**2) / 4)


def test_a_loss_takes_points_of_any_kind() -> None:
    loss = LeastSquaresLoss(*TALL)
    x = np.array([1.0, -2.0, 0.5])
    for point in ([1, -2, 0.5], x.astype(np.float32)):
        assert loss.value(point) == loss.value(x)
    for wrong in (np.ones(2), [1.0], np.ones((3, 1))):
        with pytest.raises(ValueError, match=r"^x must"):
            loss.value(wrong)


def _accelerated(momentum: float):
    return accelerated_proximal_gradient(
        np.copy, lambda v, t: v, [1.0], step=0.5, momentum=momentum
    )


A9, B9 = TALL
NAN9 = np.r_[np.nan, np.ones(8)]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        *[
            (lambda f=f: f(np.where(A9 > 9, A9, np.nan), B9), "A")
            for f in (least_absolute_deviations, LeastSquaresLoss, LogisticLoss)
        ],
        (lambda: basis_pursuit(np.full((2, 3), np.inf), np.ones(2)), "A"),
        (lambda: generalized_lasso(A9 * np.nan, B9, DIFFERENCES, 1.0), "A"),
        (lambda: generalized_lasso(A9, NAN9, DIFFERENCES, 1.0), "b"),
        (lambda: generalized_lasso(A9, B9[1:], DIFFERENCES, 1.0), "b"),
        (lambda: generalized_lasso(A9, B9, DIFFERENCES, -1.0), "tau"),
        (lambda: group_lasso(A9 * np.nan, B9, [0, 0, 1], 1.0), "A"),
        (lambda: group_lasso(A9, B9[1:], [0, 0, 1], 1.0), "b"),
        (lambda: group_lasso(A9, NAN9, [0, 0, 1], 1.0), "b"),
        (lambda: group_lasso(A9, B9, [0, 0, 1], -1.0), "tau"),
        (lambda: group_lasso(A9, B9, [0, 0, 1], 1.0, weights=[1.0]), "weights"),
        (lambda: lasso(A9, B9[1:], 1.0), "b"),
        (lambda: lasso(A9, B9, 1.0, tol=-1.0), "tol"),
        (lambda: lasso(A9, B9, 1.0, max_iter=0), "max_iter"),
        (lambda: l1_regularized(lambda v, rho: v, 1.0, n=0), "n"),
        (lambda: l1_regularized(LeastSquaresLoss(A9, B9), np.nan), "tau"),
        (lambda: l1_regularized(LeastSquaresLoss(A9, B9), np.ones(2)), "tau"),
        (lambda: LeastSquaresLoss(A9, B9[1:]), "b"),
        (lambda: LeastSquaresLoss(A9, NAN9), "b"),
        (lambda: LogisticLoss(A9, np.ones(4)), "y"),
        (lambda: LogisticLoss(A9, NAN9), "y"),
        (lambda: LeastSquaresLoss(A9, B9).prox(np.ones(2).tolist(), 1.0), "v"),
        (lambda: LeastSquaresLoss(A9, B9).prox(np.ones(3), -1.0), "rho"),
        (lambda: LogisticLoss(A9, np.sign(B9)).prox(np.ones(2), 1.0), "v"),
        (lambda: LogisticLoss(A9, np.sign(B9)).prox(np.ones(3), -1.0), "rho"),
        (lambda: proximal_point(lambda v, t: v, [1.0], step=0.0), "step"),
        (lambda: proximal_point(lambda v, t: v, [1.0], step=1.0, divergence=1.0), "divergence"),
        (lambda: proximal_point(lambda v, t: v, [1.0], step=1.0, max_iter=-1), "max_iter"),
        (lambda: proximal_point(lambda v, t: [1.0, 2.0], [1.0], step=1.0), "prox"),
        (lambda: proximal_gradient(np.copy, lambda v, t: [v], [1.0, 2.0], step=0.5), "prox"),
        (
            lambda: proximal_gradient(np.copy, lambda v, t: [v], [1.0, 2.0], smooth=np.sum),
            "prox",
        ),
        (lambda: estimate_lipschitz(np.copy, [np.nan]), "x"),
        (lambda: estimate_lipschitz(np.copy, [1.0], tol=0.0), "tol"),
        (lambda: estimate_lipschitz(np.copy, [1.0], max_iter=0), "max_iter"),
        (lambda: estimate_lipschitz(lambda x: np.ones(2), [1.0]), "gradient"),
        *[(lambda m=m: _accelerated(m), "momentum") for m in (-0.5, 1.5)],
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_argument_is_said_by_name(call: Callable, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(name)}(\(0\))? must"):
        call()


# -- first-order methods


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("momentum", [None, 0.875])
def test_the_accelerated_iteration_is_the_one_that_is_stated(momentum, restart: bool) -> None:
    """Momentum k / (k + 3), counted from the last restart: where it points against the step."""
    Q, tau, t = np.diag([1.0, 0.1, 0.01]), 0.05, 1.0
    h = np.array([3.0, -2.0, 0.5])
    with pytest.warns(
        ConvergenceWarning, match="restart=True, or smooth= for a line search may help$"
    ):
        run = accelerated_proximal_gradient(
            lambda x: Q @ x - h, lambda v, s: soft_threshold(v, s * tau), np.zeros(3), step=t,
            momentum=momentum, restart=restart, max_iter=60, tol=1e-30,
        )  # fmt: skip
    x = last = np.zeros(3)
    age, restarts = 0, 0
    for _ in range(60):
        y = x + (age / (age + 3) if momentum is None else momentum) * (x - last)
        after = soft_threshold(y - t * (Q @ y - h), t * tau)
        age += 1
        if restart and (y - after) @ (after - x) > 0.0:
            age, restarts = 0, restarts + 1
        x, last = after, x
    assert (restarts > 0) == restart
    np.testing.assert_allclose(run.x, x, rtol=1e-12)


def test_a_largest_eigenvalue_is_found_to_the_tolerance() -> None:
    """From any start; the default tolerance gives four digits."""
    Q = np.diag([1.0, 7.0, 9.0])
    found = [estimate_lipschitz(lambda x: Q @ x, np.ones(3))]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        found.append(estimate_lipschitz(lambda x: Q @ x, np.ones(3), tol=1e-8, rng=rng))
    np.testing.assert_allclose(found[:1], 9.0, rtol=2e-3)
    np.testing.assert_allclose(found[1:], 9.0, rtol=1e-5)
    rough = {
        estimate_lipschitz(lambda x: Q @ x, np.ones(3), tol=0.9, rng=np.random.default_rng(seed))
        for seed in range(3)
    }
    assert len(rough) == 3  # the generator that is given is the one that is used


@pytest.mark.parametrize("start", [1.0, 10.0])
def test_a_fixed_point_iteration_gives_up_beyond_its_bound(start: float) -> None:
    """x doubles: beyond 100 max(1, |x^0|) it is given up."""
    with pytest.warns(ConvergenceWarning, match="after 6 iterations"):
        run = proximal_point(lambda v, t: 2.0 * v, [start], step=1.0, divergence=100.0)
    assert (run.status, run.x.tolist()) == ("diverged", [64.0 * start])


def test_the_last_residual_of_a_fixed_point_iteration_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match=r"the residual is 5\.00e-01"):
        krasnoselskii_mann(lambda x: x / 2, [8.0], 1.0, max_iter=4)


LABEL = np.array([0, 0, 1, 1, 1, 2])


def _stationary(penalty, loss, x: np.ndarray) -> bool:
    return penalty.distance(x, -loss.gradient(x)) < 1e-11


@pytest.mark.parametrize("seed", range(3))
def test_newtons_method_on_a_support_ends_at_the_minimum(seed: int) -> None:
    """From any signs for the l1 norm; for groups from a point near the solution, within a few steps."""
    A, b = _data(12, 6, seed)
    loss = LeastSquaresLoss(A, 3.0 * b)
    start = np.random.default_rng(seed + 9).standard_normal(6)
    tau = np.array([0.5, 1.0, 2.0, 0.25, 0.0, 1.0])
    x = _L1(tau).minimize(loss, start, 60)
    assert _stationary(_L1(tau), loss, x)
    groups = _GroupL2(np.array([0.5, 0.25, 0.125]), LABEL)
    solution = group_lasso(A, 3.0 * b, LABEL, 1.0, weights=groups.tau).x
    assert groups.norms(solution).all()
    near = solution + 0.02 * start * np.abs(solution)
    x = groups.minimize(loss, near, 0)
    assert _stationary(groups, loss, x)
    np.testing.assert_allclose(x, solution, rtol=1e-9)


def test_groups_are_shrunk_and_measured_one_by_one() -> None:
    groups = _GroupL2(np.array([1.0, 2.0, 3.0]), LABEL)
    v = np.array([3.0, 4.0, 0.0, 0.0, 2.0, -8.0])
    np.testing.assert_allclose(groups.norms(v), [5.0, 2.0, 8.0])
    np.testing.assert_allclose(groups.prox(v, 2.0), [2.7, 3.6, 0.0, 0.0, 1.0, -6.5])
    np.testing.assert_allclose(groups.prox(v, 1.0), [2.4, 3.2, 0.0, 0.0, 0.0, -5.0])
    np.testing.assert_allclose(groups.direction(v), [0.6, 0.8, 0.0, 0.0, 1.0, -1.0])
    x = np.array([0.3, 0.4, 0.0, 0.0, 0.0, -0.5])
    lambda_ = np.array([0.6, 0.8, 1.0, 2.0, 2.0, -3.0])
    assert groups.distance(x, lambda_) == pytest.approx(1.0)  # |(1, 2, 2)| = 3, and tau = 2
    assert groups.distance(x, lambda_ + [0.0, 0.0, -1.0, -2.0, 0.0, 0.5]) == pytest.approx(0.5)


@pytest.mark.parametrize("tau", [0.01, 0.7])
def test_the_gap_is_that_of_a_point_and_its_scaled_residual(tau: float) -> None:
    A, b = _data(9, 4)
    loss, x = LeastSquaresLoss(A, b), np.array([0.5, -0.25, 0.0, 0.125])
    problem = _Regularized(loss, _L1(np.full(4, tau)))
    r = b - A @ x
    t = min(1.0, tau / np.abs(A.T @ r).max())
    value = r @ r / 2 + tau * np.abs(x).sum()
    gap = value - (b @ b / 2 - np.sum((b - t * r) ** 2) / 2)
    found = problem.certify(x, x, A.T @ r, 1e-8)
    assert found.gap == pytest.approx(gap / value)
    assert found.complementarity == pytest.approx(
        np.abs(tau * np.abs(x) - (A.T @ r) * x).max() / value
    )


def test_the_multiplier_is_the_negative_gradient() -> None:
    """At zero, at an unfinished point and at a solution."""
    A, b = _data(9, 4)
    for tau, options in ((1e3, {}), (0.7, {}), (0.7, {"finish": False, "tol": 1e-12})):
        run = lasso(A, b, tau, **options)
        assert run.x.any() == (tau < 1.0)
        np.testing.assert_allclose(run.rho * run.u, A.T @ (b - A @ run.z), atol=1e-9)
    with pytest.warns(ConvergenceWarning):
        run = lasso(A, b, 0.7, max_iter=3, finish=False)
    np.testing.assert_allclose(run.rho * run.u, A.T @ (b - A @ run.z), atol=1e-12)


def test_groups_may_have_names_of_any_kind() -> None:
    A, b = _data(9, 4)
    plain = group_lasso(A, b, [0, 0, 1, 0], 1.0).x
    for groups in ([0.0, 0.0, 1.5, 0.0], ["a", "a", "b", "a"], [[0, 1, 3], [2]], (7, 7, 8, 7)):
        np.testing.assert_array_equal(group_lasso(A, b, groups, 1.0).x, plain)
    masked = np.ma.array([0, 0, 1, 0], mask=[0, 0, 0, 1])
    with pytest.raises(ValueError, match=r"^groups has masked"):
        group_lasso(A, b, masked, 1.0)
    for wrong, error, told in (
        (5, TypeError, "groups must be a sequence, got int"),
        ("0010", TypeError, "groups must be a sequence, got str"),
        ({0: 0}, TypeError, "groups must be a sequence, got dict"),
        ([0.0, np.nan, 1.0, 0.0], ValueError, "groups must be finite"),
        ([[0, 1], [2]], ValueError, r"each of 0, \.\.\., 3 once; 3 is missing"),
        ([[0, 1], [2, 2, 3]], ValueError, r"each of 0, \.\.\., 3 once; got index 2 twice"),
        ([[0, 1], [2, 4]], ValueError, r"each of 0, \.\.\., 3 once; got index 4 but n = 4"),
        ([[0, 1], [2, -1]], ValueError, "an index in groups must be"),
    ):
        with pytest.raises(error, match=told):
            group_lasso(A, b, wrong, 1.0)


def test_a_run_remembers_its_loss() -> None:
    A, b = _data(9, 4)
    run = l1_regularized(LogisticLoss(A, np.sign(b)), 0.5)
    assert run.problem.name == "logistic regression"
    np.testing.assert_array_equal(run.problem.data["tau"], np.full(4, 0.5))


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_a_small_curvature_is_none_in_any_unit(unit: float) -> None:
    H = unit * np.diag([1.0, 1e-14])
    np.testing.assert_allclose(newton_step(H, H @ [2.0, -3.0], 0.0, 1.0), [-2.0, 3.0], rtol=1e-9)
    for reach, far in ((3.0, 3e10), (0.0, 1e10)):
        step = newton_step(unit * np.diag([1.0, 0.0]), unit * np.array([0.0, 4.0]), 1e-12, reach)
        np.testing.assert_allclose(step, [0.0, -far])


def test_a_sign_is_lost_beyond_zero_only_and_by_a_step_towards_it() -> None:
    """The second entry has the wrong sign, and its step mends that."""
    part, left = first_zero(np.array([1.0, -1.0]), np.array([-1.0, 0.5]), np.array([1.0, 1.0]))
    assert (part, left.size) == (1.0, 0)


@pytest.mark.parametrize("angle", [1.0, 1e-1, 1e-5, 1e-9, 0.0])
@pytest.mark.parametrize("m", [3, 8])
def test_columns_are_made_orthonormal_at_any_angle(m: int, angle: float) -> None:
    A = np.random.default_rng(50).standard_normal((m, 3))
    A[:, 2] = A[:, 0] - A[:, 1] + angle * A[:, 2]
    A /= np.linalg.norm(A, axis=0)
    Q, R, kept = orthonormal(A)
    assert kept.size == Q.shape[1] == (3 if angle else 2)
    np.testing.assert_allclose(Q.T @ Q, np.eye(kept.size), atol=1e-14)
    np.testing.assert_allclose(Q @ R, A[:, kept], atol=1e-14)
    np.testing.assert_allclose(np.tril(R, -1), 0.0, atol=1e-15)
    wide = np.ones((2, 3)) / np.sqrt(2.0)
    assert orthonormal(wide)[0].shape == (2, 1)


def test_rows_of_large_size_are_taken_if_they_are_independent() -> None:
    Q = np.linalg.qr(np.random.default_rng(51).standard_normal((9, 3)))[0]
    size = np.array([0.1, 5.0, 0.2, 0.3, 7.0, 0.1, 0.1, 6.0, 0.4])
    assert independent_rows(Q, size).tolist() == [1, 4, 7]
    Q[7] = Q[1] + Q[4]
    rows = independent_rows(Q, size)
    assert np.linalg.svd(Q[rows])[1].min() > 1e-3
    assert {1, 4, 7} - set(rows)
    assert len(set(rows) & {1, 4, 7}) == 2


# -- vertices


def _whole_numbers(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Data of which many rows can be fitted at once."""
    rng = np.random.default_rng(seed)
    return rng.integers(-2, 3, (14, 3)).astype(float), rng.integers(-2, 3, 14).astype(float)


@pytest.mark.parametrize("seed", range(6))
def test_exchanges_lead_from_any_rows_to_the_least_deviations(seed: int) -> None:
    A, b = _data(20, 4, seed)
    problem = _LeastAbsolute(A, b)
    rows = np.sort(np.random.default_rng(seed).permutation(20)[:4])
    first, w, multiplier = problem._exchange(rows, 0)
    assert first.tolist() == rows.tolist()
    np.testing.assert_allclose(problem.Q[rows] @ w, b[rows], atol=1e-12)
    z = problem._deviations(w, rows)
    np.testing.assert_allclose(multiplier @ problem.Q[rows], -np.sign(z) @ problem.Q, atol=1e-10)
    last, w, multiplier = problem._exchange(rows, 100)
    assert np.abs(multiplier).max() <= 1.0 + 1e-9
    z = problem._deviations(w, last)
    assert np.flatnonzero(z == 0.0).tolist() == sorted(last)
    assert np.abs(z).sum() == pytest.approx(_least_deviations(A, b), rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_exchanges_lead_from_any_support_to_the_least_norm(seed: int) -> None:
    A, b = _data(4, 16, seed)
    problem = _BasisPursuit(A, b)
    S = np.sort(np.random.default_rng(seed).permutation(16)[:4])
    assert problem._exchange(S, 0).tolist() == S.tolist()
    last = problem._exchange(S, 100)
    x = np.linalg.solve(A[:, last], b)
    assert np.abs(x).sum() == pytest.approx(_smallest_norm(A, b), rel=1e-10)
    answers = list(problem._fit(last, np.zeros(16), np.zeros(4)))
    assert problem.certify(*answers[0], 1e-8).ok


@pytest.mark.parametrize("seed", range(12))
def test_a_vertex_is_found_from_sizes_of_any_kind(seed: int) -> None:
    """In whole numbers the multiplier has a choice, and a guess that is far off must not matter."""
    rng = np.random.default_rng(seed)
    for A, b in (_whole_numbers(seed), _data(14, 3, seed)):
        deviations = _LeastAbsolute(A, b)
        answers = list(deviations._vertex(rng.random(14), 3.0 * rng.standard_normal(14), _MANY))
        assert any(deviations.certify(*answer, 1e-8).ok for answer in answers)
        x, z, _ = answers[-1]
        np.testing.assert_allclose(deviations.A @ x - b, z, atol=1e-11)
        assert np.abs(z).sum() == pytest.approx(_least_deviations(A, b), rel=1e-9)
        assert np.count_nonzero(z == 0.0) >= deviations.kept.size
        pursuit = _BasisPursuit(A.T, A.T @ b)
        noise = rng.standard_normal(14)
        found = pursuit._vertex(rng.random(14), noise, rng.standard_normal(pursuit.rank), 100)
        x = list(found)[-1][0]
        np.testing.assert_allclose(A.T @ x, A.T @ b, atol=1e-9)
        assert np.abs(x).sum() == pytest.approx(_smallest_norm(A.T, A.T @ b), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_multiplier_is_spread_over_the_rows_that_fit(seed: int) -> None:
    """Orthogonal to the columns, sign z elsewhere, and as near as that allows to the guess, cut to [-1, 1]."""
    A, b = _whole_numbers(seed)
    problem = _LeastAbsolute(A, b)
    solution = least_absolute_deviations(A, b)
    z = np.where(np.abs(solution.z) < 1e-9, 0.0, solution.z)
    guess = 2.0 * np.random.default_rng(seed).standard_normal(14)
    lambda_, free = problem._spread(z, guess), z == 0.0
    assert free.sum() >= 3
    np.testing.assert_allclose(problem.Q.T @ lambda_, 0.0, atol=1e-12)
    np.testing.assert_array_equal(lambda_[~free], np.sign(z[~free]))
    move = lambda_[free] - np.clip(guess[free], -1.0, 1.0)
    fit = problem.Q[free] @ np.linalg.lstsq(problem.Q[free], move)[0]
    np.testing.assert_allclose(fit, move, atol=1e-12)


# -- the certificates see each condition


def test_a_certificate_of_least_deviations_sees_each_condition() -> None:
    A, b = _data(9, 3)
    problem, solution = _LeastAbsolute(A, b), least_absolute_deviations(A, b)
    x, z, lambda_ = problem.norms * solution.x, solution.z, solution.rho * solution.u
    assert problem.certify(x, z, lambda_, 1e-8).ok
    assert problem.certify(x, z, 1.5 * lambda_, 1e-8).dual_residual == pytest.approx(0.5)
    off = 0.9 * lambda_ + 0.1 * problem.Q[:, 0]
    assert problem.certify(x, z, off, 1e-8).dual_residual == pytest.approx(0.1)
    assert problem.certify(x, z, -lambda_, 1e-8).complementarity > 1e-3
    assert problem.certify(x, z, 0.0 * lambda_, 1e-8).gap == pytest.approx(1.0)
    assert problem.certify(1.1 * x, z, lambda_, 1e-8).primal_residual > 1e-3


def test_a_certificate_of_the_generalized_lasso_sees_each_condition() -> None:
    A, b = _data(9, 4)
    F, tau = np.diff(np.eye(4), axis=0), 0.7
    problem, solution = _GeneralizedLasso(A, b, F, tau), generalized_lasso(A, b, F, tau)
    x, z, lambda_ = solution.x, solution.z, solution.rho * solution.u
    assert problem.certify(x, z, lambda_, 1e-8).ok
    loose = problem.certify(x, z, 0.9 * lambda_, 1e-8)
    assert loose.dual_residual > 1e-3
    assert loose.gap > 1e-4
    assert problem.certify(x, z + 0.01, lambda_, 1e-8).primal_residual > 1e-4
    assert problem.certify(x, z, -lambda_, 1e-8).complementarity > 1e-3
    light = _GeneralizedLasso(A, b, F, 0.5 * tau)
    assert light.certify(x, z, lambda_, 1e-8).dual_residual >= 0.99  # |lambda| = 2 tau


@pytest.mark.parametrize("seed", range(8))
def test_the_last_vertex_of_the_path_is_a_solution(seed: int) -> None:
    """The first ones that are certified end the run: the last one would still be found without them."""
    for A, b in (_whole_numbers(seed), _data(14, 3, seed)):
        for problem in (_LeastAbsolute(A, b), _BasisPursuit(A.T, A.T @ b)):
            *_, last = problem._along_the_path()
            assert problem.certify(*last, 1e-8).ok


@pytest.mark.parametrize(
    ("A", "b"),
    [
        (np.zeros((5, 2)), np.arange(-2.0, 3.0)),  # nothing can be fitted
        (np.ones((5, 2)), np.full(5, 3.0)),  # all rows can
        (np.arange(10.0).reshape(5, 2), np.zeros(5)),
    ],
)
def test_deviations_without_a_path(A: np.ndarray, b: np.ndarray) -> None:
    problem = _LeastAbsolute(A, b)
    *_, (x, z, lambda_) = problem._along_the_path()
    assert problem.certify(x, z, lambda_, 1e-8).ok
    np.testing.assert_allclose(z, -b if not A.any() else 0.0, atol=1e-12)
    assert x.size == problem.kept.size == (1 if A[0, 0] else 2 if A.any() else 0)


@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
def test_a_fit_on_a_support_has_the_nearest_multiplier(size: float) -> None:
    """One entry of the support is 0 after all: there the multiplier has a choice; it is scaled to be feasible."""
    A, _ = _data(5, 16)
    expected = np.zeros(16)
    expected[[2, 7]] = 1.5, -0.5
    problem = _BasisPursuit(A, A @ expected)
    rng = np.random.default_rng(46)
    y = size * rng.standard_normal(5)
    [(x, z, lambda_)] = problem._fit(np.array([2, 5, 7]), rng.standard_normal(16), y)
    np.testing.assert_allclose(x, expected, atol=1e-12)
    assert np.flatnonzero(x).tolist() == [2, 7]
    assert z is x
    shrink = lambda_[2]
    np.testing.assert_allclose(lambda_[7], -shrink)
    assert np.abs(lambda_).max() == pytest.approx(1.0)
    move = problem.Q.T @ lambda_ / shrink - y
    part = problem.Q[[2, 7]].T
    np.testing.assert_allclose(part @ np.linalg.lstsq(part, move)[0], move, atol=1e-10 * size)


def test_the_multiplier_of_a_step_is_feasible() -> None:
    problem = _BasisPursuit(*_data(3, 6))
    u = np.random.default_rng(47).standard_normal(6)
    for rho in (0.01, 100.0):
        step = Iterate(5, u, u, u, rho, 0.0, 0.0)
        _, _, lambda_ = problem.plain(step)
        inside = rho * problem.Q @ (problem.Q.T @ u)
        np.testing.assert_allclose(lambda_, inside / max(np.abs(inside).max(), 1.0))
