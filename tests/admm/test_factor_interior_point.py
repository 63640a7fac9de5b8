"""The interior-point method for a P that is given by a factor, and ADMM's rough first steps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from companion.admm import LowRank, solve_qp
from companion.admm.factor_interior_point import factor_interior_point
from companion.admm.kkt import BoxQP, FactoredKKT
from companion.admm.qp_engine import XStep

BOUNDS = {
    "box": (0.0, 1.0),
    "lower bounds": (0.0, np.inf),
    "upper bounds": (-np.inf, 0.5),
    "far bounds": (-1e6, 1e6),
}


def program(bounds: str, *, diagonal: float = 0.0, linear: bool = True, seed: int = 0) -> BoxQP:
    """Forty variables, a factor of rank three, one row; a ray of descent is impossible."""
    rng = np.random.default_rng(seed)
    n = 40
    lower, upper = (np.full(n, bound) for bound in BOUNDS[bounds])
    A = np.ones((1, n)) if bounds != "far bounds" else np.sign(rng.standard_normal((1, n)))
    at = np.clip(rng.random(n), np.maximum(lower, -1.0) + 0.1, np.minimum(upper, 1.0) - 0.1)
    P = LowRank(rng.standard_normal((n, 3)), diagonal)
    q = rng.standard_normal(n) if linear else np.zeros(n)
    return BoxQP(P, q, A, A @ at, lower, upper)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("diagonal", [0.0, 0.3])
@pytest.mark.parametrize("bounds", ["box", "lower bounds", "upper bounds"])
def test_it_ends_at_the_solution(bounds, diagonal, linear, seed):
    p = program(bounds, diagonal=diagonal, linear=linear, seed=seed)
    *_, last = factor_interior_point(p)
    known = solve_qp(p.P.toarray(), p.q, p.A, p.b, lower=p.lower, upper=p.upper)
    assert known.certificate.ok
    assert last.error <= 1e-7
    value = 0.5 * last.x @ (p.P @ last.x) + p.q @ last.x
    assert_allclose(value, known.objective, rtol=1e-6, atol=1e-8)
    assert_allclose(p.A @ last.x, p.b, rtol=1e-8)


def test_the_active_set_is_read_before_the_point_is_exact():
    p = program("box", diagonal=0.3)
    exact = solve_qp(p.P, p.q, p.A, p.b, lower=p.lower, upper=p.upper)
    state = (exact.x >= p.upper).astype(int) - (exact.x <= p.lower)
    early = next(i for i in factor_interior_point(p) if i.error <= 1e-5)
    assert np.array_equal(early.state, state)
    assert np.abs(early.x - exact.x).max() > 1e-12


def test_bounds_that_hardly_matter():
    p = program("far bounds", diagonal=0.3)
    answer = solve_qp(p.P, p.q, p.A, p.b, lower=p.lower, upper=p.upper)
    free = solve_qp(p.P.toarray(), p.q, p.A, p.b, lower=-np.inf)
    assert answer.certificate.ok
    assert_allclose(answer.x, free.x, atol=1e-8)


@pytest.mark.parametrize("n", [60, 200])
def test_a_rough_step_has_seven_digits(n):
    rng = np.random.default_rng(1)
    G = rng.standard_normal((n, n))
    box = np.full(n, np.inf)
    p = BoxQP(G @ G.T, rng.standard_normal(n), np.ones((1, n)), np.ones(1), -box, box)
    rho, w = p.mean_curvature, rng.standard_normal(n)
    rough, precise = XStep(p, rho, rough=True), XStep(p, rho)
    assert rough.is_rough == (n > 120)
    assert_allclose(rough(w), precise(w), atol=1e-5 * np.abs(precise(w)).max())
    assert_allclose(precise(w), precise.solve(w)[0], atol=1e-12)
    gradient = p.gradient(precise(w), precise.solve(w)[1]) + rho * (precise(w) - w)
    assert_allclose(gradient, 0.0, atol=1e-9 * np.abs(p.product(w)).max())


def test_single_precision_is_for_moderate_numbers():
    P = 1e30 * np.eye(3)
    p = BoxQP(P, np.zeros(3), np.zeros((0, 3)), np.zeros(0), np.zeros(3), np.ones(3))
    assert FactoredKKT.in_single_precision(p, 1e30) is None
    indefinite = BoxQP(np.diag([1.0, -9.0, 1.0]), p.q, p.A, p.b, p.lower, p.upper)
    assert FactoredKKT.in_single_precision(indefinite, 1.0) is None
