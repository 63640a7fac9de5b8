"""Tests of multipliers, splittings and first-order methods that kill mutants (``make mutants``)."""

import pathlib
import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse

from companion.admm import (
    ConsensusObjective,
    LassoObjective,
    LeastSquaresBlock,
    RidgeObjective,
    SquaredHingeObjective,
    admm,
    augmented_lagrangian,
    block_soft_threshold,
    consensus,
    convergence_inequalities,
    dual_ascent,
    dual_decomposition,
    dual_function,
    lyapunov,
    method_of_multipliers,
    moreau_envelope,
    project_affine,
    project_ball,
    project_box,
    project_halfspace,
    project_l1_ball,
    project_orthant,
    project_psd,
    project_simplex,
    prox_add_linear,
    prox_conjugate,
    prox_elastic_net,
    prox_huber,
    prox_indicator,
    prox_linf_norm,
    prox_logistic,
    prox_postcompose,
    prox_precompose,
    prox_precompose_tight,
    prox_quadratic,
    prox_regularize,
    prox_separable_sum,
    quadratic_argmin,
    soft_threshold,
)
from companion.admm.consensus import (
    SquaredHingeBlock,
    _certify,
    _column_weights,
    _describe_objective,
    _relative,
    _warn_if_missed,
)
from companion.admm.splitting import _Balance
from companion.certificates import Certificate
from companion.exceptions import ConvergenceWarning, UnboundedProblemError

I2, V2, V3 = np.eye(2), np.ones(2), np.ones(3)
NAN2 = np.array([1.0, np.nan])


def _run(**options):
    """Example 16.4: minimise 2x + z^2 subject to 2x - z = 0."""
    return admm(
        lambda v, rho: (v - 1 / rho) / 2, lambda v, rho: -rho * v / (rho + 2), 2, -1, 0,
        objective=lambda x, z: 2 * x[0] + z[0] ** 2, **options,
    )  # fmt: skip


_SADDLE = {"x_star": [-0.25], "z_star": [-0.5], "lambda_star": [-1.0], "p_star": -0.25}


def _inequalities(A=2, B=-1, c=(0.0,), **point):
    history = _run(keep_iterates=True).history
    return convergence_inequalities(history, A, B, c, **_SADDLE | point)


def _decomposition(b=(1.0,), step=0.5):
    return dual_decomposition([(lambda l: -l, [[1.0]])], b, [0.0], step)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: method_of_multipliers(lambda l: l, I2, V2, V2, -1.0), "rho"),
        (lambda: _decomposition(b=[np.nan]), "b"),
        (lambda: _decomposition(step=0.0), "step"),
        (lambda: dual_ascent(lambda l: -l, I2, V2, V2, 0.5, tol=-1.0), "tol"),
        (lambda: dual_ascent(lambda l: -l, I2, V2, V2, 0.5, divergence=1.0), "divergence"),
        (lambda: augmented_lagrangian(np.sum, [1.0, 1.0], V2), "A"),
        (lambda: augmented_lagrangian(np.sum, I2, V3), "b"),
        (lambda: augmented_lagrangian(np.sum, I2, V2, -1.0), "rho"),
        (lambda: augmented_lagrangian(np.sum, I2, V2)(V3, V2), "u"),
        (lambda: augmented_lagrangian(np.sum, I2, V2)(V2, V3), "lambda_"),
        (lambda: dual_function(lambda l: -l, np.sum, I2, V2)(V3), "lambda_"),
        (lambda: quadratic_argmin(I2, V3, I2), "c"),
        (lambda: quadratic_argmin(I2, V2, np.ones((1, 3))), "A"),
        (lambda: quadratic_argmin(I2, V2, I2, V2, -1.0), "rho"),
        (lambda: quadratic_argmin(I2, V2, I2, V3, 1.0), "b"),
        (lambda: quadratic_argmin(I2, V2, I2)(V3), "lambda_"),
        (lambda: lyapunov(_run(keep_iterates=True).history, [[np.nan]], [0.0], [0.0]), "B"),
        (lambda: lyapunov(_run(keep_iterates=True).history, -1, V2, [0.0]), "z_star"),
        (lambda: lyapunov(_run(keep_iterates=True).history, -1, [0.0], V2), "lambda_star"),
        (lambda: _inequalities(A=[[np.nan]]), "A"),
        (lambda: _inequalities(B=[[np.nan]]), "B"),
        (lambda: _inequalities(c=[np.nan]), "c"),
        (lambda: _inequalities(x_star=V2), "x_star"),
        (lambda: _inequalities(z_star=V2), "z_star"),
        (lambda: _inequalities(lambda_star=V2), "lambda_star"),
        (lambda: _inequalities(p_star=np.nan), "p_star"),
        (lambda: admm(np.copy, np.copy, I2, -I2, V3), "c"),
        (lambda: admm(np.copy, np.copy, I2, -I2, NAN2), "c"),
        (lambda: admm(np.copy, np.copy, I2, -I2, 0, z0=V3), "z0"),
        (lambda: admm(np.copy, np.copy, 1, -1, 0, z0=V2, u0=V3), "u0"),
        (lambda: admm(np.copy, np.copy, np.nan, -I2, 0), "A"),
        (lambda: admm(np.copy, np.copy, I2, sparse.csr_matrix([[np.inf, 1.0]] * 2), 0), "B"),
        *[
            (lambda name=name: _run(**{name: -1}), name)
            for name in ("tau_incr", "tau_decr", "mu", "tol_abs", "tol_rel", "adapt_steps")
        ],
    ],
)  # fmt: skip
def test_an_argument_that_is_wrong_is_named(call: Callable, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(name)} must"):
        call()


