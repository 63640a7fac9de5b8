"""Tests that kill mutants which all others let live (``make mutants``)."""

import numpy as np
import pytest
from scipy.special import expit

from companion.admm import LowRank, generalized_lasso, least_absolute_deviations, prox_logistic
from companion.admm.active_set import (
    FREE,
    LOWER,
    UPPER,
    _bind,
    _next_state,
    _on_bounds,
    _place_multipliers,
    active_set_newton,
    read_state,
)
from companion.admm.coarse import Pair, _rounds
from companion.admm.kkt import BoxQP, factor_kkt
from companion.admm.l1.signs import first_zero, newton_step
from companion.admm.proximal_gradient import _first_step
from companion.admm.qp_engine import _plus_identity
from companion.admm.row_matrix import RowMatrix
from companion.exceptions import ConvergenceWarning


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


@pytest.mark.parametrize("y", [0.0, 5.0])
@pytest.mark.parametrize("ridge", [1e-2, 1e-4])
def test_refinement_removes_a_large_ridge(ridge: float, y: float) -> None:
    """Each correction multiplies the error by about the ridge; one of them would leave its square."""
    P, A = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, 2.0]])
    far = np.full(2, 100.0)
    problem = BoxQP(P, np.array([-4.0, 1.0]), A, np.array([3.0]), -far, far)
    answer = active_set_newton(
        problem, np.array([y, 1.0]), np.array([y]), np.zeros(2, dtype=np.int8), ridge=ridge
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
    read = _next_state(problem, x, g, state, free, 1.0, 0.5)  # all three go further than that
    assert read.tolist() == [UPPER, LOWER, FREE, FREE, UPPER, UPPER, LOWER, UPPER]
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
        (3.25, [FREE, LOWER, LOWER], 5.0),  # the first goes up by 1/4
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


def test_a_combination_of_rows_without_variables_is_passed_over() -> None:
    """The multiplier of the row 0'x = 0 is any number; that of the other row is still chosen."""
    A, box = np.array([[0.0, 0.0], [1.0, 1.0]]), np.ones(2)
    problem = BoxQP(np.eye(2), np.zeros(2), A, np.array([0.0, 2.5]), box, 2.0 * box)
    state, g = np.full(2, LOWER, dtype=np.int8), np.array([-3.0, -1.0])
    y, moved, found = _place_multipliers(problem, np.eye(2), box, np.array([7.0, 0.0]), g, state)
    assert (y.tolist(), moved.tolist(), found.tolist()) == ([7.0, 3.0], [0.0, 2.0], [FREE, LOWER])


def test_variables_are_moved_to_their_bounds_and_the_gradient_with_them() -> None:
    P, lower, upper = np.array([[2.0, 1.0], [1.0, 3.0]]), np.full(2, -1.0), np.full(2, 2.0)
    problem = BoxQP(P, np.zeros(2), np.zeros((0, 2)), np.zeros(0), lower, upper)
    x = np.array([0.5, 0.25])
    assert _on_bounds(problem, x, np.array([LOWER, FREE])).tolist() == [-1.0, 0.25]
    assert _on_bounds(problem, 9.0 * x, np.array([FREE, UPPER])).tolist() == [2.0, 2.0]
    g = P @ x
    _bind(problem, x, g, np.array([LOWER, UPPER], dtype=np.int8), np.arange(2))
    assert x.tolist() == [-1.0, 2.0]
    np.testing.assert_allclose(g, P @ x, rtol=1e-15)


def test_a_multiple_of_the_identity_is_added_to_each_kind_of_matrix() -> None:
    """Proximal steps do so where P is nearly singular; other methods would hide a wrong sign."""
    G = np.random.default_rng(3).standard_normal((5, 2))
    P = G @ G.T
    rows = RowMatrix(lambda i, j: P[np.ix_(i, j)], P.diagonal(), np.ones(5))
    for matrix in (P, LowRank(G), rows):
        np.testing.assert_allclose(
            _plus_identity(matrix, 0.5) @ np.eye(5)[1], (P + np.eye(5) / 2)[1]
        )


def test_rows_that_are_computed_in_turn_add_up() -> None:
    """The second product needs rows that the first one did not: its terms are the sum over both."""
    rng = np.random.default_rng(4)
    G, factors = rng.standard_normal((6, 6)), rng.uniform(1.0, 2.0, 6)
    K = G @ G.T
    rows = RowMatrix(lambda i, j: K[np.ix_(i, j)], K.diagonal(), factors)
    for x in (np.array([1.0, 0, 0, -2.0, 0, 0]), np.array([0, 3.0, 0, 1.0, 0, -1.0]), np.ones(6)):
        np.testing.assert_allclose(rows @ x, factors * (K @ (factors * x)), rtol=1e-13)


def test_an_unfinished_run_returns_the_residuals_of_its_point() -> None:
    rng = np.random.default_rng(5)
    A, b = rng.standard_normal((12, 3)), rng.standard_normal(12)
    with pytest.warns(ConvergenceWarning):
        run = least_absolute_deviations(A, b, finish=False, max_iter=4)
    np.testing.assert_allclose(run.z, A @ run.x - b, atol=1e-12)


def test_signs_stop_a_step_where_the_first_entry_meets_zero() -> None:
    v, signs = np.array([2.0, -1.0, 3.0, 0.5]), np.array([1.0, -1.0, 1.0, 1.0])
    part, stops = first_zero(v, np.array([-8.0, 4.0, 1.0, -0.25]), signs)
    assert part == 0.25
    np.testing.assert_array_equal(stops, [0, 1])
    part, stops = first_zero(v, np.array([-1.0, 0.5, -1.0, 0.0]), signs)
    assert (part, stops.size) == (1.0, 0)


def test_where_curvature_is_missing_the_step_goes_far_downhill() -> None:
    """g'd + d'Hd/2 with H = diag(2, 0): no minimum if g has a second entry."""
    H = np.diag([2.0, 0.0])
    np.testing.assert_allclose(newton_step(H, np.array([4.0, 0.0]), 1e-12, 1.0), [-2.0, 0.0])
    step = newton_step(H, np.array([4.0, 1.0]), 1e-12, reach=3.0)
    assert step[1] < -1e9
    assert abs(step[0]) < 1e-6


def test_the_first_step_of_the_proximal_gradient_is_one_over_the_curvature() -> None:
    Q = np.diag([1.0, 9.0])
    x = np.array([0.0, 1.0])
    assert _first_step(lambda v: Q @ v, x, Q @ x) == pytest.approx(1 / 9, rel=1e-6)


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_penalty_of_the_generalized_lasso_moves_only_if_it_may(adaptive: bool) -> None:
    A, D = np.eye(8), np.diff(np.eye(8), axis=0)
    b = np.r_[np.zeros(4), np.ones(4)]
    run = generalized_lasso(A, b, D, 0.1, rho=1e3, adaptive=adaptive, finish=False)
    assert (np.ptp(run.history["rho"]) > 0) == adaptive


def test_a_smaller_program_that_fails_gets_more_variables() -> None:
    """Those in doubt, twice as many each time, in the given order; with all of them there is no more to try."""
    n = 40
    box = np.ones(n)
    q = np.linspace(-2.0, 2.0, n)
    problem = BoxQP(np.eye(n), q, np.zeros((0, n)), np.zeros(0), -box, box)
    order, tried = np.argsort(np.abs(q)), []

    def solve_from(part: BoxQP, x: np.ndarray, y: np.ndarray, state: np.ndarray) -> Pair | None:
        tried.append(part.q.size)
        return (np.clip(-part.q, -1.0, 1.0), y) if part.q.size >= enough else None

    start = np.where(q > 0, -1.0, 1.0)
    state = read_state(problem, start)
    enough = 24
    answer = _rounds(problem, np.sort(order[:6]), order, start, np.zeros(0), state, solve_from)
    assert answer is not None
    np.testing.assert_allclose(answer[0], np.clip(-q, -1.0, 1.0))
    assert tried == [6, 12, 24]
    enough, tried = n + 1, []
    assert (
        _rounds(problem, np.sort(order[:6]), order, start, np.zeros(0), state, solve_from) is None
    )
    assert tried == [6, 12, 24]
