"""Tests of multipliers, splittings and first-order methods that kill mutants (``make mutants``)."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse

from companion.admm import (
    admm,
    augmented_lagrangian,
    convergence_inequalities,
    dual_ascent,
    dual_decomposition,
    dual_function,
    lyapunov,
    method_of_multipliers,
    quadratic_argmin,
)
from companion.admm.splitting import _Balance
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