@pytest.mark.parametrize("increase", [1.5, 2.0])
def test_the_penalty_turns_ten_times(increase: float) -> None:
    """Eleven changes: the first one is no turn."""
    balance = _Balance(increase, 4.0, 10.0)
    assert balance.factor(10.0, 1.0) == balance.factor(1.0, 10.0) == 1.0  # at the edge it stays
    changes = [balance.factor(*((20.0, 1.0) if k % 2 else (1.0, 20.0))) for k in range(14)]
    assert changes == ([0.25, increase] * 6)[:11] + [1.0] * 3


@pytest.mark.parametrize(("residuals", "factor"), [((2.0, 0.1), 2.0), ((0.1, 2.0), 0.5)])
def test_the_penalty_stays_within_ten_powers_of_ten(
    residuals: tuple[float, float], factor: float
) -> None:
    balance = _Balance(2.0, 2.0, 10.0)
    changes = [balance.factor(*residuals) for _ in range(40)]
    assert changes == [factor] * 33 + [1.0] * 7  # 2^33 < 1e10 < 2^34
    assert balance.factor(*residuals[::-1]) == 1.0 / factor


def test_the_inequality_that_holds_from_any_start_is_the_one_that_is_stated() -> None:
    run = _run(z0=[0.5], u0=[-11.0], keep_iterates=True, rho=3.0)
    slack = convergence_inequalities(run.history, 2, -1, [0], **_SADDLE)
    x, z = run.history["x"][:, 0], run.history["z"][:, 0]
    V = (3.0 * run.history["u"][:, 0] + 1.0) ** 2 / 3.0 + 3.0 * (z + 0.5) ** 2
    r, step = 2.0 * x - z[1:], -np.diff(z)
    np.testing.assert_allclose(
        slack["A1 from any start"], V[:-1] - V[1:] - 3.0 * (r - step) ** 2, atol=1e-12
    )


def test_one_step_has_a_lyapunov_function() -> None:
    run = _run(keep_iterates=True, callback=lambda step: True)
    assert lyapunov(run.history, -1, [-0.5], [-1.0]).size == 2
    run.history["rho"] = np.array([1.0, 1.5])
    with pytest.raises(ValueError, match="rho changed"):
        lyapunov(run.history, -1, [-0.5], [-1.0])


def test_a_start_gives_the_length_where_the_constraint_has_none() -> None:
    """f = g = |x|^2/2 with x = z."""
    half = lambda v, rho: rho * v / (1.0 + rho)  # noqa: E731
    for start in ({"z0": V3}, {"u0": V3}, {"z0": V3, "u0": -V3}):
        assert admm(half, lambda v, rho: -half(v, rho), 1, -1, 0, **start).x.shape == (3,)


def test_an_update_may_return_numbers_of_any_kind() -> None:
    run = admm(lambda v, rho: 3, lambda v, rho: [3], 1, -1, 0)
    assert (run.x.dtype, run.z.dtype, run.x.tolist()) == (np.float64, np.float64, [3.0])
    A = sparse.csr_matrix(np.eye(2, dtype=np.int8))
    run = admm(lambda v, rho: [200, 100], lambda v, rho: [200, 100], A, -1, 0)
    assert run.x.tolist() == run.z.tolist() == [200.0, 100.0]


def test_a_run_that_ends_at_its_first_step() -> None:
    with pytest.warns(ConvergenceWarning, match="step 1 gave NaN"):
        run = admm(
            lambda v, rho: v * np.nan, lambda v, rho: v, 1, -1, 0, objective=lambda x, z: 1.0
        )
    assert (run.n_iter, run.status) == (0, "diverged")
    assert np.isnan(run.objective)


@pytest.mark.parametrize(("tol", "n_iter"), [(0.5, 2), (0.4, 3)])
def test_dual_ascent_stops_at_the_tolerance(tol: float, n_iter: int) -> None:
    """min u^2/2 with u = 1/2: the residual is halved each time, from 1/2; the tolerance is a part of b."""
    run = dual_ascent(lambda l: -l, [[1.0]], [0.5], [0.0], 0.5, tol=tol)
    assert (run.n_iter, run.converged) == (n_iter, True)


@pytest.mark.parametrize(("b", "start"), [(1.0, 0.0), (10.0, 0.0), (0.0, 10.0)])
def test_dual_ascent_gives_up_beyond_its_bound(b: float, start: float) -> None:
    """With step 3 the distance of lambda from -b doubles; |(u, lambda)| <= 100 max(1, |b|, |start|)."""
    with pytest.warns(ConvergenceWarning, match=r"after 6 updates.*; a smaller step may help$"):
        run = dual_ascent(lambda l: -l, [[1.0]], [b], [start], 3.0, divergence=100.0)
    assert (run.n_iter, run.status) == (6, "diverged")


