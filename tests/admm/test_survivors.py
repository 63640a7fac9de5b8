"""Tests that kill mutants which all others let live (``make mutants``)."""

import numpy as np
import pytest
from scipy.special import expit

from companion.admm import prox_logistic
from companion.admm.active_set import (
    FREE,
    LOWER,
    UPPER,
    _bind,
    _next_state,
    _place_multipliers,
    active_set_newton,
)
from companion.admm.kkt import BoxQP, factor_kkt


def test_the_bracket_of_the_logistic_prox_is_needed() -> None:
    """Newton's step leaves the bracket for few pairs only, as v = -1.5, t = 3.16: a grid finds them.

    The residual of ``x - v = t / (1 + e^x)``, compared with its terms.
    """
    v = np.r_[np.linspace(-60, 60, 241), -1e6, -1e3, 1e3]
    for t in 10.0 ** np.linspace(-8, 8, 65):
        x = prox_logistic(v, t)
        pull = t * expit(-x)
        assert (np.abs(x - v - pull) <= 1e-14 * (np.abs(x) + np.abs(v) + pull)).all()


@pytest.mark.parametrize("bound", [-1, 1])
def test_a_variable_guessed_at_a_bound_is_set_free(bound: int) -> None:
    """min 1/2 |x|^2 - c'x on [-1, 1]^3: guess: all at one bound. Other methods would hide it."""
    c = np.array([0.5, -0.25, 3.0])
    box = np.ones(3)
    problem = BoxQP(np.eye(3), -c, np.zeros((0, 3)), np.zeros(0), -box, box)
    answer = active_set_newton(problem, bound * box, np.zeros(0), np.full(3, bound, dtype=np.int8))
    assert answer is not None
    np.testing.assert_allclose(answer.x, [0.5, -0.25, 1.0], atol=1e-12)


def test_variables_switch_until_the_sum_fits() -> None:
    """x on [1, 2]^4 with the sum 13/2: from (1, 1, 1, 1) two switch, the third is free; the next system is right."""
    q, box = np.array([-10.0, -9.0, -1.5, 5.0]), np.ones(4)
    problem = BoxQP(np.eye(4), q, np.ones((1, 4)), np.array([6.5]), box, 2.0 * box)
    start = np.full(4, -1, dtype=np.int8)
    answer = active_set_newton(problem, box, np.zeros(1), start, max_steps=2)
    assert answer is not None
    np.testing.assert_allclose(answer.x, [2.0, 2.0, 1.5, 1.0], atol=1e-12)
    np.testing.assert_allclose(answer.y, 0.0, atol=1e-12)


def test_rows_that_depend_on_others_leave_their_combinations() -> None:
    """Three rows of rank 1, one of them zero: two combinations of length 1 vanish on the variables."""
    A = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [2.0, 2.0, 0.0]])
    box = np.ones(3)
    kkt = factor_kkt(BoxQP(np.eye(3), np.zeros(3), A, np.zeros(3), -box, box), 1.0)
    assert kkt.null is not None
    assert kkt.null.shape == (3, 2)
    assert np.linalg.matrix_rank(kkt.null) == 2
    np.testing.assert_allclose(A.T @ kkt.null, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(kkt.null, axis=0), 1.0, rtol=1e-12)
    dx, dy = kkt.solve(np.array([1.0, 3.0, 5.0]), np.array([1.0, 0.0, 2.0]))
    np.testing.assert_allclose(A @ dx, [1.0, 0.0, 2.0], atol=1e-12)
    np.testing.assert_allclose(2.0 * dx + A.T @ dy, [1.0, 3.0, 5.0], atol=1e-12)


