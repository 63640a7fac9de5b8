"""The ADMM loop and the inequalities of its convergence proof."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from companion.admm import admm, convergence_inequalities, lyapunov
from companion.exceptions import ConvergenceWarning
from tests.refusals import refusals

# Example 16.4: minimise 2x + z^2 subject to 2x - z = 0
EXAMPLE = {
    "x_update": lambda v, rho: (v - 1 / rho) / 2, "z_update": lambda v, rho: -rho * v / (rho + 2),
    "A": 2, "B": -1, "c": 0, "objective": lambda x, z: 2 * x[0] + z[0] ** 2,
}  # fmt: skip
EXAMPLE_STAR = {"x_star": [-0.25], "z_star": [-0.5], "lambda_star": [-1.0], "p_star": -0.25}
POINTS = ("x_star", "z_star", "lambda_star")
FOREVER = {"tol_abs": 0, "tol_rel": 0}


class Quadratic:
    """min 1/2 x'Px + q'x + 1/2 z'Mz + l'z  s.t.  A x + B z = c, with its saddle point from the KKT system."""

    def __init__(self, rng: np.random.Generator, p=5, n=3, m=4, curved=True):
        self.A, self.B, self.c = (rng.standard_normal(s) for s in ((p, n), (p, m), p))
        S, T = rng.standard_normal((n, n)), rng.standard_normal((m, m))
        if not curved:
            S[0] = T[0] = 0
        self.P, self.M = S.T @ S, T.T @ T
        self.q, self.l = rng.standard_normal(n), rng.standard_normal(m)
        top, middle = [self.P, np.zeros((n, m)), self.A.T], [np.zeros((m, n)), self.M, self.B.T]
        K = np.block([top, middle, [self.A, self.B, np.zeros((p, p))]])
        solution = np.linalg.solve(K, np.concatenate([-self.q, -self.l, self.c]))
        self.x, self.z, self.lambda_ = np.split(solution, [n, n + m])
        self.value = self.objective(self.x, self.z)

    def objective(self, x, z):
        return float(x @ self.P @ x / 2 + self.q @ x + z @ self.M @ z / 2 + self.l @ z)

    def x_update(self, v, rho):
        return np.linalg.solve(self.P + rho * self.A.T @ self.A, rho * self.A.T @ v - self.q)

    def z_update(self, v, rho):
        return np.linalg.solve(self.M + rho * self.B.T @ self.B, rho * self.B.T @ v - self.l)

    def run(self, **options):
        problem = {"A": self.A, "B": self.B, "c": self.c, "objective": self.objective}
        return admm(self.x_update, self.z_update, **problem | options)

    def steps(self, number, **options):
        """Exactly so many steps, with all iterates."""
        stop = lambda step: step.k == number  # noqa: E731
        return self.run(**FOREVER, callback=stop, keep_iterates=True, **options).history

    @property
    def star(self):
        return dict(zip((*POINTS, "p_star"), (self.x, self.z, self.lambda_, self.value)))


def run_steps(steps, **options):
    """Run exactly so many steps of Example 16.4, with all iterates and without a warning."""
    options = {**EXAMPLE, **FOREVER, "keep_iterates": True, **options}
    return admm(**options, callback=lambda step: step.k == steps)


def test_example_16_4_first_iterates():
    history = run_steps(4).history
    exact = [[-1 / 2, -1 / 3, -2 / 3], [-1 / 3, -4 / 9, -8 / 9]]
    exact += [[-5 / 18, -13 / 27, -26 / 27], [-7 / 27, -40 / 81, -80 / 81]]
    got = np.column_stack([history["x"], history["z"][1:], history["u"][1:]])
    assert_allclose(got, exact, rtol=1e-15)


@pytest.mark.parametrize("rho", [0.1, 1.0, 10.0])
def test_example_16_4_geometric_rate(rho):
    """z^k = -1/2 + (rho / (rho + 2))^k (1/2 + z^0), whatever the multiplier is."""
    history = run_steps(12, rho=rho, z0=[3.0], u0=[-7.0]).history
    k = np.arange(1, 13)
    start = history["z"][1, 0] + 0.5  # the multiplier matters once, in the first step
    assert_allclose(history["z"][1:, 0], -0.5 + (rho / (rho + 2)) ** (k - 1) * start, atol=1e-14)


def test_example_16_6_marches_to_minus_infinity():
    """x^{k+3} = x^2 - (k+1)/rho, and the multiplier is 0 from the first step on."""
    # minimise x + (indicator of no constraint) z: f(x) = x, g = 0, x - z = 0
    options = {"rho": 2, "z0": [7], "u0": [2.5], "max_iter": 9, "keep_iterates": True}
    with pytest.warns(ConvergenceWarning, match="no convergence in max_iter=9 steps: primal"):
        run = admm(lambda v, rho: v - 1 / rho, lambda v, rho: -v, 1, -1, 0, **options)
    x = run.history["x"][:, 0]
    assert_array_equal(run.history["u"][1:], 0)
    assert_allclose(x[2:], x[1] - (np.arange(7) + 1) / 2, rtol=1e-15)
    assert (run.status, run.converged) == ("max_iter", False)


def test_scaled_equals_unscaled():
    problem = Quadratic(np.random.default_rng(1))
    A, B, c, rho = problem.A, problem.B, problem.c, 0.7
    z, lam = np.ones(4), np.arange(5.0)
    history = problem.steps(25, rho=rho, z0=z, u0=lam / rho)
    for k in range(25):  # the three lines of the unscaled method, minimised by calculus
        x = np.linalg.solve(problem.P + rho * A.T @ A, -problem.q - A.T @ (lam + rho * (B @ z - c)))
        z = np.linalg.solve(problem.M + rho * B.T @ B, -problem.l - B.T @ (lam + rho * (A @ x - c)))
        lam = lam + rho * (A @ x + B @ z - c)
        assert_allclose(history["x"][k], x, atol=1e-10)
        assert_allclose(history["z"][k + 1], z, atol=1e-10)
        assert_allclose(rho * history["u"][k + 1], lam, atol=1e-10)


@pytest.mark.parametrize("relaxation", [0.5, 1.0, 1.6, 1.9])
def test_dual_residual_is_the_defect_of_stationarity(relaxation):
    """grad f(x^k) + A'lambda^k = s^k, and grad g(z^k) + B'lambda^k = 0, also with over-relaxation."""
    problem = Quadratic(np.random.default_rng(3))
    h = problem.steps(8, rho=2, relaxation=relaxation)
    lam = 2 * h["u"][1:]
    s = h["x"] @ problem.P + problem.q + lam @ problem.A
    assert_allclose(np.linalg.norm(s, axis=1), h["dual_residual"], rtol=1e-8, atol=1e-12)
    assert_allclose(h["z"][1:] @ problem.M + problem.l + lam @ problem.B, 0, atol=1e-10)


@pytest.mark.parametrize("kind", [np.ndarray.tolist, sparse.csr_array, sparse.coo_matrix])
def test_every_kind_of_matrix_gives_the_same_iterates(kind):
    problem = Quadratic(np.random.default_rng(4))
    dense = problem.run(max_iter=3000)
    other = problem.run(A=kind(problem.A), B=kind(problem.B), max_iter=3000)
    assert other.n_iter == dense.n_iter
    assert_allclose(other.x, dense.x, atol=1e-10)
    assert_allclose(other.history["dual_residual"], dense.history["dual_residual"], atol=1e-9)


def check_convergence(seed, **options):
    problem = Quadratic(np.random.default_rng(seed))
    run = problem.run(tol_abs=1e-11, tol_rel=1e-11, max_iter=60_000, **options)
    assert run.converged
    assert_allclose(run.objective, problem.value, atol=1e-7)
    assert_allclose(run.x, problem.x, atol=1e-6)
    assert_allclose(run.z, problem.z, atol=1e-6)
    assert_allclose(run.rho * run.u, problem.lambda_, atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rho", [0.3, 1.0, 10.0])
def test_theorem_16_1(seed, rho):
    check_convergence(seed, rho=rho)


@pytest.mark.parametrize("options", [{"relaxation": 1.7}, {"relaxation": 0.6}, {"adaptive": True}])
def test_variants_find_the_same_solution(options):
    check_convergence(5, rho=50, **options)


def test_adaptive_rho_follows_the_rule():
    h = run_steps(12, rho=1000, adaptive=True).history
    rho, r, s = h["rho"], h["primal_residual"], h["dual_residual"]
    assert len(np.unique(rho)) > 1
    for k in range(11):
        factor = 2 if r[k] > 10 * s[k] else 1 / 2 if s[k] > 10 * r[k] else 1
        assert_allclose(rho[k + 1], rho[k] * factor, rtol=1e-14)


def test_rescaling_keeps_lambda():
    """With rho u = lambda kept, the first step after a change is the step of a fresh run with that rho."""
    run = run_steps(2, rho=1000, adaptive=True)
    h = run.history
    assert h["rho"][1] == 500
    fresh = run_steps(1, rho=500, z0=h["z"][1], u0=2 * h["u"][1])
    assert_allclose([run.x, run.z, run.u], [fresh.x, fresh.z, fresh.u], rtol=1e-14)


def test_A1_counterexample_of_the_first_step():
    """Exact: V^0 = 101, V^1 = 5/9, excess 124/9; then -20/81 and -20/729."""
    run = run_steps(3, z0=[0.5], u0=[-11.0])
    assert_allclose(lyapunov(run.history, -1, [-0.5], [-1.0])[:2], [101, 5 / 9], rtol=1e-14)
    slack = convergence_inequalities(run.history, 2, -1, 0, **EXAMPLE_STAR)
    assert_allclose(slack["A1"], [-124 / 9, 20 / 81, 20 / 729], rtol=1e-12)
    assert_allclose([slack["A2"][0], slack["A3"][0]], 1 / 9, rtol=1e-12)


def examine(wrong=(), **options):
    """The inequalities of a run, and perhaps a point of another size."""
    stars = EXAMPLE_STAR | dict.fromkeys(wrong, (0.0, 0.0))
    return lambda: convergence_inequalities(run_steps(20, **options).history, 2, -1, 0, **stars)


test_what_the_proof_needs = refusals(
    (examine(keep_iterates=False), "keep_iterates=True"),
    (examine(rho=1000, adaptive=True), "rho changed"),
    (examine(objective=None), "no objective"),
    *((examine([name]), f"{name} must have length 1") for name in POINTS),
    (lambda: lyapunov(run_steps(2).history, -1, [-1], [0, 0]), "lambda_star must have length 1"),
)


def test_callback_sees_each_step_and_can_stop():
    seen = []
    run = admm(**EXAMPLE, callback=lambda step: seen.append(step) or step.k == 3)
    assert [step.k for step in seen] == [1, 2, 3]
    assert (run.status, run.converged) == ("stopped by callback", False)
    assert_array_equal([s.primal_residual for s in seen], run.history["primal_residual"])
    assert_array_equal(seen[-1].z, run.z)


@pytest.mark.parametrize(("tol_abs", "tol_rel"), [(1e-3, 0), (0, 1e-3), (1e-4, 1e-4), (0, 1e-6)])
@pytest.mark.parametrize("rho", [0.05, 1.0, 20.0])
def test_stops_at_the_first_step_that_meets_the_rule(tol_abs, tol_rel, rho):
    """Boyd et al., Section 3.3.1."""
    largest = set()
    for seed in range(4):
        problem = Quadratic(np.random.default_rng(seed))
        options = {"max_iter": 10**5, "keep_iterates": True}
        run = problem.run(rho=rho, tol_abs=tol_abs, tol_rel=tol_rel, **options)
        h, norm = run.history, lambda rows: np.linalg.norm(rows, axis=-1)
        norms = norm(h["x"] @ problem.A.T), norm(h["z"][1:] @ problem.B.T)
        norms = np.array([*norms, np.full(run.n_iter, norm(problem.c))])
        eps_primal = np.sqrt(5) * tol_abs + tol_rel * norms.max(axis=0)
        eps_dual = np.sqrt(3) * tol_abs + tol_rel * norm(rho * h["u"][1:] @ problem.A)
        met = (h["primal_residual"] <= eps_primal) & (h["dual_residual"] <= eps_dual)
        assert np.flatnonzero(met).tolist() == [run.n_iter - 1]
        assert run.converged
        largest.add(int(norms[:, -1].argmax()))
    assert len(largest) > 1


def test_divergence_is_reported_with_the_last_finite_iterate():
    with pytest.warns(ConvergenceWarning, match=r"step \d+ diverged"):
        run = admm(lambda v, rho: -1e10 * v + 1, lambda v, rho: 1e10 * v, 1, -1, 0, max_iter=500)
    assert (run.status, run.converged) == ("diverged", False)
    assert np.isfinite([run.x, run.z, run.u]).all()
    assert run.n_iter == len(run.history["primal_residual"]) < 500


def unchanged(A=1, B=-1, c=0, **options):
    return lambda: admm(lambda v, rho: v, lambda v, rho: -v, A, B, c, **options)


WIDE = np.ones((3, 2))
test_bad_input = refusals(
    (unchanged(WIDE, np.ones((4, 2))), r"same number of rows.*\(3, 2\).*\(4, 2\)"),
    (unchanged(WIDE, c=np.zeros(4)), "c must have length 3, got length 4"),
    (unchanged(c=np.zeros(4), z0=np.zeros(3)), "z0 must have length 4"),
    (unchanged(c=np.zeros(4), u0=np.zeros(3)), "u0 must have length 4"),
    (unchanged(WIDE), r"x_update must return a real array of shape \(2,\)"),
    (unchanged(-1, WIDE), r"z_update must return a real array of shape \(2,\)"),
    (unchanged(sparse.csr_array([[1, np.inf]])), "A must be finite"),
    (unchanged(rho=0), "rho must"), (unchanged(relaxation=2), "relaxation must be .* > 0 and < 2"),
)  # fmt: skip