def test_the_last_residual_is_told() -> None:
    told = r"= 6\.25e-02 > .*; increase max_iter, or a smaller step may help$"
    with pytest.warns(ConvergenceWarning, match=told):
        run = dual_ascent(lambda l: -l, [[1.0]], [0.5], [0.0], 0.5, max_iter=4)
    assert run.history["primal_residual"][-1] == 0.0625
    argmin = quadratic_argmin([[1.0]], [0.0], [[1.0]], [1.0], 0.5)
    with pytest.warns(ConvergenceWarning, match=r"increase max_iter, or a larger rho may help$"):
        method_of_multipliers(argmin, [[1.0]], [1.0], [0.0], 0.5, max_iter=1)
    with pytest.warns(ConvergenceWarning, match=r"increase max_iter, or a smaller step may help$"):
        dual_decomposition([(lambda l: -l, [[1.0]])], [0.5], [0.0], 0.5, max_iter=1)


def test_the_dual_function_of_the_augmented_lagrangian() -> None:
    Q, c, A, b, rho = (
        np.diag([1.0, 2.0]),
        np.array([1.0, -1.0]),
        np.array([[2.0, -1.0]]),
        np.array([5.0]),
        0.5,
    )
    argmin, J = quadratic_argmin(Q, c, A, b, rho), lambda u: u @ Q @ u / 2 + c @ u
    G = dual_function(argmin, J, A, b, rho)
    M = Q + rho * A.T @ A
    for l in (-1.0, 0.5, 3.0):
        h = c + A[0] * l - rho * b[0] * A[0]
        assert G([l]) == pytest.approx(
            -h @ np.linalg.solve(M, h) / 2 - l * b[0] + rho * b[0] ** 2 / 2
        )
    run = method_of_multipliers(argmin, A, b, [3.0], rho, J=J)
    values = [G(l) for l in run.history["lambda_"][:-1]]
    np.testing.assert_allclose(run.history["dual_objective"], values, rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_the_minimum_of_an_ill_conditioned_form_in_any_unit(unit: float) -> None:
    Q = unit * np.array([[1.0, 0.9999], [0.9999, 1.0]])
    u = quadratic_argmin(Q, -Q @ [1.0, -1.0], I2)(np.zeros(2))
    np.testing.assert_allclose(u, [1.0, -1.0], rtol=1e-8)


@pytest.mark.parametrize("rho", [0.5, 2.0])
def test_the_penalty_alone_with_columns_of_many_sizes(rho: float) -> None:
    A, u = np.array([[1e8, 1e-8], [1e8, 3e-8]]), np.array([1e-8, 1e8])
    found = quadratic_argmin(np.zeros((2, 2)), np.zeros(2), A, A @ u, rho)(np.zeros(2))
    np.testing.assert_allclose(found, u, rtol=1e-12)


def test_of_many_minimisers_the_shortest_is_found() -> None:
    v = np.array([1.0, 1e3, -1e-3])
    u = quadratic_argmin(np.outer(v, v), -v, np.eye(3))(np.zeros(3))
    np.testing.assert_allclose(u, v / (v @ v), rtol=0.0, atol=1e-12)


def test_rounding_is_no_slope() -> None:
    """0.1 * 3 - 0.3 is not 0, but no slope either; the ray of a true one has length 1."""
    argmin = quadratic_argmin([[0.0, 0.0], [0.0, 0.0]], [-0.3, 0.0], [[0.1, 0.0]])
    assert 0.1 * 3 != 0.3
    assert argmin([3.0]).tolist() == [0.0, 0.0]
    with pytest.raises(UnboundedProblemError) as raised:
        argmin([0.0])
    np.testing.assert_allclose(raised.value.ray, [1.0, 0.0])
    with pytest.raises(UnboundedProblemError, match="got the eigenvalue -2 for") as raised:
        quadratic_argmin([[1.0, 3.0], [3.0, 1.0]], [0.0, 0.0], [[0.0, 0.0]])
    np.testing.assert_allclose(np.abs(raised.value.ray), [0.5**0.5, 0.5**0.5])


def _rows(m: int, n: int, seed: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)), rng.standard_normal(m)


def _labels(m: int, n: int, seed: int = 61) -> tuple[np.ndarray, np.ndarray]:
    A, b = _rows(m, n, seed)
    return A, np.where(b > 0.0, 1.0, -1.0)


WEIGHTS = (np.array([0.5, 1.0, 2.0, 3.0]), np.array([1e-2, 10.0, 1.0, 5.0]))
V = np.array([1.0, -2.0, 0.5, 3.0])