def test_a_program_learns_from_one_with_the_same_matrices_only() -> None:
    """Curvatures and absolute rows are taken over where P is the same array, and q and A are equal."""
    P, q, A, b, box = (
        np.diag([0.25, 9.0]),
        np.ones(2),
        np.array([[1.0, -2.0]]),
        np.ones(1),
        np.ones(2),
    )
    other = BoxQP(P, q, A, b, -box, box)
    known = [other.roots, other.mean_curvature, other.absolute_rows]
    assert (known[0].tolist(), known[1], known[2].tolist()) == ([0.5, 3.0], 4.625, [[1.0, 2.0]])
    same = BoxQP(P, q.copy(), A.copy(), 2.0 * b, -box, 3.0 * box)
    assert same.learn_from(other)
    assert [vars(same)[name] for name in ("roots", "mean_curvature", "absolute_rows")] == known
    for another in (
        BoxQP(P.copy(), q, A, b, -box, box),
        BoxQP(P, 2.0 * q, A, b, -box, box),
        BoxQP(P, q, 2.0 * A, b, -box, box),
    ):
        assert not another.learn_from(other)
        assert vars(another).keys().isdisjoint(("roots", "mean_curvature", "absolute_rows"))


@pytest.mark.parametrize("ridge", [1e-2, 1e-4])
def test_refinement_removes_a_large_ridge(ridge: float) -> None:
    """Each correction multiplies the error by about the ridge; one of them would leave its square."""
    P, A = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, 2.0]])
    far = np.full(2, 100.0)
    problem = BoxQP(P, np.array([-4.0, 1.0]), A, np.array([3.0]), -far, far)
    answer = active_set_newton(
        problem, np.zeros(2), np.zeros(1), np.zeros(2, dtype=np.int8), ridge=ridge
    )
    assert answer is not None
    KKT = np.block([[P, A.T], [A, np.zeros((1, 1))]])
    expected = np.linalg.solve(KKT, [4.0, -1.0, 3.0])
    np.testing.assert_allclose(np.r_[answer.x, answer.y], expected, atol=1e-12)


def test_the_product_that_is_carried_along_is_that_of_the_answer() -> None:
    """With a known system P x is not computed anew: neither where a variable meets its bound nor where one is free."""
    rng = np.random.default_rng(3)
    F = rng.standard_normal((6, 6))
    P, A = F @ F.T + np.eye(6), np.ones((1, 6))
    x, lower, upper = np.full(6, 0.5), np.full(6, 0.25), np.ones(6)
    problem = BoxQP(P, 3.0 * rng.standard_normal(6), A, np.array([3.0]), lower, upper)
    state = np.zeros(6, dtype=np.int8)
    kkt = factor_kkt(problem, 1e-10 * problem.mean_curvature, weight=problem.mean_curvature)
    answer = active_set_newton(problem, x, np.zeros(1), state, Px=P @ x, kkt=kkt)
    anew = active_set_newton(problem, x, np.zeros(1), state)
    assert answer is not None
    assert anew is not None
    assert (anew.x == 0.25).any()
    assert ((anew.x > 0.25) & (anew.x < 1.0)).any()
    np.testing.assert_allclose(answer.x, anew.x, rtol=1e-12)
    np.testing.assert_allclose(answer.Px, P @ answer.x, rtol=1e-12)
    gradient = answer.Px + problem.q + answer.y @ A
    assert (gradient[answer.x == 0.25] >= 0.0).all()
    assert (gradient[answer.x == 1.0] <= 0.0).all()


def test_the_matrix_of_solutions_is_the_block_of_the_inverse() -> None:
    """``dx = S r`` for s = 0: the first block of the inverse of ``[[P + I, A'], [A, 0]]``."""
    P, A, box = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, 2.0]]), np.ones(2)
    kkt = factor_kkt(BoxQP(P, np.zeros(2), A, np.zeros(1), -box, box), 1.0)
    found = kkt.matrix_of_solutions()
    assert found is not None
    inverse = np.linalg.inv(np.block([[P + np.eye(2), A.T], [A, np.zeros((1, 1))]]))
    np.testing.assert_allclose(np.tril(found), np.tril(inverse[:2, :2]), atol=1e-14)


# -- the steps of the Newton finish: a wrong one is mended by the next, or by another method


