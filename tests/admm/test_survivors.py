"""Tests that kill mutants which all others let live (``make mutants``)."""

import numpy as np
import pytest

from companion.admm import (
    LowRank,
    qp_engine,
    solve_qp,
)
from companion.admm.active_set import (
    FREE,
    LOWER,
    UPPER,
    ActiveSet,
    Answer,
    _bind,
    _next_state,
    _on_bounds,
    _place_multipliers,
    _settle,
    active_set_newton,
    read_state,
)
from companion.admm.coarse import (
    Pair,
    _enough,
    _rounds,
    _wrongly_fixed,
    coarse_to_fine,
    representatives,
)
from companion.admm.interior_point import interior_point
from companion.admm.kkt import BoxQP, FactoredKKT, factor_kkt
from companion.admm.low_rank import low_rank_factor
from companion.admm.presolve import (
    _evening_scale,
    _has_room,
    is_infeasibility_witness,
    is_unbounded_ray,
    presolve,
    row_ranges,
)
from companion.admm.qp_engine import (
    Neighbour,
    Search,
    _can_fix,
    _plus_identity,
    _proximal_rounds,
    _Splitting,
    _splitting_variable,
)
from companion.admm.quadratic import solve_box_qp
from companion.admm.row_matrix import RowMatrix
from companion.exceptions import InfeasibleProblemError


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


def _as(kind: str, G: np.ndarray) -> np.ndarray | LowRank | RowMatrix:
    """G G' as a matrix of the given kind."""
    P = G @ G.T
    if kind == "rows":
        return RowMatrix(lambda i, j: P[np.ix_(i, j)], P.diagonal(), np.ones(len(P)))
    return LowRank(G) if kind == "low rank" else P


@pytest.mark.parametrize("size", [8, 5, 3])
@pytest.mark.parametrize("weight", [0.0, 2.5])
@pytest.mark.parametrize(
    ("kind", "rank"), [("array", 6), ("rows", 6), ("low rank", 6), ("low rank", 1)]
)
def test_a_factored_system_is_solved(kind: str, rank: int, weight: float, size: int) -> None:
    """Each kind of matrix, all or some of the variables, right-hand sides in both parts."""
    rng = np.random.default_rng(7)
    G, A, box = rng.standard_normal((8, rank)), rng.standard_normal((2, 8)), np.ones(8)
    free, shift = np.sort(rng.permutation(8)[:size]), rng.uniform(0.5, 2.0, size)
    problem = BoxQP(_as(kind, G), np.zeros(8), A, np.zeros(2), -box, box)
    r, s = rng.standard_normal(size), np.array([3.0, -2.0])
    dx, dy = factor_kkt(problem, shift, free, weight).solve(r, s)
    part = (G @ G.T)[np.ix_(free, free)]
    np.testing.assert_allclose(part @ dx + shift * dx + dy @ A[:, free], r, atol=1e-12)
    np.testing.assert_allclose(A[:, free] @ dx, s, atol=1e-12)


def test_seven_digits_of_a_system_with_both_right_hand_sides() -> None:
    rng = np.random.default_rng(8)
    G, A, box = rng.standard_normal((5, 5)), rng.standard_normal((2, 5)), np.ones(5)
    problem = BoxQP(G @ G.T, np.zeros(5), A, np.zeros(2), -box, box)
    kkt = FactoredKKT.in_single_precision(problem, 0.5)
    assert kkt is not None
    dx, dy = kkt.solve(r := rng.standard_normal(5), s := np.array([3.0, -2.0]))
    np.testing.assert_allclose(problem.P @ dx + 0.5 * dx + dy @ A, r, atol=1e-4)
    np.testing.assert_allclose(A @ dx, s, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_weight_of_the_rows_saves_the_digits_of_a_singular_matrix(scale: float) -> None:
    """P has rank 4 of 6, the rows of A see the rest: M = P + 1e-12 I alone would lose 12 of 16 digits."""
    rng = np.random.default_rng(9)
    G, A, box = rng.standard_normal((6, 4)), scale * rng.standard_normal((2, 6)), np.ones(6)
    for P in (G @ G.T, LowRank(G)):
        problem = BoxQP(P, np.zeros(6), A, np.zeros(2), -box, box)
        r, s = rng.standard_normal(6), scale * np.array([3.0, -2.0])
        dx, dy = factor_kkt(problem, 1e-12, weight=1.0).solve(r, s)
        np.testing.assert_allclose(G @ (G.T @ dx) + 1e-12 * dx + dy @ A, r, atol=1e-11)
        np.testing.assert_allclose(A @ dx, s, atol=1e-12 * scale)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rows_are_independent_or_not_in_any_unit(scale: float) -> None:
    """Two rows at an angle of 1e-7 count as dependent, at a right angle as independent."""
    A, box = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), np.ones(3)
    for row, independent in ((1e-7, False), (1.0, True)):
        A[1, 1] = row
        rows = scale * np.array([[1.0], [1e3]]) * A
        kkt = factor_kkt(BoxQP(np.eye(3), box, rows, np.zeros(2), -box, box), 1.0)
        assert (kkt.null is None) == independent