@pytest.mark.parametrize("m", [2, 4, 9])
def test_the_step_of_a_block_of_squares(m: int) -> None:
    """For fewer rows than columns and for more; another weight needs another factor."""
    A, b = _rows(m, 4)
    block = LeastSquaresBlock(A, b)
    for w in (*WEIGHTS, WEIGHTS[0]):
        x, loss = block.prox(V, w)
        np.testing.assert_allclose(A.T @ (A @ x - b), w * (V - x), atol=1e-11)
        assert loss == pytest.approx(np.sum((A @ x - b) ** 2) / 2)
    assert block.fat == (m < 4)
    assert (block.AtA is None) == block.fat
    value, gradient = block.loss_and_gradient(V)
    assert value == pytest.approx(np.sum((A @ V - b) ** 2) / 2)
    np.testing.assert_allclose(gradient, A.T @ (A @ V - b))
    np.testing.assert_allclose(block.curvature(), (A.T @ A).diagonal())


@pytest.mark.parametrize("m", [2, 4, 30])
@pytest.mark.parametrize("K", [0.25, 8.0])
def test_the_step_of_a_block_of_squared_hinges(m: int, K: float) -> None:
    A, b = _labels(m, 4)
    block = SquaredHingeBlock(A, b, K)
    for w in (*WEIGHTS, WEIGHTS[0]):
        for v in (V, -10.0 * V, 0.1 * V):
            x, loss = block.prox(v, w)
            xi = np.maximum(1.0 - b * (A @ x), 0.0)
            np.testing.assert_allclose(2.0 * K * A.T @ (b * xi), w * (x - v), atol=1e-10)
            assert loss == pytest.approx(K * xi @ xi)
    xi = np.maximum(1.0 - b * (A @ V), 0.0)
    value, gradient = block.loss_and_gradient(V)
    assert value == pytest.approx(K * xi @ xi)
    np.testing.assert_allclose(gradient, -2.0 * K * A.T @ (b * xi))
    np.testing.assert_allclose(block.curvature(), 2.0 * K * (A.T @ A).diagonal())


@pytest.mark.parametrize(
    "objective", [RidgeObjective(3.0), RidgeObjective(0.25), SquaredHingeObjective(7.0)]
)
def test_a_penalty_and_its_conjugate_meet_at_the_gradient(objective: ConsensusObjective) -> None:
    K = objective.K if isinstance(objective, RidgeObjective) else 1.0
    assert objective.penalty(V) == pytest.approx(K * V @ V / 2)
    s = K * V
    assert objective.penalty(V) + objective.penalty_conjugate(s) == pytest.approx(s @ V)
    t = np.array([0.5, 1.0, 2.0, 4.0])
    z = objective.penalty_prox(V, t)
    np.testing.assert_allclose(K * z, (V - z) / t)
    assert objective.dual_value(V, 5.0, 2.0 * V) == pytest.approx(
        5.0 - 2.0 * V @ V - objective.penalty_conjugate(2.0 * V)
    )


def test_the_lower_bounds_are_below_and_meet_the_minimum() -> None:
    A, b = _rows(12, 4)
    for objective in (LassoObjective(1.5), RidgeObjective(2.0)):
        z = consensus([(A[:5], b[:5]), (A[5:], b[5:])], objective).z
        block = objective.block(A, b)

        def bound(z, objective=objective, block=block) -> float:
            return objective.dual_value(z, *block.loss_and_gradient(z))

        best = objective.penalty(z) + block.loss_and_gradient(z)[0]
        assert bound(z) == pytest.approx(best, rel=1e-7)
        for scale in (-1.0, 0.0, 0.5, 0.99, 1.01, 3.0):
            assert bound(scale * z) < best
    assert LassoObjective(1.5).dual_value(V, 0.0, 0.0 * V) == 0.0


class _Nonnegative(ConsensusObjective):
    """Squares with x >= 0."""

    def block(self, A: np.ndarray, b: np.ndarray) -> LeastSquaresBlock:
        return LeastSquaresBlock(A, b)

    def penalty(self, z: np.ndarray) -> float:
        return 0.0 if (z >= 0).all() else np.inf

    def penalty_prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        return np.maximum(v, 0)

    def penalty_conjugate(self, s: np.ndarray) -> float:
        return 0.0 if (s <= 1e-6).all() else np.inf


def test_the_conjugate_is_taken_at_the_negative_gradient() -> None:
    A, b = _rows(12, 4)
    run = consensus([(A[:5], b[:5]), (A[5:], b[5:])], _Nonnegative())
    assert run.certificate.ok
    assert (run.z == 0.0).any()
    assert (run.z > 0.0).any()


