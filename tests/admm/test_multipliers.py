"""Dual ascent, the method of multipliers, dual decomposition."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from companion.admm import dual_ascent, dual_function, method_of_multipliers, quadratic_argmin
from companion.exceptions import ConvergenceWarning, UnboundedProblemError
from tests.refusals import refusals

pytestmark = pytest.mark.filterwarnings("error")


def quadratic(Q, c):
    return lambda u: 0.5 * u @ Q @ u + c @ u


def random_problem(seed, n=6, m=3):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, n))
    return M @ M.T + 0.5 * np.eye(n), rng.standard_normal(n), rng.standard_normal((m, n)), rng


def kkt_solution(Q, c, A, b):
    m, n = A.shape
    solution = np.linalg.solve(np.block([[Q, A.T], [A, np.zeros((m, m))]]), np.append(-c, b))
    return solution[:n], solution[n:]


class TestExample161:
    """Minimize (x^2 + y^2) / 2 subject to 2 x - y = 5."""

    A, b = np.array([[2.0, -1.0]]), np.array([5.0])
    argmin = staticmethod(quadratic_argmin(np.eye(2), np.zeros(2), A))
    J = staticmethod(quadratic(np.eye(2), np.zeros(2)))

    def ascend(self, step, **options):
        run = dual_ascent(self.argmin, self.A, self.b, [3.0], step, J=self.J, **options)
        return run, run.history["lambda_"][:, 0]

    def test_dual_function(self):
        G = dual_function(self.argmin, self.J, self.A, self.b)
        assert G([-1.0]) == pytest.approx(5 / 2, abs=1e-14)
        for l in np.linspace(-4, 3, 15):
            assert G([l]) == pytest.approx(-2.5 * l**2 - 5 * l, abs=1e-12)
            slope = (G([l + 1e-5]) - G([l - 1e-5])) / 2e-5
            assert slope == pytest.approx((self.A @ self.argmin([l]) - self.b)[0], abs=1e-7)

    def test_iterates_with_half_step(self):
        run, lambda_ = self.ascend(0.1)
        k = np.arange(run.n_iter + 1)
        assert_allclose(lambda_, 4 * 0.5**k - 1, rtol=0, atol=1e-14)
        assert_allclose(run.history["u"][:, 1], 4 * 0.5 ** k[:-1] - 1, atol=1e-14)
        assert_allclose(run.u, [2, -1], atol=1e-8)
        assert run.converged
        assert run.history["objective"][-1] == pytest.approx(2.5, abs=1e-7)
        assert run.history["dual_objective"][-1] == pytest.approx(2.5, abs=1e-7)
        assert (np.diff(run.history["dual_objective"]) > 0).all()

    @pytest.mark.parametrize("beta", [0.2, 1.0, 1.5, 1.9])
    def test_converges_for_beta_below_2(self, beta):
        run, _ = self.ascend(beta / 5)
        assert run.status == "converged"
        assert_allclose(run.lambda_, [-1], atol=1e-8)

    @pytest.mark.parametrize(
        ("beta", "status", "message"),
        [(2.0, "max_iter", "no convergence in max_iter=50"), (2.1, "diverged", "smaller step")],
    )
    def test_no_convergence_from_beta_2_on(self, beta, status, message):
        with pytest.warns(ConvergenceWarning, match=message):
            run, lambda_ = self.ascend(beta / 5, max_iter=50 if beta == 2 else 1000)
        assert (run.converged, run.status) == (False, status)
        assert_allclose(lambda_, 4 * (1 - beta) ** np.arange(len(lambda_)) - 1, rtol=1e-9)


class TestExample162:
    """Minimize y^2 + 2 x subject to 2 x - y = 0."""

    Q, c, A, b = np.diag([0.0, 2.0]), np.array([2.0, 0.0]), np.array([[2.0, -1.0]]), np.zeros(1)
    J = staticmethod(quadratic(Q, c))

    def test_dual_ascent_has_nothing_to_minimise(self):
        argmin = quadratic_argmin(self.Q, self.c, self.A)
        with pytest.raises(UnboundedProblemError, match="no minimum for this multiplier") as caught:
            dual_ascent(argmin, self.A, self.b, [0.0], 0.1)
        ray = caught.value.ray
        assert_allclose(self.Q @ ray, 0, atol=1e-15)
        assert self.c @ ray < 0  # L(t ray, 0) -> -infinity
        G = dual_function(argmin, self.J, self.A, self.b)
        assert G([0.0]) == -np.inf
        assert G([-1.0]) == pytest.approx(-1 / 4)

    @settings(max_examples=40)
    @given(st.floats(-50, 50), st.floats(0.05, 20))
    def test_method_of_multipliers_needs_two_steps(self, lambda0, rho):
        argmin = quadratic_argmin(self.Q, self.c, self.A, self.b, rho)
        run = method_of_multipliers(argmin, self.A, self.b, [lambda0], rho, J=self.J)
        assert run.converged
        assert run.n_iter <= 2
        assert_allclose(run.history["u"][0], [-0.25 - (1 + lambda0) / (2 * rho), -0.5], atol=1e-9)
        assert_allclose(run.history["lambda_"][1], [-1], atol=1e-8)
        assert_allclose(run.u, [-1 / 4, -1 / 2], atol=1e-8)
        assert run.history["objective"][-1] == pytest.approx(-1 / 4, abs=1e-7)


class TestExample163:
    """Minimize 2 beta x y, which is not convex, subject to 2 x - y = 0."""

    Q, A, b = np.array([[0, 2.0], [2.0, 0]]), np.array([[2.0, -1.0]]), np.zeros(1)  # beta = 1

    def run(self, rho, **options):
        argmin = quadratic_argmin(self.Q, np.zeros(2), self.A, self.b, rho)
        run = method_of_multipliers(argmin, self.A, self.b, [1.0], rho, **options)
        return run, run.history["lambda_"][:, 0]

    def test_rho_above_beta_converges(self):
        run, lambda_ = self.run(2)
        assert_allclose(lambda_, (-1 / 3) ** np.arange(len(lambda_)), atol=1e-14)
        assert run.converged
        assert_allclose(run.history["u"][0], [-1 / 6, 1 / 3], atol=1e-15)

    @pytest.mark.parametrize(("rho", "status"), [(1.0, "max_iter"), (0.75, "diverged")])
    def test_rho_below_beta_diverges(self, rho, status):
        """And rho = beta alternates."""
        with pytest.warns(ConvergenceWarning, match="larger rho"):
            run, lambda_ = self.run(rho, max_iter=30 if rho == 1 else 1000)
        assert run.status == status
        assert_allclose(lambda_, (1 / (1 - 2 * rho)) ** np.arange(len(lambda_)), rtol=1e-9)

    @pytest.mark.parametrize("rho", [0.0, 0.3, 0.49])
    def test_no_minimum_below_half_beta(self, rho):
        with pytest.raises(UnboundedProblemError, match="positive semidefinite") as caught:
            self.run(rho)
        ray = caught.value.ray
        assert ray @ (self.Q + rho * self.A.T @ self.A) @ ray < 0


class TestTheory:
    def test_objective_that_is_not_quadratic(self):
        """Maximum entropy with given mean: J(u) = sum u log u, argmin u = exp(-1 - A'lambda)."""
        A, b = np.vstack([np.ones(6), np.arange(6.0)]), np.array([1.0, 3.8])
        options = {"J": lambda u: float(u @ np.log(u)), "max_iter": 20_000}
        run = dual_ascent(lambda l: np.exp(-1 - A.T @ l), A, b, [0.0, 0.0], 0.04, **options)
        u = cp.Variable(6)
        entropy = cp.Problem(cp.Maximize(cp.sum(cp.entr(u))), [A @ u == b]).solve(solver="CLARABEL")
        assert run.converged
        assert_allclose(run.u, u.value, atol=1e-5)
        assert run.history["dual_objective"][-1] == pytest.approx(-entropy, abs=1e-6)


argmin = TestExample161.argmin


def ascend(argmin=argmin, step=0.1):
    return dual_ascent(argmin, [[2, -1]], [5], [0], step)


test_bad_input = refusals(
    (lambda: ascend(step=lambda k: 1.0 - k), r"step\(1\) must be a finite number > 0"),
    (lambda: ascend(lambda l: np.zeros(3)), r"argmin must return a real array of shape \(2,\)"),
    (lambda: method_of_multipliers(argmin, [[2, -1]], [5], [0], 0), "rho must .* > 0, got 0"),
    (lambda: quadratic_argmin(np.eye(2), [0, 0], [[2, -1]], rho=1), "b is needed when rho > 0"),
)