def test_a_large_part_is_gathered_whole() -> None:
    """Strips of 128 rows; 299 variables are free."""
    n = 300
    P, box = np.diag(np.arange(1.0, n + 1)), np.ones(n)
    problem = BoxQP(P, box, np.zeros((0, n)), np.zeros(0), -box, box)
    free = np.arange(1, n)
    dx, _ = factor_kkt(problem, 1.0, free).solve(np.ones(n - 1), np.zeros(0))
    np.testing.assert_allclose(dx, 1.0 / np.arange(3.0, n + 2), rtol=1e-14)


def test_a_state_is_read_from_the_bounds() -> None:
    box = np.ones(5)
    problem = BoxQP(np.eye(5), box, np.zeros((0, 5)), np.zeros(0), -box, box)
    state = read_state(problem, np.array([-3.0, -1.0, 0.5, 1.0, 3.0]))
    assert (state.tolist(), state.dtype) == ([LOWER, LOWER, FREE, UPPER, UPPER], np.int8)


def test_a_sign_counts_in_the_unit_of_the_gradient() -> None:
    lower, upper = np.zeros(4), np.full(4, np.inf)
    problem = BoxQP(np.eye(4), lower, np.zeros((0, 4)), np.zeros(0), lower, upper)
    state, free = np.full(4, LOWER, dtype=np.int8), np.zeros(0, dtype=int)
    g = np.array([-1e-14, -1e-8, -1e-2, 1.0])
    for terms, leaving in ((1e7, 2), (1e3, 1), (1e-4, 0)):
        read = _next_state(problem, lower, g, state, free, terms, 0.0)
        assert read.tolist() == [FREE if leaving <= i < 3 else LOWER for i in range(4)]


@pytest.mark.parametrize(
    ("total", "after", "theta"),
    [
        (5.5, [FREE, UPPER, UPPER], -5.0),  # the first goes down by 1/2
        (3.5, [LOWER, FREE, UPPER], -1.0),  # the first goes down by 2, the second by 1/2
        (-4.0, [LOWER, LOWER, FREE], 2.0),  # more than there is room for
    ],
)
def test_variables_switch_downwards(total: float, after: list[int], theta: float) -> None:
    """x on [0, 2]^3 stands at (2, 2, 2), and its sum is to be less than 6."""
    A, x = np.ones((1, 3)), np.full(3, 2.0)
    problem = BoxQP(np.eye(3), np.zeros(3), A, np.array([total]), np.zeros(3), x)
    state, g = np.full(3, UPPER, dtype=np.int8), np.array([5.0, 1.0, -2.0])
    y, moved, found = _place_multipliers(problem, np.eye(1), x, np.zeros(1), g, state)
    assert found.tolist() == after
    assert y.tolist() == [theta]
    np.testing.assert_array_equal(moved, g + theta)


def test_a_row_that_no_variable_can_meet_is_passed_over() -> None:
    """x on [1, 2]^2 stands at (1, 1): x_1 = 0 cannot be had, x_2 = 3/2 can."""
    lower = np.ones(2)
    problem = BoxQP(np.eye(2), lower, np.eye(2), np.array([0.0, 1.5]), lower, 2.0 * lower)
    state, g = np.full(2, LOWER, dtype=np.int8), np.array([-3.0, -1.0])
    y, _, found = _place_multipliers(problem, np.eye(2), lower, np.zeros(2), g, state)
    assert (y.tolist(), found.tolist()) == ([0.0, 1.0], [LOWER, FREE])


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_a_mismatch_counts_in_the_unit_of_the_rows(unit: float) -> None:
    """Rounding of A x = b is none: the multiplier is the middle of its interval, and no variable switches."""
    A, lower = np.full((1, 2), unit), np.ones(2)
    state, g = np.array([LOWER, UPPER], dtype=np.int8), unit * np.array([3.0, 1.0])
    x = np.array([1.0, 2.0])
    for off, theta in ((1e-13, -2.0), (1e-3, -3.0)):
        b = unit * np.array([3.0 + off])
        problem = BoxQP(np.eye(2), lower, A, b, lower, 2.0 * lower)
        y, _, found = _place_multipliers(problem, np.eye(1), x, np.zeros(1), g, state)
        np.testing.assert_allclose(y, theta, rtol=1e-12)
        assert found.tolist() == [LOWER if off < 1e-12 else FREE, UPPER]


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_refinement_ends_at_rounding_in_any_unit(unit: float) -> None:
    P, A, q = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, 2.0]]), np.array([-4.0, 1.0])
    far, b = np.full(2, 100.0 * unit), np.array([3.0])
    problem = BoxQP(P, unit * q, A, unit * b, -far, far)
    start = unit * np.array([5.0, 1.0]), unit * np.array([5.0])
    answer = active_set_newton(problem, *start, np.zeros(2, dtype=np.int8), ridge=1e-2)
    assert answer is not None
    KKT = np.block([[P, A.T], [A, np.zeros((1, 1))]])
    expected = unit * np.linalg.solve(KKT, np.r_[-q, b])
    np.testing.assert_allclose(np.r_[answer.x, answer.y], expected, atol=1e-13 * unit)