def test_the_weights_of_the_columns_are_mean_curvatures() -> None:
    """A column without curvature counts as the average; without separability each does."""
    curvatures = [np.array([1.0, 0.0, 4.0]), np.array([3.0, 0.0, 8.0])]
    assert _column_weights(curvatures, True).tolist() == [2.0, 4.0, 6.0]
    assert _column_weights(curvatures, False).tolist() == [4.0, 4.0, 4.0]
    assert _column_weights([np.zeros(2)], True).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"got 3 in blocks\[0\] and 2 in blocks\[1\]"):
        _column_weights([np.ones(3), np.ones(2)], True)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_certificate_of_consensus_sees_each_condition_in_any_unit(unit: float) -> None:
    """Of the columns: x is divided by what A is multiplied by."""
    A, b = _rows(12, 4)
    units = np.array([1.0, unit, 1.0, unit])
    objective = LassoObjective(1.5)
    z = consensus([(A[:5], b[:5]), (A[5:], b[5:])], objective, tol_abs=1e-12, tol_rel=1e-12).z

    def certify(x: np.ndarray, z: np.ndarray) -> Certificate:
        blocks = [LeastSquaresBlock(units * A[:5], b[:5]), LeastSquaresBlock(units * A[5:], b[5:])]
        d = _column_weights([block.curvature() for block in blocks], True)
        losses, gradients = zip(*(block.loss_and_gradient(z / units) for block in blocks))

        class Weighted(LassoObjective):
            def penalty(self, z: np.ndarray) -> float:
                return super().penalty(units * z)

            def penalty_prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
                return super().penalty_prox(units * v, units**2 * t) / units

            def dual_value(self, z: np.ndarray, loss: float, gradient: np.ndarray) -> float:
                return super().dual_value(units * z, loss, gradient / units)

        return _certify(Weighted(1.5), x / units, z / units, sum(losses), np.array(gradients), d)

    good = certify(np.array([z, z]), z)
    assert good.ok
    assert good.primal_residual == 0.0
    apart = certify(np.array([1.01 * z, 0.99 * z]), z)
    assert 1e-3 < apart.primal_residual < 1e-2
    assert apart.dual_residual == good.dual_residual
    far = 1.1 * z
    wrong = certify(np.array([far, far]), far)
    assert wrong.primal_residual == 0.0
    assert 1e-3 < wrong.dual_residual < 1.0
    value = np.sum((A @ far - b) ** 2) / 2 + 1.5 * np.abs(far).sum()
    gap = value - objective.dual_value(far, *LeastSquaresBlock(A, b).loss_and_gradient(far))
    assert wrong.gap == pytest.approx(gap / value, rel=1e-6)


def test_a_certificate_that_the_tolerance_does_not_explain_is_told() -> None:
    def missed(gap: float) -> Certificate:
        return Certificate(0.0, 0.0, 0.0, gap, 1e-6)

    with pytest.warns(ConvergenceWarning, match="the certificate misses 1e-06"):
        _warn_if_missed(missed(1e-4), 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for gap, tol in ((1e-7, 1e-9), (np.inf, 1e-9), (1e-4, 1e-3)):
            _warn_if_missed(missed(gap), tol)


def test_parts_of_a_certificate_are_relative() -> None:
    assert (_relative(0.0, 0.0), _relative(1.0, 4.0)) == (0.0, 0.25)
    assert _relative(1.0, 0.0) == _relative(np.inf, 1.0) == _relative(np.nan, 1.0) == np.inf


def test_an_objective_is_described_by_its_values() -> None:
    assert _describe_objective(LassoObjective(0.5)) == "LassoObjective(tau=0.5)"
    assert _describe_objective(_Nonnegative()) == "_Nonnegative()"


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_run_from_an_earlier_result_stays_there(unit: float) -> None:
    A, b = _rows(12, 4)
    A = A * np.array([1.0, unit, 1.0, unit])
    blocks = [(A[:5], b[:5]), (A[5:], b[5:])]
    first = consensus(blocks, RidgeObjective(2.0), rho=0.3)
    again = consensus(blocks, RidgeObjective(2.0), start=first)
    assert again.n_iter <= 2
    assert again.history["rho"][0] == first.rho
    np.testing.assert_allclose(again.z, first.z, rtol=1e-6)
    np.testing.assert_allclose(again.u, first.u, rtol=1e-4)
    for (A_i, b_i), u, x in zip(blocks, first.u, first.x):
        gradient = A_i.T @ (A_i @ x - b_i)
        np.testing.assert_allclose(first.rho * u, -gradient, rtol=1e-6)
    for wrong in (blocks[:1], [(A[:5, :2], b[:5]), (A[5:, :2], b[5:])]):
        with pytest.raises(ValueError, match="its u has shape"):
            consensus(wrong, RidgeObjective(2.0), start=first)


A6, B6 = _rows(6, 3)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: LeastSquaresBlock(A6 * np.nan, B6), "A"),
        (lambda: LeastSquaresBlock(A6, B6 * np.nan), "b"),
        (lambda: LeastSquaresBlock(A6, B6[1:]), "b"),
        (lambda: SquaredHingeBlock(A6, np.ones(6), 0.0), "K"),
        (lambda: RidgeObjective(0.0), "K"),
        (lambda: SquaredHingeObjective(-1.0), "K"),
        (lambda: LassoObjective(0.0), "tau"),
    ],
)
def test_a_part_of_consensus_that_is_wrong_is_named(call: Callable, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(name)} must"):
        call()


def test_rows_may_be_tiny_and_targets_may_not() -> None:
    """Squares of tiny rows vanish beside others; those of b alone would be the whole objective."""
    assert LeastSquaresBlock(1e-200 * A6, B6).curvature().tolist() == [0.0] * 3
    for A, b, name in ((1e200 * A6, B6, "A"), (A6, 1e200 * B6, "b"), (A6, 1e-200 * B6, "b")):
        with pytest.raises(ValueError, match=rf"^{name} is squared"):
            LeastSquaresBlock(A, b)


