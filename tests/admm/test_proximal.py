"""Proximal operators, projections, calculus rules."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq

from companion import admm
from companion.exceptions import InfeasibleProblemError
from tests.refusals import refusals

N = 4
RNG = np.random.default_rng(0)
F = RNG.standard_normal((2, N))
P = F.T @ F  # rank 2
Q_VECTOR = RNG.standard_normal(N)
A = np.vstack([F, F[0] - F[1]])  # rank 2, three rows
B = A @ np.array([1.0, -1.0, 0.5, 2.0])
SHIFT = np.array([0.3, -1.0, 2.0, 0.0])
few = settings(max_examples=15)
vectors = arrays(np.float64, N, elements=st.floats(-20, 20, allow_subnormal=False))
parameters = st.floats(0.01, 50)


def zero(x):
    return cp.Constant(0)


@dataclass
class Case:
    """A function g: its proximal operator, and its expression and domain for cvxpy."""

    prox: Any
    expression: Any
    domain: Any = lambda x: []

    def g(self, v):
        return float(self.expression(cp.Variable(N, value=v)).value)

    def contains(self, v):
        return all(c.violation().max() <= 1e-9 for c in self.domain(cp.Variable(N, value=v)))


def quadratic(x):
    return 0.5 * cp.sum_squares(F @ x) + Q_VECTOR @ x


TWO_ROWS = [[1, 1, 1, 1], [2, 2, 2, 2]], [3, 6]
LOW, HIGH = np.array([-1, 0, -np.inf, 2]), np.array([1, np.inf, 3, 2])
CASES = {
    "l1": Case(admm.soft_threshold, cp.norm1),
    "l2": Case(admm.block_soft_threshold, lambda x: cp.norm(x, 2)),
    "linf": Case(admm.prox_linf_norm, cp.norm_inf),
    "elastic net": Case(
        partial(admm.prox_elastic_net, tau=0.7, K=0.4), lambda x: 0.7 * cp.norm1(x) + 0.2 * cp.sum_squares(x)),
    "huber": Case(partial(admm.prox_huber, delta=1.5), lambda x: 0.5 * cp.sum(cp.huber(x, 1.5))),
    "logistic": Case(admm.prox_logistic, lambda x: cp.sum(cp.logistic(-x))),
    "quadratic": Case(admm.prox_quadratic(P, Q_VECTOR), quadratic),
    "quadratic on an affine set": Case(
        admm.prox_quadratic(P, Q_VECTOR, *TWO_ROWS), quadratic, lambda x: [cp.sum(x) == 3]),
    "box": Case(
        admm.prox_indicator(admm.project_box, lower=LOW, upper=HIGH), zero,
        lambda x: [x[0] >= -1, x[0] <= 1, x[1] >= 0, x[2] <= 3, x[3] == 2]),
    "orthant": Case(admm.prox_indicator(admm.project_orthant), zero, lambda x: [x >= 0]),
    "ball": Case(
        admm.prox_indicator(admm.project_ball, radius=2.0), zero, lambda x: [cp.norm(x, 2) <= 2]),
    "simplex": Case(admm.prox_indicator(admm.project_simplex, radius=3.0), zero, lambda x: [x >= 0, cp.sum(x) == 3]),
    "affine set": Case(admm.prox_indicator(admm.project_affine(A, B)), zero, lambda x: [F @ x == B[:2]]),
    "conjugate": Case(  # of phi = |x - SHIFT|_1: <SHIFT, y> on the box
        admm.prox_conjugate(admm.prox_precompose(admm.soft_threshold, 1, -SHIFT)),
        lambda x: SHIFT @ x, lambda x: [cp.abs(x) <= 1]),
    "separable sum": Case(
        admm.prox_separable_sum([(admm.block_soft_threshold, 3), (admm.prox_logistic, 1)]),
        lambda x: cp.norm(x[:3], 2) + cp.logistic(-x[3])),
    "post-composition": Case(admm.prox_postcompose(admm.prox_linf_norm, 2.5), lambda x: 2.5 * cp.norm_inf(x) + 7),
    "pre-composition": Case(
        admm.prox_precompose(admm.block_soft_threshold, -2.0, SHIFT), lambda x: cp.norm(SHIFT - 2 * x, 2)),
    "linear addition": Case(admm.prox_add_linear(admm.soft_threshold, SHIFT), lambda x: cp.norm1(x) + SHIFT @ x + 1),
}  # fmt: skip
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


class TestEveryOperator:
    @every_case
    def test_against_cvxpy(self, case):
        for t, v in ((0.3, [2.5, -1.0, 0.4, 3.0]), (2.0, [-4.0, -4.0, 4.0, 0.1])):
            x = cp.Variable(N)
            objective = case.expression(x) + cp.sum_squares(x - v) / (2 * t)
            problem = cp.Problem(cp.Minimize(objective), case.domain(x))
            problem.solve(solver=cp.CLARABEL)
            ours = case.prox(v, t)
            assert case.contains(ours)
            assert_allclose(ours, x.value, atol=2e-4)
            value = case.g(ours) + np.sum((ours - v) ** 2) / (2 * t)
            assert value <= problem.value + 1e-6 * (1 + abs(problem.value))

    @every_case
    @few
    @given(v=vectors, z=vectors, t=parameters)
    def test_subgradient_inequality(self, case, v, z, t):
        """X = prox(v, t) if and only if (v - x)/t is a subgradient of g at x."""
        x, z = case.prox(v, t), case.prox(z, 1.0)  # z: any point of the domain
        assert case.contains(x)
        assert x.dtype == np.float64
        below = case.g(x) + (v - x) @ (z - x) / t
        assert case.g(z) >= below - 1e-9 * (1 + abs(below) + abs(case.g(z)) + np.sum(v**2) / t)

    @every_case
    def test_bad_input(self, case):
        for bad in (np.array([1, 2, np.nan, 0]), np.array([1, np.inf, 0, 0])):
            with pytest.raises(ValueError, match="must be finite"):
                case.prox(bad, 1.0)
        with pytest.raises(TypeError, match="must be an array of real numbers, got"):
            case.prox(np.array([1j, 0, 0, 0]), 1.0)
        if case.expression is not zero:  # an indicator does not look at t
            with pytest.raises(ValueError, match=r"must be a finite number|must be >= 0"):
                case.prox(np.ones(N), -1.0)


class TestOtherLosses:
    @pytest.mark.parametrize("t", [1e-8, 0.1, 1.0, 30.0, 1e6])
    def test_logistic_solves_its_equation(self, t):
        v = np.array([-1e4, -700.0, -t / 2, -3.0, 0.0, 1e-9, 5.0, 40.0, 800.0, 1e5])
        x = admm.prox_logistic(v, t)
        for v_i, x_i in zip(v, x):
            h = lambda x: x - v_i - t * np.exp(-np.logaddexp(0, x))  # noqa: B023, E731
            root = brentq(h, v_i, v_i + t + 1e-12 * abs(v_i), xtol=1e-300, rtol=1e-15, maxiter=5000)
            assert x_i == pytest.approx(root, rel=1e-10, abs=1e-12 * (1 + abs(v_i)))


class TestProjections:
    def test_simplex_edge_cases(self):
        assert_array_equal(admm.project_simplex([7.0]), [1])
        assert_array_equal(admm.project_simplex([3, -2], radius=0), [0, 0])
        assert_array_equal(admm.project_simplex([1e20, 0, 1e20]), [0.5, 0, 0.5])

    @pytest.mark.parametrize("seed", range(5))
    def test_psd_by_the_conditions_of_the_cone(self, seed):
        V = np.random.default_rng(seed).standard_normal((4, 4))
        X = admm.project_psd(V)
        assert_array_equal(X, X.T)
        assert np.linalg.eigvalsh(X).min() >= -1e-12
        S = (V + V.T) / 2
        assert np.linalg.eigvalsh(S - X).max() <= 1e-12  # the rest is in the polar cone
        assert abs(np.sum(X * (S - X))) <= 1e-12


class TestAffineSet:
    @pytest.mark.parametrize(
        ("m", "n", "rank"), [(1, 1, 1), (2, 5, 2), (5, 5, 3), (7, 3, 2), (2, 4, 0)]
    )
    def test_any_rank(self, m, n, rank):
        rng = np.random.default_rng(m * n)
        M = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
        b, v = M @ rng.standard_normal(n), rng.standard_normal(n)
        nearest = v - np.linalg.pinv(M, rcond=1e-10) @ (M @ v - b)
        assert_allclose(admm.project_affine(M, b)(v), nearest, atol=1e-9)

    def test_rows_that_are_nearly_equal_are_two(self):
        x = admm.project_affine([[1.0, 0.0], [1.0, 1e-6]], [1.0, 1.0 + 2e-6])([0.0, 0.0])
        assert_allclose(x, [1.0, 2.0], rtol=1e-9)  # the condition 2e6 times eps

    def test_inconsistent(self):
        M, unit, small = np.array([[1.0, 1.0], [2.0, 2.0]]), 1e-9, 1e-8
        for A, b in (
            (M, [1.0, 3.0]),
            (np.zeros((1, 2)), [1.0]),
            (unit * M, [unit, 3.0 * unit]),
            (unit * M, [unit, (2.0 + small) * unit]),  # down to rounding
        ):
            with pytest.raises(InfeasibleProblemError, match="A has rank") as error:
                admm.project_affine(A, b)
            y = error.value.witness
            assert_allclose(y @ A, 0, atol=1e-14)
            assert y @ b > 0.1 * small * np.linalg.norm(y) * np.linalg.norm(b)

    @pytest.mark.parametrize("seed", range(20))
    def test_the_limit_of_what_rounding_explains(self, seed):
        rng = np.random.default_rng(seed)
        M = rng.standard_normal((4, 9))
        A = 10.0 ** rng.integers(-8, 9, (5, 1)) * np.vstack([M, M.sum(axis=0)])
        shortest = np.linalg.pinv(M) @ rng.standard_normal(4)
        size = np.linalg.norm(shortest)
        admm.project_affine(
            A, A @ (shortest + 900.0 * size * np.linalg.svd(M)[2][-1])
        )  # rounded as one that is long
        b = A @ shortest
        b[-1] += 4e3 * 9 * 2.0**-52 * 20.0 * size * np.linalg.norm(A[-1])  # sum |t| < 20
        with pytest.raises(InfeasibleProblemError, match="is a sum of others") as error:
            admm.project_affine(A, b)
        y = error.value.witness
        assert np.linalg.norm(y @ A) * 1e3 * size < y @ b  # so no x of that length


class TestQuadratic:
    @pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
    @pytest.mark.parametrize("t", [0.3, 1.0, 7.0])
    def test_solves_the_kkt_system_of_the_text(self, t, unit):
        """Example 16.10 with A of full row rank, in any unit; P is indefinite elsewhere."""
        rng = np.random.default_rng(70)
        F, A = rng.standard_normal((5, 3)), rng.standard_normal((2, 5))
        P, q = F @ F.T - 9.0 * A.T @ A, rng.standard_normal(5)
        b, v = rng.standard_normal(2), rng.standard_normal(5)
        KKT = np.block([[unit * P + unit / t * np.eye(5), A.T], [A, np.zeros((2, 2))]])
        expected = np.linalg.solve(KKT, np.r_[unit / t * v - unit * q, b])[:5]
        found = admm.prox_quadratic(unit * P, unit * q, A, b)(v, t / unit)
        assert_allclose(found, expected, rtol=1e-9)
        with pytest.raises(ValueError, match="on its null space"):
            admm.prox_quadratic(unit * (P - 20.0 * np.eye(5)), unit * q, A, b)
        with pytest.raises(ValueError, match="must be positive semidefinite"):
            admm.prox_quadratic(unit * P)


V = np.ones(4)

test_bad_input = refusals(
    (lambda: admm.prox_precompose(admm.soft_threshold, 0), "a must not be 0"),
    (lambda: admm.prox_postcompose(admm.soft_threshold, -2), "a must be .* > 0, got -2"),
    (
        lambda: admm.project_box([0, 0], [0, np.inf], [0, np.inf]),
        r"x\[1\]: lower = inf, upper = inf",
    ),
    (lambda: admm.project_simplex([]), "at least one entry"),
    (lambda: admm.prox_separable_sum([(admm.soft_threshold, 3)])(V, 1.0), "v must have length 3"),
    (lambda: admm.prox_add_linear(admm.soft_threshold, [1, 2])(V, 1.0), "a must broadcast to"),
    (lambda: admm.prox_conjugate(lambda v, t: "word")(V, 1.0), "prox must return a real array"),
    (lambda: admm.prox_separable_sum([(lambda v, t: v[1:], 4)])(V, 1.0), r"prox must .*\(4,\)"),
    (lambda: admm.prox_indicator(lambda v: None)(V, 1.0), "project must return a real array"),
)