def test_a_linear_program_is_finished_with_a_ridge_of_its_own() -> None:
    """min -x_1 with x_1 + x_2 = 1 on [0, 1]^2."""
    A, lower = np.ones((1, 2)), np.zeros(2)
    problem = BoxQP(np.zeros((2, 2)), np.array([-1.0, 0.0]), A, np.ones(1), lower, lower + 1.0)
    start = np.full(2, 0.5)
    answer = active_set_newton(problem, start, np.zeros(1), np.zeros(2, dtype=np.int8))
    assert answer is not None
    np.testing.assert_allclose(answer.x, [1.0, 0.0], atol=1e-15)


def test_variables_outside_the_box_are_bound_and_the_others_refined() -> None:
    """min 1/2 x'Px + q'x with sum 2: without the box x = (5.6, -4.2, 0.4, 0.2)"""
    P, q, A, b = (
        np.diag([1.0, 2.0, 4.0, 3.0]),
        np.array([-9.0, 5.0, -5.0, -4.0]),
        np.ones((1, 4)),
        np.array([2.0]),
    )
    lower, upper = np.zeros(4), np.ones(4)
    problem = BoxQP(P, q, A, b, lower, upper)
    free, x, y = np.arange(4), np.full(4, 0.5), np.array([0.25])
    kkt = factor_kkt(problem, 1e-10, free, 1.0)
    g = problem.gradient(x, y)
    state = np.zeros(4, dtype=np.int8)
    answer = _settle(problem, ActiveSet(state, kkt), free, x, y, g, 1e-10, 1.0, False)
    assert answer.active is not None
    assert answer.active.state.tolist() == [UPPER, LOWER, FREE, FREE]
    assert state.tolist() == [FREE] * 4
    np.testing.assert_allclose(answer.x, [1.0, 0.0, 4 / 7, 3 / 7], rtol=1e-12)
    np.testing.assert_allclose(answer.Px, P @ answer.x, rtol=1e-12)
    np.testing.assert_allclose((answer.Px + q + answer.y @ A)[2:], 0.0, atol=1e-12)
    dx, _ = answer.active.kkt.solve(np.zeros(2), np.array([7.0]))
    np.testing.assert_allclose(dx, [3.0, 4.0], rtol=1e-8)


def test_a_start_off_its_bounds_is_moved_with_its_product() -> None:
    rng = np.random.default_rng(11)
    F, A, box = rng.standard_normal((5, 5)), np.ones((1, 5)), np.ones(5)
    P, x = F @ F.T + np.eye(5), np.full(5, 0.25)
    target = np.array([-1.0, 1.0, 0.5, -0.25, 0.125])
    slopes = np.array([3.0, -3.0, 0.0, 0.0, 0.0])
    problem = BoxQP(P, slopes - P @ target, A, A @ target, -box, box)
    state = np.array([LOWER, UPPER, FREE, FREE, FREE], dtype=np.int8)
    kkt = factor_kkt(problem, 1e-10 * problem.mean_curvature, np.arange(2, 5), 1.0)
    answer = active_set_newton(problem, x, np.zeros(1), state, Px=P @ x, kkt=kkt)
    assert answer is not None
    np.testing.assert_allclose(answer.x, target, rtol=1e-12)
    np.testing.assert_allclose(answer.Px, P @ target, rtol=1e-12)


def _box_program(seed: int, n: int = 6) -> BoxQP:
    """min 1/2 x'Px + q'x with sum x = 1 on a box, some bounds active."""
    rng = np.random.default_rng(seed)
    F, box = rng.standard_normal((n, n)), np.ones(n)
    P = F @ F.T + np.eye(n)
    return BoxQP(P, 30.0 * rng.standard_normal(n), np.ones((1, n)), np.ones(1), -box, box)


@pytest.mark.parametrize("n", [6, 130])
@pytest.mark.parametrize("alpha", [1.0, 1.6])
def test_the_iteration_is_the_one_that_is_stated(alpha: float, n: int) -> None:
    problem, rho = _box_program(12, n), 5.0
    P, q, A, b = problem.P, problem.q, problem.A, problem.b
    v = np.linspace(-2.0, 2.0, n)
    splitting, search = _Splitting(problem, v, rho, alpha), Search(problem, 1e-9, 100)
    found, y = splitting.run(5, search)
    KKT = np.block([[P + rho * np.eye(n), A.T], [A, np.zeros((1, 1))]])
    residuals = []
    for _ in range(5):
        z = np.clip(v, -1.0, 1.0)
        x, multiplier = np.split(np.linalg.solve(KKT, np.r_[rho * (2.0 * z - v) - q, b]), [n])
        v = v + alpha * (x - z)
        after = np.clip(v, -1.0, 1.0)
        residuals.append((np.linalg.norm(x - after), rho * np.linalg.norm(after - z)))
    digits = 1e-4 if n > 120 else 1e-12  # in single precision at first
    np.testing.assert_allclose(found, v, rtol=digits, atol=digits)
    history = search.history["primal_residual"], search.history["dual_residual"]
    np.testing.assert_allclose(np.transpose(history), residuals, rtol=digits, atol=digits)
    np.testing.assert_allclose(y, multiplier, rtol=digits, atol=digits)


@pytest.mark.parametrize("penalty", [0.5, 3.0, 20.0])
def test_a_solution_is_a_fixed_point_of_the_splitting(penalty: float) -> None:
    problem = _box_program(13)
    result = solve_box_qp(problem, tol=1e-10, max_iter=1000)
    assert 0 < np.sum(np.abs(result.x) == 1.0) < 6
    near = Answer(result.x, result.y, problem.P @ result.x)
    v = _splitting_variable(problem, near, penalty)
    after, _ = _Splitting(problem, v, penalty, 1.6).run(3, Search(problem, 1e-9, 100))
    np.testing.assert_allclose(after, v, atol=1e-11)