I2, V2, V3, NAN = np.eye(2), np.ones(2), np.ones(3), [1.0, np.nan]
ROW = np.ones((1, 2))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: soft_threshold(NAN, 1.0), "v"),
        (lambda: soft_threshold(V2, np.nan), "c"),
        (lambda: soft_threshold(V2, V3), "c"),
        (lambda: block_soft_threshold(NAN, 1.0), "v"),
        (lambda: block_soft_threshold(V2, -1.0), "c"),
        (lambda: prox_linf_norm(NAN, 1.0), "v"),
        (lambda: prox_linf_norm(V2, 0.0), "t"),
        (lambda: prox_elastic_net(V2, 0.0, tau=1.0, K=1.0), "t"),
        (lambda: prox_elastic_net(V2, 1.0, tau=-1.0, K=1.0), "tau"),
        (lambda: prox_elastic_net(V2, 1.0, tau=1.0, K=-1.0), "K"),
        (lambda: prox_huber(NAN, 1.0), "v"),
        (lambda: prox_huber(V2, 1.0, delta=0.0), "delta"),
        (lambda: prox_logistic(NAN, 1.0), "v"),
        (lambda: prox_logistic(V2, -1.0), "t"),
        (lambda: project_box(NAN, 0.0, 1.0), "v"),
        (lambda: project_box(V2, np.nan, 1.0), "lower"),
        (lambda: project_box(V2, 0.0, np.nan), "upper"),
        (lambda: project_box(V2, V3, 2.0), "lower"),
        (lambda: project_box(V2, 0.0, V3), "upper"),
        (lambda: project_orthant(NAN), "v"),
        (lambda: project_ball(NAN), "v"),
        (lambda: project_ball(V2, radius=-1.0), "radius"),
        (lambda: project_ball(V2, center=NAN), "center"),
        (lambda: project_ball(V2, center=V3), "center"),
        (lambda: project_l1_ball(NAN), "v"),
        (lambda: project_l1_ball(V2, radius=-1.0), "radius"),
        (lambda: project_simplex(I2), "v"),
        (lambda: project_simplex([]), "v"),
        (lambda: project_simplex(V2, radius=-1.0), "radius"),
        (lambda: project_halfspace(I2, V2, 1.0), "v"),
        (lambda: project_halfspace(V2, V3, 1.0), "a"),
        (lambda: project_halfspace(V2, V2, np.nan), "b"),
        (lambda: project_psd(V2), "V"),
        (lambda: project_psd(np.ones((2, 3))), "V"),
        (lambda: project_affine(V2, V2), "A"),
        (lambda: project_affine(ROW, V2), "b"),
        (lambda: project_affine(ROW, [1.0])(V3), "v"),
        (lambda: prox_indicator(project_orthant)(V2, 0.0), "t"),
        (lambda: prox_quadratic(np.ones((2, 3))), "P"),
        (lambda: prox_quadratic(I2, V3), "q"),
        (lambda: prox_quadratic(I2, V2, np.ones((1, 3)), [1.0]), "A"),
        (lambda: prox_quadratic(I2, V2, ROW, V2), "b"),
        (lambda: prox_quadratic(I2)(V3, 1.0), "v"),
        (lambda: prox_quadratic(I2)(V2, 0.0), "t"),
        (lambda: prox_conjugate(soft_threshold)(NAN, 1.0), "v"),
        (lambda: prox_conjugate(soft_threshold)(V2, 0.0), "t"),
        (lambda: prox_separable_sum([(soft_threshold, 1), (soft_threshold, 0)]), "length of part 1"),
        (lambda: prox_separable_sum([(soft_threshold, 1), (soft_threshold, 2)])(V2, 1.0), "v"),
        (lambda: prox_separable_sum([]), "parts"),
        (lambda: prox_postcompose(soft_threshold, 0.0), "a"),
        (lambda: prox_precompose(soft_threshold, np.nan), "a"),
        (lambda: prox_precompose(soft_threshold, 0.0), "a"),
        (lambda: prox_precompose(soft_threshold, 1.0, NAN), "b"),
        (lambda: prox_precompose(soft_threshold, 1.0, V3)(V2, 1.0), "b"),
        (lambda: prox_precompose(soft_threshold, 1.0)(NAN, 1.0), "v"),
        (lambda: prox_precompose_tight(soft_threshold, V2), "A"),
        (lambda: prox_precompose_tight(soft_threshold, np.array([[1.0, 1.0], [0.0, 1.0]])), "A"),
        (lambda: prox_precompose_tight(soft_threshold, np.diag([1.0, 2.0])), "A"),
        (lambda: prox_precompose_tight(soft_threshold, 0.0 * I2), "A"),
        (lambda: prox_precompose_tight(soft_threshold, I2, V3), "b"),
        (lambda: prox_precompose_tight(soft_threshold, I2)(V3, 1.0), "v"),
        (lambda: prox_add_linear(soft_threshold, NAN), "a"),
        (lambda: prox_add_linear(soft_threshold, V3)(V2, 1.0), "a"),
        (lambda: prox_add_linear(soft_threshold, V2)(NAN, 1.0), "v"),
        (lambda: prox_regularize(soft_threshold, -1.0), "rho"),
        (lambda: prox_regularize(soft_threshold, 1.0, NAN), "a"),
        (lambda: prox_regularize(soft_threshold, 1.0, V3)(V2, 1.0), "a"),
        (lambda: prox_regularize(soft_threshold, 1.0)(NAN, 1.0), "v"),
        (lambda: prox_regularize(soft_threshold, 1.0)(V2, 0.0), "t"),
        (lambda: moreau_envelope(np.sum, soft_threshold)(NAN, 1.0), "v"),
        (lambda: moreau_envelope(np.sum, soft_threshold)(V2, 0.0), "t"),
    ],
)  # fmt: skip
def test_an_argument_of_a_proximal_operator_that_is_wrong_is_named(
    call: Callable, name: str
) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(name)} must"):
        call()


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("t", [0.3, 1.0, 7.0])
def test_the_prox_of_a_quadratic_on_a_plane(t: float, unit: float) -> None:
    """x = argmin x'Px/2 + q'x + |x - v|^2 / (2t) with A x = b; P is indefinite elsewhere."""
    rng = np.random.default_rng(70)
    F, A = rng.standard_normal((5, 3)), rng.standard_normal((2, 5))
    P, q = F @ F.T - 9.0 * A.T @ A, rng.standard_normal(5)
    b, v = rng.standard_normal(2), rng.standard_normal(5)
    KKT = np.block([[unit * P + unit / t * np.eye(5), A.T], [A, np.zeros((2, 2))]])
    expected = np.linalg.solve(KKT, np.r_[unit / t * v - unit * q, b])[:5]
    found = prox_quadratic(unit * P, unit * q, A, b)(v, t / unit)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="on the null space of A"):
        prox_quadratic(unit * (P - 20.0 * np.eye(5)), unit * q, A, b)
    with pytest.raises(ValueError, match=r"semidefinite, got the eigenvalue"):
        prox_quadratic(unit * P)


