"""The engine for general quadratic programs: known optima, certificates that no wrong answer gets."""

import numpy as np
import pytest

from companion.engine.certificate import BoxProgram, Certificate, bound_multipliers, certify
from companion.engine.quadratic import solve_box

INF = np.full(2, np.inf)
NONE = np.zeros((0, 2)), np.zeros(0)


def test_a_small_column_counts():
    """x1 could grow to 1e5 and gain 1: its gradient is 1e-5, that of x2 has terms of 1e5."""
    zero, y, upper = np.zeros(2), np.zeros(0), np.array([1e5, 1.0])
    program = BoxProgram(np.diag([0.0, 1e10]), np.array([-1e-5, -1e5]), *NONE, zero, upper)
    assert certify(program, np.array([4e-5, 1e-5]), y, zero, zero).gap > 0.5
    assert certify(program, np.array([1e5, 1e-5]), y, zero, np.array([1e-5, 0.0])).ok
    assert solve_box(program).x == pytest.approx([1e5, 1e-5])


def test_nothing_to_minimise_has_no_multipliers():
    one = np.ones((1, 1))
    found = solve_box(BoxProgram(0 * one, 0 * one[0], -2 * one, -2 * one[0], one[0], 4 * one[0]))
    assert (found.y, found.certificate.ok) == (0.0, True)


def test_a_residual_that_overflows_is_not_zero():
    """min -x without an upper bound: the exact product of 0 and 1e303 is nan."""
    one, zero = np.ones(1), np.zeros(1)
    program = BoxProgram(np.zeros((1, 1)), -one, np.zeros((0, 1)), np.zeros(0), zero, INF[:1])
    assert not certify(program, 1e303 * one, np.zeros(0), zero, zero).ok
    assert not Certificate(0.0, np.nan, 0.0, 0.0, 1e-9).ok


def small_program(rng):
    """Return an integer program with an integer optimum x: the multipliers are chosen first."""
    n, p = int(rng.integers(1, 5)), int(rng.integers(0, 3))
    G = rng.integers(-2, 3, (n, n)) * (rng.random(n) < 0.7)
    P, A = (G.T @ G).astype(float), rng.integers(-2, 3, (p, n)).astype(float)
    lower = rng.integers(-3, 2, n).astype(float)
    upper = lower + rng.integers(1, 5, n)
    at = rng.integers(-1, 2, n)
    x = np.where(at < 0, lower, np.where(at > 0, upper, np.floor((lower + upper) / 2)))
    z = at * rng.integers(0, 4, n) * ((x == lower) | (x == upper))
    y = rng.integers(-2, 3, p).astype(float)
    return P, -(P @ x + A.T @ y) - z, A, A @ x, lower, upper, x


@pytest.mark.slow
def test_no_certified_answer_is_wrong():
    """20,000 small programs with known optima, in columns scaled by powers of two, solved and certified."""
    rng = np.random.default_rng(0)
    certified = 0
    for _ in range(20_000):
        P, q, A, b, lower, upper, x = small_program(rng)
        best = 0.5 * x @ P @ x + q @ x
        t = 2.0 ** rng.integers(-30, 31, x.size)
        data = BoxProgram(P * np.outer(t, t), q * t, A * t, b, lower / t, upper / t)
        found = solve_box(data)
        u = found.x * t
        size = np.abs(u)
        terms = 0.5 * abs(u @ P @ u) + np.abs(q) @ size
        miss = 0.5 * u @ P @ u + q @ u - best
        if found.certificate.ok:
            certified += 1
            slack = np.abs(found.y) @ (np.abs(A) @ size + np.abs(b)) + size @ np.abs(P) @ size
            assert abs(miss) <= 2e-9 * terms + 1e-14 * slack + 1e-15  # of integers
        # a point that is worse is never certified, whatever multipliers come with it
        step = rng.normal(size=u.size) * 10.0 ** rng.integers(-6, 1)
        v = u if b.size else np.clip(u + step, lower, upper)
        value = 0.5 * v @ P @ v + q @ v
        if value - best > 1e-6 * (0.5 * v @ P @ v + np.abs(q) @ np.abs(v)) + 1e-6:
            g = data.P @ (v / t) + data.q + found.y @ data.A
            z = bound_multipliers(g, v / t, data.lower, data.upper)
            assert not certify(data, v / t, found.y, *z).ok
        program = BoxProgram(P, q, A, b, lower, upper)
        plain = certify(program, u, found.y, found.z_lower / t, found.z_upper / t)
        assert plain.ok == found.certificate.ok
        assert plain.worst == pytest.approx(found.certificate.worst, rel=1e-9)
    assert certified >= 19_990  # the others are flagged


def test_rounding_noise_in_a_right_hand_side_is_a_contradiction_and_zero_is_none():
    P, q, row = np.eye(2), -np.ones(2), np.ones((1, 2))
    for b, ok in ((0.0, True), (0.3 - 0.1 - 0.2, False), (-1e-12, False)):
        program = BoxProgram(P, q, row, np.array([b]), np.zeros(2), INF)
        assert solve_box(program).certificate.ok is ok