def test_a_linear_program_has_a_splitting_variable_too() -> None:
    lower = np.zeros(2)
    problem = BoxQP(
        np.zeros((2, 2)), np.array([3.0, -2.0]), np.zeros((0, 2)), lower[:0], lower, lower + 1
    )
    near = Answer(np.array([0.0, 1.0]), lower[:0], lower)
    assert _splitting_variable(problem, near, 0.0).tolist() == [-3.0, 3.0]


def test_where_the_finish_fails_the_splitting_starts_from_the_neighbour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = _box_program(14)
    solution = solve_box_qp(problem, tol=1e-10, max_iter=1000)
    finish, calls = Search.finish, []

    def fails_once(search: Search, *arguments, **options) -> bool:
        calls.append(search)
        return len(calls) > 1 and finish(search, *arguments, **options)

    monkeypatch.setattr(Search, "finish", fails_once)
    start = solution.x, solution.y
    again = solve_box_qp(problem, tol=1e-10, max_iter=1000, start=start)
    assert len(calls) == 2
    np.testing.assert_allclose(again.x, solution.x, atol=1e-12)
    np.testing.assert_allclose(again.history["primal_residual"], 0.0, atol=1e-12)


def test_the_penalty_that_is_given_is_used() -> None:
    problem = _box_program(15)
    default = solve_box_qp(problem, tol=1e-9, max_iter=1000)
    given, other = (
        solve_box_qp(problem, tol=1e-9, max_iter=1000, rho=rho, alpha=1.6)
        for rho in (problem.mean_curvature, 50.0 * problem.mean_curvature)
    )
    np.testing.assert_array_equal(given.history["dual_residual"], default.history["dual_residual"])
    assert other.history["dual_residual"][0] > 2.0 * given.history["dual_residual"][0]
    np.testing.assert_allclose(other.x, given.x, atol=1e-12)


def test_a_search_keeps_no_point_that_is_not_finite() -> None:
    problem = _box_program(16)
    search = Search(problem, 1e-9, 100)
    assert not search.offer(np.full(6, np.nan), np.zeros(1))
    assert not search.offer(np.zeros(6), np.full(1, np.inf))
    assert search.proof is None


def test_the_search_for_a_part_counts() -> None:
    problem = _box_program(17)
    whole, part = Search(problem, 1e-9, 100), Search(problem, 1e-9, 100)
    whole.count([5.0, 4.0], [3.0, 2.0])
    part.count([1.0], [0.5])
    assert whole.adopt(part) is None
    assert not part.offer(np.zeros(6), np.zeros(1))
    assert whole.adopt(part) is None
    solution = solve_box_qp(problem, tol=1e-10, max_iter=1000)
    assert part.offer(solution.x, solution.y)
    assert whole.adopt(part) is not None
    assert (whole.n_iter, whole.left) == (5, 95)
    assert whole.history["primal_residual"] == [5.0, 4.0, 1.0, 1.0, 1.0]
    assert whole.history["dual_residual"] == [3.0, 2.0, 0.5, 0.5, 0.5]


def test_a_neighbour_meets_a_family_of_programs() -> None:
    """Its product P x is computed anew for each 25th; another matrix, or another slope, is another family."""
    problem, neighbour = _box_program(18), Neighbour()
    assert not neighbour.has_met(problem.P)
    assert neighbour.meet(problem) is None
    presolved, x = presolve(problem), np.linspace(-1.0, 1.0, 6)
    neighbour.keep(presolved, Answer(x, np.zeros(1), np.zeros(6)))
    assert neighbour.has_met(problem.P)
    assert not neighbour.has_met(problem.P.copy())
    for _ in range(24):
        assert neighbour.meet(problem) is presolved
        assert not neighbour.answer.Px.any()
    assert neighbour.meet(problem) is presolved
    np.testing.assert_allclose(neighbour.answer.Px, problem.P @ x)
    other = BoxQP(problem.P, -problem.q, problem.A, problem.b, problem.lower, problem.upper)
    assert neighbour.meet(other) is None
    assert neighbour.answer is None
    assert not neighbour.has_met(problem.P)


@pytest.mark.parametrize("fixed", [False, True])
def test_a_neighbour_remembers_the_solution(fixed: bool) -> None:
    """With a fixed variable presolve makes a smaller program: its active set would not fit."""
    problem, neighbour = _box_program(19), Neighbour()
    lower = problem.lower.copy()
    lower[2] = 1.0 if fixed else -1.0
    for total in (1.0, 1.25, 1.5):
        program = BoxQP(problem.P, problem.q, problem.A, np.array([total]), lower, problem.upper)
        result = solve_box_qp(program, tol=1e-9, max_iter=100, start=neighbour)
        alone = solve_box_qp(program, tol=1e-9, max_iter=100)
        np.testing.assert_allclose(result.x, alone.x, atol=1e-12)
        x, y, Px, active = neighbour.answer
        np.testing.assert_array_equal(x, result.x)
        np.testing.assert_array_equal(y, result.y)
        np.testing.assert_allclose(Px, problem.P @ x, rtol=1e-12)
        assert (active is None) == fixed
        if active is not None:
            np.testing.assert_array_equal(active.state, read_state(program, x))