@pytest.mark.parametrize("scale", [-2.0, 0.5, 3.0])
def test_calculus_of_proximal_operators(scale: float) -> None:
    """Against the least value on a grid, for the modulus in one dimension."""
    grid = np.linspace(-12.0, 12.0, 240_001)
    a, b, t, v = scale, 0.75, 0.4, 1.3
    for prox, f in (
        (prox_precompose(soft_threshold, a, b), np.abs(a * grid + b)),
        (prox_precompose_tight(soft_threshold, [[a]], [b]), np.abs(a * grid + b)),
        (prox_postcompose(soft_threshold, abs(a)), abs(a) * np.abs(grid)),
        (prox_add_linear(soft_threshold, [a]), np.abs(grid) + a * grid),
        (prox_regularize(soft_threshold, 2.0, [a]), np.abs(grid) + (grid - a) ** 2),
    ):
        best = grid[np.argmin(f + (grid - v) ** 2 / (2.0 * t))]
        np.testing.assert_allclose(prox([v], t), best, atol=1.1e-4)
    envelope = moreau_envelope(lambda x: np.abs(x).sum(), soft_threshold)
    value = np.min(np.abs(grid) + (grid - scale) ** 2 / (2.0 * t))
    assert envelope([scale], t) == pytest.approx(value, abs=1e-7)