def test_the_next_state_is_read_from_positions_and_signs() -> None:
    """On [1/4, 1]: three variables were free, one is on the bound by rounding; four were bound, two of them leave."""
    lower, upper = np.full(8, 0.25), np.ones(8)
    problem = BoxQP(np.eye(8), np.zeros(8), np.zeros((0, 8)), np.zeros(0), lower, upper)
    state = np.array([FREE, FREE, FREE, FREE, LOWER, LOWER, UPPER, UPPER], dtype=np.int8)
    x = np.array([1.5, -0.5, 0.5, 1.0, 0.25, 0.25, 1.0, 1.0])
    g = np.array([0.0, 0.0, 0.0, 0.0, -2.0, -0.5, 0.5, 1e-15])
    free = np.arange(4)
    read = _next_state(problem, x, g, state, free, 1.0, 0.0)
    assert read.tolist() == [UPPER, LOWER, FREE, FREE, FREE, FREE, FREE, UPPER]
    # With curvature 2 the fifth variable would go 1 upwards, further than the other bound, the sixth 1/4.
    read = _next_state(problem, x, g, state, free, 1.0, 2.0)
    assert read.tolist() == [UPPER, LOWER, FREE, FREE, UPPER, FREE, FREE, UPPER]


@pytest.mark.parametrize(
    ("d", "state", "g", "theta"),
    [
        ([1, 2, -1, 0], [LOWER, UPPER, LOWER, LOWER], [3, -8, 5, 1], 0.5),  # between -3 and 4
        ([1, 1, 0, 0], [LOWER, LOWER, LOWER, UPPER], [3, 1, 1, -1], 0.0),  # at least -1
        ([1, 1, 0, 0], [LOWER, LOWER, LOWER, UPPER], [-3, 1, 1, -1], 3.0),  # at least 3
        ([1, 1, 0, 0], [UPPER, UPPER, LOWER, UPPER], [3, 1, 1, -1], -3.0),  # at most -3
    ],
)
def test_a_multiplier_without_free_variables(
    d: list[float], state: list[int], g: list[float], theta: float
) -> None:
    A, box = np.array([d], dtype=float), np.ones(4)
    x = np.array(state, dtype=float)
    problem = BoxQP(np.eye(4), np.zeros(4), A, A @ x, -box, box)
    start, gradient = np.array(state, dtype=np.int8), np.array(g, dtype=float)
    y, moved, after = _place_multipliers(problem, np.eye(1), x, np.array([0.25]), gradient, start)
    assert y.tolist() == [0.25 + theta]
    np.testing.assert_array_equal(moved, gradient + theta * A[0])
    np.testing.assert_array_equal(after, start)


@pytest.mark.parametrize(
    ("total", "after", "theta"),
    [
        (4.5, [UPPER, FREE, LOWER], 1.0),  # the first goes up by 1, the second by 1/2
        (9.0, [UPPER, UPPER, FREE], -2.0),  # more than there is room for
    ],
)
def test_variables_switch_in_the_order_of_their_ratios(
    total: float, after: list[int], theta: float
) -> None:
    """x on [1, 2]^3 stands at (1, 1, 1), and its sum is to be more than 3."""
    A, box = np.ones((1, 3)), np.ones(3)
    problem = BoxQP(np.eye(3), np.zeros(3), A, np.array([total]), box, 2.0 * box)
    state, g = np.full(3, LOWER, dtype=np.int8), np.array([-5.0, -1.0, 2.0])
    y, moved, found = _place_multipliers(problem, np.eye(1), box, np.zeros(1), g, state)
    assert found.tolist() == after
    assert y.tolist() == [theta]
    np.testing.assert_array_equal(moved, g + theta)


def test_variables_are_moved_to_their_bounds_and_the_gradient_with_them() -> None:
    P, lower, upper = np.array([[2.0, 1.0], [1.0, 3.0]]), np.full(2, -1.0), np.full(2, 2.0)
    problem = BoxQP(P, np.zeros(2), np.zeros((0, 2)), np.zeros(0), lower, upper)
    x = np.array([0.5, 0.25])
    g = P @ x
    _bind(problem, x, g, np.array([LOWER, UPPER], dtype=np.int8), np.arange(2))
    assert x.tolist() == [-1.0, 2.0]
    np.testing.assert_allclose(g, P @ x, rtol=1e-15)