@pytest.mark.parametrize("kind", ["array", "low rank"])
def test_proximal_steps_reach_the_solutions_of_a_singular_program(kind: str) -> None:
    rng = np.random.default_rng(20)
    G, box = rng.standard_normal((8, 3)), np.ones(8)
    x = np.array([1.0, -1.0, 0.5, 0.25, -0.25, 0.0, 0.75, -0.5])
    slopes = np.array([-2.0, 3.0, 0, 0, 0, 0, 0, 0])
    P = G @ G.T
    problem = BoxQP(
        LowRank(G) if kind == "low rank" else P,
        slopes - P @ x,
        np.zeros((0, 8)),
        np.zeros(0),
        -box,
        box,
    )
    search, near = Search(problem, 1e-10, 100), x + 1e-2 * rng.standard_normal(8)
    near = np.clip(near, -1.0, 1.0)
    state = np.array([UPPER, LOWER, LOWER, FREE, FREE, FREE, FREE, UPPER], dtype=np.int8)
    assert _proximal_rounds(search, near, np.zeros(0), state)
    assert search.proof is not None
    assert search.proof.certificate.ok
    g = P @ search.x + problem.q
    assert search.x[:2].tolist() == [1.0, -1.0]
    np.testing.assert_allclose(g, slopes, atol=1e-9)
    np.testing.assert_allclose(search.x, x, atol=0.1)  # not any solution: one that is near


def test_without_curvature_there_are_no_proximal_steps() -> None:
    lower = np.zeros(2)
    problem = BoxQP(np.zeros((2, 2)), np.ones(2), np.zeros((0, 2)), lower[:0], lower, lower + 1)
    state = np.zeros(2, dtype=np.int8)
    assert not _proximal_rounds(Search(problem, 1e-9, 100), lower, lower[:0], state)


def test_variables_can_be_fixed_where_both_bounds_are_finite() -> None:
    box, inf = np.ones(2), np.array([1.0, np.inf])
    for P, lower, upper, can in (
        (np.eye(2), -box, box, True),
        (np.eye(2), -inf, box, False),
        (np.eye(2), -box, inf, False),
        (LowRank(np.eye(2)), -box, box, False),
    ):
        assert _can_fix(BoxQP(P, box, np.zeros((0, 2)), np.zeros(0), lower, upper)) == can


def test_rows_computed_one_by_one_become_an_array_for_the_splitting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = _box_program(21)
    P = problem.P
    rows = RowMatrix(lambda i, j: P[np.ix_(i, j)], P.diagonal(), np.ones(6))
    monkeypatch.setattr(qp_engine, "ROWS_FROM", 2)
    of_rows = BoxQP(rows, problem.q, problem.A, problem.b, problem.lower, problem.upper)
    found = solve_box_qp(of_rows, tol=1e-9, max_iter=1000)
    np.testing.assert_allclose(
        found.x, solve_box_qp(problem, tol=1e-9, max_iter=1000).x, atol=1e-12
    )
    assert found.converged


def test_one_equation_may_be_given_as_a_vector() -> None:
    result = solve_qp(np.eye(3), [0.0, -1.0, -2.0], [1.0, 1.0, 1.0], [1.0])
    np.testing.assert_allclose(result.x, [0.0, 0.0, 1.0], atol=1e-12)
    with pytest.raises(ValueError, match="A"):
        solve_qp(np.eye(3), np.ones(3), [1.0, 1.0], [1.0])


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_an_indefinite_matrix_is_refused_in_any_unit(unit: float) -> None:
    for P in ([[1.0, 2.0], [2.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, -1.0]]):
        with pytest.raises(ValueError, match="negative eigenvalue"):
            solve_qp(unit * np.array(P), np.ones(2), upper=1.0)
    with pytest.raises(ValueError, match="symmetric"):
        solve_qp(unit * np.array([[1.0, 0.5], [0.0, 1.0]]), np.ones(2), upper=1.0)


def test_a_matrix_that_is_trusted_is_not_tested() -> None:
    """It is still converted, and its shape and diagonal are looked at."""
    result = solve_qp([[2, 1], [1, 2]], [-2, -2], upper=1.0, assume_psd=True)
    np.testing.assert_allclose(result.x, [2 / 3, 2 / 3], rtol=1e-12)
    uneven = np.array([[2.0, 1e-6], [0.0, 2.0]])
    with pytest.raises(ValueError, match="symmetric"):
        solve_qp(uneven, [-9.0, -9.0], upper=1.0)
    assert solve_qp(uneven, [-9.0, -9.0], upper=1.0, assume_psd=True).x.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"\(2, 2\).*\(3, 3\)"):
        solve_qp(np.eye(3), [-9.0, -9.0], upper=1.0, assume_psd=True)


INF = np.inf


def _program(P, q, A, b, lower, upper) -> BoxQP:
    n = len(q)
    vectors = [np.broadcast_to(np.asarray(v, dtype=float), n).copy() for v in (q, lower, upper)]
    A = np.reshape(np.asarray(A, dtype=float), (-1, n))
    return BoxQP(P, vectors[0], A, np.asarray(b, dtype=float), vectors[1], vectors[2])