def test_the_set_that_is_empty_is_told_with_a_proof() -> None:
    with pytest.raises(
        ValueError, match="2 of its intervals hold no number, the first is 3 <= x <= 1"
    ) as raised:
        project_box(V3, [0.0, 3.0, np.inf], [1.0, 1.0, np.inf])
    assert raised.value.witness.tolist() == [0.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="the half-space is empty") as raised:
        project_halfspace(V2, [0.0, 0.0], -1.0)
    assert raised.value.witness.tolist() == [1.0]
    assert project_halfspace(V2, [0.0, 0.0], 0.0).tolist() == [1.0, 1.0]
    A, b = np.array([[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]), np.array([1.0, 3.0, 0.0])
    with pytest.raises(ValueError, match="A has rank 1") as raised:
        project_affine(A, b)
    y = raised.value.witness
    np.testing.assert_allclose(y @ A, 0.0, atol=1e-12)
    assert y @ b > 0.01


def test_points_at_the_edge_of_a_set_are_left_alone() -> None:
    for point, project in (
        ([3.0, 4.0], lambda v: project_ball(v, radius=5.0)),
        ([3.0, -4.0], lambda v: project_l1_ball(v, radius=7.0)),
        ([0.25, 0.75], project_simplex),
        ([1.0, 2.0], lambda v: project_halfspace(v, [2.0, 1.0], 4.0)),
        ([0.0, 1.0], lambda v: project_box(v, 0.0, 1.0)),
    ):
        found = project(point)
        np.testing.assert_array_equal(found, point)
    for v, x in (([6.0, 8.0], [3.0, 4.0]), ([0.0, 50.0], [0.0, 5.0])):
        np.testing.assert_allclose(project_ball(v, radius=5.0), x)
    assert project_ball([1.0, 2.0], radius=0.0, center=[5.0, 5.0]).tolist() == [5.0, 5.0]
    assert project_simplex([7.0, 3.0], radius=0.0).tolist() == [0.0, 0.0]
    assert project_l1_ball([[3.0], [-1.0]], radius=2.0).tolist() == [[2.0], [0.0]]


def test_a_run_that_is_broken_off_leaves_its_last_checkpoint(tmp_path: pathlib.Path) -> None:
    A, b = _rows(12, 4)
    blocks, file, seen = [(A[:5], b[:5]), (A[5:], b[5:])], tmp_path / "state", []

    def breaks(iterate) -> None:
        seen.append(iterate.z.copy())
        if iterate.k == 8:
            raise KeyboardInterrupt

    options = {"checkpoint": file, "checkpoint_every": 3}
    with pytest.raises(KeyboardInterrupt):
        consensus(blocks, LassoObjective(0.5), callback=breaks, **options)
    np.testing.assert_array_equal(np.load(file)["z"], seen[5])
    done = consensus(blocks, LassoObjective(0.5), **options)
    np.testing.assert_array_equal(np.load(file)["z"], done.z)


@pytest.mark.parametrize("unit", [1e-6, 1.0])
def test_a_checkpoint_of_other_data_is_refused(tmp_path: pathlib.Path, unit: float) -> None:
    A, b = _rows(12, 4)
    options = {"checkpoint": tmp_path / "state", "callback": lambda step: True}
    consensus([(unit * A, b)], RidgeObjective(unit**2), **options)
    with pytest.raises(ValueError, match="is a checkpoint of other data: their columns differ"):
        consensus([(1.000001 * unit * A, b)], RidgeObjective(unit**2), **options)


def test_over_relaxation_changes_the_steps_and_not_the_answer() -> None:
    A, b = _rows(12, 4)
    blocks = [(A[:5], b[:5]), (A[5:], b[5:])]
    plain, over = (consensus(blocks, RidgeObjective(2.0), relaxation=r) for r in (1.0, 1.6))
    np.testing.assert_allclose(plain.z, over.z, rtol=1e-6)
    assert plain.history["primal_residual"][3] != over.history["primal_residual"][3]
    assert plain.problem.name == "consensus"
    assert plain.problem.data["blocks"] is not None


class _Length(RidgeObjective):
    """A penalty that is not a sum over columns, for one of them."""

    separable = False


def test_one_column_needs_no_second() -> None:
    A, b = _rows(6, 1)
    run = consensus([(A[:2], b[:2]), (A[2:], b[2:])], _Length(2.0))
    np.testing.assert_allclose(run.z, A.T @ b / (np.sum(A**2) + 2.0), rtol=1e-7)


@pytest.mark.parametrize("far", [1.0, 8.0, 1e3])
def test_a_step_that_is_too_long_is_halved(far: float) -> None:
    """Along a multiple of Newton's direction, until the objective falls enough."""
    A, b = _labels(30, 4)
    block, w = SquaredHingeBlock(A, b, 8.0), WEIGHTS[0]
    slack, from_v = 1.0 - b * (A @ V), 0.5 * V
    gradient = block.loss_and_gradient(V)[1] + w * from_v
    d = -far * np.linalg.solve(16.0 * A.T @ A + np.diag(w), gradient)
    t = block._step_length(slack, from_v, d, w, gradient @ d)

    def value(t: float) -> float:
        xi = np.maximum(1.0 - b * (A @ (V + t * d)), 0.0)
        return 8.0 * xi @ xi + np.sum(w * (from_v + t * d) ** 2) / 2

    enough = 1e-4 * (gradient @ d)
    assert value(t) <= value(0.0) + t * enough
    assert (t == 1.0) == (far == 1.0)
    assert t == 1.0 or value(2.0 * t) > value(0.0) + 2.0 * t * enough


def test_the_residuals_of_a_certificate_are_those_that_are_stated() -> None:
    """The disagreement and the length of a proximal step 1 / (N d), relative to z and to the gradients."""
    A, b = _rows(12, 4)
    blocks, objective = (
        [LeastSquaresBlock(A[:5], b[:5]), LeastSquaresBlock(A[5:], b[5:])],
        LassoObjective(0.5),
    )
    d = _column_weights([block.curvature() for block in blocks], True)
    root = np.sqrt(d)
    for z in (V, 1e-3 * V):
        x = np.array([z + 0.25, z - 0.5])
        losses, gradients = zip(*(block.loss_and_gradient(z) for block in blocks))
        found = _certify(objective, x, z, sum(losses), np.array(gradients), d)
        length = max(np.abs(root * z).max(), np.abs(np.array(gradients) / root).max())
        v, t = z - sum(gradients) / (2 * d), 0.5 / (2 * d)
        step = z - np.sign(v) * np.maximum(np.abs(v) - t, 0.0)
        assert found.primal_residual == pytest.approx(0.5 * root.max() / length)
        assert found.dual_residual == pytest.approx(np.abs(root * step).max() / length)