# -- what is said before and after solving


def test_presolve_translates_there_and_back() -> None:
    """A fixed variable, curvatures of 1 and 1e-6, and rows of many lengths: x and y survive."""
    P = np.diag([1.0, 1e-6, 1.0, 1e-6])
    A = np.array([[1.0, 2.0, 0.0, 1.0], [1e3, 0.0, 1e3, -1e3]])
    lower, upper = np.array([-1.0, -3.0, 0.5, -2.0]), np.array([2.0, 1.0, 0.5, 4.0])
    x, y = np.array([1.5, -2.5, 0.5, 3.0]), np.array([3.0, -0.25])
    small = presolve(_program(P, np.ones(4), A, A @ x, lower, upper))
    assert small.problem.q.size == 3
    assert np.ptp(small.problem.P.diagonal()) < 1.0
    part, multipliers = small.shrink(x, y)
    np.testing.assert_allclose(small.problem.A @ part, small.problem.b, rtol=1e-12)
    assert (small.problem.lower < part).all()
    assert (part < small.problem.upper).all()
    for found, expected in zip(small.restore(part, multipliers), (x, y)):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    for far in (-9.0, 9.0):
        part, multipliers = small.shrink(np.full(4, far), y)
        np.testing.assert_array_equal(part, small.problem.lower if far < 0 else small.problem.upper)
        restored, _ = small.restore(1.25 * part, multipliers)
        assert ((lower <= restored) & (restored <= upper)).all()


def test_rows_that_force_variables_hold_each_of_them() -> None:
    """The second row has its largest value once the first has put x_2 at 1; its multiplier pushes at x_2."""
    A, b = np.array([[0.5, 1.0, 0.0], [0.0, -1.0, 0.5]]), np.array([1.5, -0.5])
    for sign in (1.0, -1.0):
        result = solve_qp(np.eye(3), [5.0, 5.0, 5.0], sign * A, sign * b, upper=1.0)
        assert result.converged
        assert result.x.tolist() == [1.0, 1.0, 1.0]
        gradient = result.x + 5.0 + result.y @ (sign * A)
        np.testing.assert_allclose(gradient, result.z_lower - result.z_upper, atol=1e-12)
        assert (gradient <= 1e-12).all()


def test_the_range_of_a_row() -> None:
    A = np.array([[0.0, 2.0, -1.0, 0.5], [0.25, -2.0, 0.0, 0.0]])
    lower, upper = np.array([-1.0, 1.0, 2.0, -2.0]), np.array([1.0, 3.0, 5.0, 6.0])
    for found, expected in zip(row_ranges(A, lower, upper), ([-4.0, -6.25], [7.0, -1.75])):
        np.testing.assert_array_equal(found, expected)
    low, high = row_ranges(A[:1], np.r_[-INF, lower[1:]], np.r_[INF, upper[1:]])
    assert (low.tolist(), high.tolist()) == ([-4.0], [7.0])
    low, high = row_ranges(A, lower, np.r_[1.0, INF, upper[2:]])
    assert (low.tolist(), high.tolist()) == ([-4.0, -INF], [INF, -1.75])


@pytest.mark.parametrize(
    ("row", "b", "room"),
    [
        ([1.0, -1.0], 1.9, True),
        ([1.0, -1.0], 2.0, False),
        ([1.0, -1.0], -2.1, False),
        ([1.0, 1.0], 2.5, True),
        ([1.0, 1.0], 5.5, True),
        ([1.0, 1.0], 6.0, False),
        ([1.0, 1.0], 6.0 - 1e-13, False),
        ([1.0, 1.0], 1.5, False),
        ([-2.0, 0.0], -5.5, True),
        ([-2.0, 0.0], 5.5, False),
    ],
)
def test_room_for_a_row(row: list[float], b: float, room: bool) -> None:
    """On [1, 3]^2."""
    for unit in (1e-6, 1.0, 1e6):
        program = _program(np.eye(2), [0.0, 0.0], [row], [unit * b], unit, 3.0 * unit)
        assert _has_room(program) == room
    assert _has_room(_program(np.eye(2), [0.0, 0.0], [], [], 1.0, 3.0))
    assert not _has_room(_program(np.eye(2), [0.0, 0.0], [], [], 1.0, [3.0, INF]))
    assert not _has_room(_program(np.eye(2), [0.0, 0.0], [], [], 1.0, [3.0, 1.0]))


@pytest.mark.parametrize("unit", [2.0**-60, 1.0, 2.0**60])
def test_variables_are_scaled_alike_in_any_unit(unit: float) -> None:
    width = np.ones(3)
    scale = _evening_scale(unit * np.diag([1.0, 2.0**-20, 0.0]), width)
    assert scale is not None
    np.testing.assert_allclose(scale, scale[0] * np.array([1.0, 1024.0, 1.0]))
    assert _evening_scale(unit * np.diag([1.0, 2.0**-10, 0.5]), width) is None
    assert _evening_scale(np.zeros((3, 3)), width) is None


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_dependent_rows_are_dropped_or_contradict_in_any_unit(unit: float) -> None:
    A = unit * np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]])
    lengths = np.array([1e-3, 1.0, 1e4])
    for b, third in ((2.0, True), (1.0, False), (3.0, False)):
        right = unit * lengths * np.array([1.0, 1.0, b])
        program = _program(np.eye(3), np.ones(3), lengths[:, None] * A, right, -9.0, 9.0)
        if third:
            assert presolve(program).problem.b.size == 2
        else:
            with pytest.raises(InfeasibleProblemError, match="contradict each other") as raised:
                presolve(program)
            assert is_infeasibility_witness(program, raised.value.witness)


def test_a_proof_of_infeasibility_is_one() -> None:
    """x / 2 on [0, 1] lies between 0 and 1/2."""
    for b, y, proof in (
        (1.0, 1.0, True),
        (0.4, 1.0, False),
        (0.5, 1.0, False),
        (-0.1, -1.0, True),
        (0.1, -1.0, False),
        (0.0, -1.0, False),
    ):
        program = _program(np.eye(1), [0.0], [0.5], [b], 0.0, 1.0)
        assert is_infeasibility_witness(program, np.array([y])) == proof


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_ray_is_one(size: float) -> None:
    P, q = np.diag([1.0, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])
    A, b = [[0.0, 1.0, -1.0], [1e12, 0.0, 0.0]], [0.0, 0.0]
    cone = _program(P, q, A, b, 0.0, INF)
    for d, ray in (
        ([0.0, 1.0, 1.0], True),
        ([0.0, 0.5, 0.5], True),
        ([0.0, 0.0, 0.0], False),
        ([0.0, -1.0, -1.0], False),
        ([1.0, 1.0, 1.0], False),
        ([0.0, 1.0, 0.0], False),
    ):
        assert is_unbounded_ray(cone, size * np.array(d)) == ray
    d = size * np.array([0.0, 0.5, 0.5])
    assert not is_unbounded_ray(_program(P, -q, A, b, 0.0, INF), d)  # uphill
    assert not is_unbounded_ray(_program(P, 0.0 * q, A, b, 0.0, INF), d)  # level
    assert not is_unbounded_ray(_program(P, q, A, b, 0.0, [INF, INF, 9.0]), d)
    assert not is_unbounded_ray(_program(P, -q, A, b, [0.0, -INF, 0.0], INF), -d)
    d = size * np.array([1.0, 1.0, 1.0])
    assert not is_unbounded_ray(
        _program(1e-20 * P, q, A[:1], b[:1], 0.0, INF), d
    )  # curved, however little


# -- interior points


@pytest.mark.parametrize("bounds", ["both", "one"])
def test_interior_points_are_the_same_in_any_unit(bounds: str) -> None:
    """Powers of two as units of x and of the objective change no digit but the exponents."""
    rng = np.random.default_rng(30)
    G, A = rng.standard_normal((8, 2)), rng.standard_normal((2, 8))
    q, b = rng.standard_normal(8), A @ np.full(8, 0.5)
    upper = np.where(np.arange(8) % 2, 1.0, INF) if bounds == "one" else np.ones(8)
    lower = np.where(np.arange(8) % 2, -INF, 0.25) if bounds == "one" else np.full(8, 0.25)
    base = list(interior_point(_program(LowRank(G), q, A, b, lower, upper), max_iter=40))
    assert base[-1].error < 1e-10
    for iterate in base:
        assert iterate.error >= max(iterate.primal_residual, iterate.dual_residual)
    for x, f in ((2.0**30, 1.0), (2.0**-30, 1.0), (1.0, 2.0**40), (1.0, 2.0**-40)):
        G_there = G * np.sqrt(f) / x
        there = _program(LowRank(G_there), q * f / x, A, b * x, lower * x, upper * x)
        found = list(interior_point(there, max_iter=40))
        assert len(found) == len(base)
        errors = [[iterate.error for iterate in run] for run in (found, base)]
        np.testing.assert_allclose(errors[0][:5], errors[1][:5], rtol=1e-6)
        np.testing.assert_allclose(found[-1].x / x, base[-1].x, rtol=1e-6)
        np.testing.assert_array_equal(found[-1].state, base[-1].state)


# -- kinds of matrices


def test_a_low_rank_matrix_times_a_matrix() -> None:
    """The diagonal scales rows, also where there are as many columns."""
    rng = np.random.default_rng(31)
    P, X = LowRank(rng.standard_normal((4, 2)), [1.0, 2.0, 3.0, 4.0]), rng.standard_normal((4, 4))
    np.testing.assert_allclose(P @ X, P.toarray() @ X, rtol=1e-13)
    for diagonal in ([1.0, 2.0], np.ones((1, 1, 1)), np.nan):
        with pytest.raises(ValueError, match=r"^diagonal must"):
            LowRank(np.ones((3, 1)), diagonal)
    with pytest.raises(ValueError, match=r"^G must"):
        LowRank(np.ones(3))


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_a_factor_of_low_rank_is_found_in_any_unit(unit: float) -> None:
    G = np.random.default_rng(32).standard_normal((40, 5))
    factor = low_rank_factor(unit * G @ G.T, 9)
    assert factor is not None
    assert factor.shape == (40, 5)
    np.testing.assert_allclose(factor @ factor.T, unit * G @ G.T, atol=1e-13 * unit * 40)
    assert low_rank_factor(unit * (G @ G.T + 1e-3 * np.eye(40)), 9) is None
    assert low_rank_factor(unit * G @ G.T, 4) is None


def test_parts_of_a_matrix_of_rows() -> None:
    K = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    P = RowMatrix(lambda i, j: K[np.ix_(i, j)], K.diagonal(), np.array([1.0, 2.0, -3.0]))
    np.testing.assert_array_equal(P.diagonal(), P.toarray().diagonal())
    some, none = np.array([0, 2]), np.zeros(0, dtype=int)
    assert (P.part(some, none).shape, P.part(none, some).shape) == ((2, 0), (0, 2))


# -- from coarse to fine


def test_a_coarse_program_stands_for_four_equal_parts() -> None:
    """With four copies of each variable its solution is that of the fine program, exactly."""
    rng = np.random.default_rng(33)
    F = rng.standard_normal((30, 30))
    K, slope = F @ F.T + np.eye(30), 40.0 * rng.standard_normal(30)
    P, q = np.kron(K, np.ones((4, 4))), 4.0 * np.repeat(slope, 4)
    fine = _program(P, q, np.ones((1, 120)), [2.0], -0.5, 1.0)
    assert representatives(fine.A).size == 30
    starts = []

    def solve(coarse: BoxQP):
        result = solve_qp(
            coarse.P, coarse.q, coarse.A, coarse.b, lower=coarse.lower, upper=coarse.upper
        )
        starts.append((result.x, result.y))
        return result.x, result.y

    def newton(problem, x, y, state):
        starts.append((x, y, state))
        return None

    def solve_from(problem, x, y, state):
        result = solve_qp(
            problem.P, problem.q, problem.A, problem.b, lower=problem.lower, upper=problem.upper
        )
        return result.x, result.y

    x, _ = coarse_to_fine(fine, solve, newton, solve_from)
    best = solve_qp(P, q, np.ones((1, 120)), [2.0], lower=-0.5, upper=1.0)
    assert fine.q @ x + x @ P @ x / 2 == pytest.approx(best.objective, rel=1e-9)
    (coarse_x, coarse_y), (start, multiplier, state) = starts
    np.testing.assert_allclose(P @ np.repeat(coarse_x, 4), P @ best.x, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(multiplier, best.y, rtol=1e-6)
    np.testing.assert_allclose(multiplier, 4.0 * coarse_y)
    g = P @ np.repeat(coarse_x, 4) + q + multiplier
    assert (start[state == LOWER] == -0.5).all()
    assert (start[state == UPPER] == 1.0).all()
    held = np.abs(g) > 1e-6
    assert held.any()
    np.testing.assert_array_equal(state[held], -np.sign(g[held]))
    assert state.dtype == np.int8


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_variables_that_are_pushed_off_their_bounds(unit: float) -> None:
    box = _program(np.eye(6), np.full(6, unit), [], [], 0.0, 1.0)
    x, g = (
        np.array([0.0, 0.0, 1.0, 1.0, 0.0, 1.0]),
        unit * np.array([-1.0, 1.0, 1.0, -1.0, -1.0, 1e-13]),
    )
    found = _wrongly_fixed(box, np.array([4]), x, np.zeros(0), g)
    assert found.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("total", "size"),
    [(180.0, 100), (197.0, 200), (103.0, 50), (102.0, 400), (140.0, 50), (148.0, 100)],
)
def test_enough_variables_are_undecided_for_the_equations(total: float, size: int) -> None:
    """x on [0, 1]^400 with 100 fixed at 1: the first 50, 100, ... must make up the rest, with room to spare."""
    x = np.r_[np.ones(10), np.zeros(290), np.ones(100)]
    fine = _program(np.eye(400), np.zeros(400), np.ones((1, 400)), [total], 0.0, 1.0)
    assert _enough(fine, x, np.arange(400), 1).size == size


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rows_force_variables_one_after_the_other(sign: float) -> None:
    """x_2 = 1 by the first row; only then has the second one its largest value. Below x = 0 is forced."""
    A = np.array([[0.0, -1.0, 0.5], [0.5, 1.0, 0.0]])
    small = presolve(
        _program(np.eye(3), np.ones(3), sign * A, sign * np.array([-0.5, 1.5]), 0.0, 1.0)
    )
    assert (small.problem.q.size, small.problem.b.size) == (0, 0)
    assert small.x_fixed.tolist() == [1.0, 1.0, 1.0]
    assert [row for row, *_ in small.forced] == [1, 0]
    small = presolve(
        _program(np.eye(3), np.ones(3), sign * np.array([[1.0, 0.0, 2.0]]), [0.0], 0.0, INF)
    )
    assert small.columns.tolist() == [1]
    assert small.x_fixed.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("b", "told"), [(0.5, "at least 1, but"), (7.5, "at most 7, but")])
def test_the_range_that_a_row_misses_is_told(b: float, told: str) -> None:
    """x_1 + 2 x_2 on [1, 3] x [0, 2]; the first row can be met."""
    A = np.array([[1.0, 0.0], [1.0, 2.0]])
    program = _program(np.eye(2), np.ones(2), A, [2.0, b], [1.0, 0.0], [3.0, 2.0])
    with pytest.raises(InfeasibleProblemError, match=rf"^row 1 .*\(A x\)\[1\] is {told}"):
        presolve(program)
