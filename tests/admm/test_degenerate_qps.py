"""Quadratic programs at the edge of the theory, each with its exact answer.

The answers were found by hand and are written as fractions, so that they carry no rounding. Where a solution is not
unique only the value is known (``x`` is None). Every solution is certified, and verified without rounding.
"""

from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from scipy.linalg import hilbert

from companion.admm import LowRank, solve_qp
from companion.exceptions import InfeasibleProblemError, UnboundedProblemError
from tests.exact import verify

INF = np.inf
ONES = np.ones((2, 2))
TEXT_P = np.array([[4.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 4.0]])
TEXT_A = [[1.0, 1.0, -1.0], [1.0, -1.0, -1.0]]
BIG, SMALL = 2.0**27, 2.0**-27  # about 1e8 and 1e-8, and exact


@dataclass
class QP:
    """A program with its value, and its solution if that is unique."""

    name: str
    P: Any
    q: Any
    value: Any
    x: Any = None
    A: Any = None
    b: Any = None
    lower: Any = 0.0
    upper: Any = INF

    def solve(self) -> Any:
        return solve_qp(self.P, self.q, self.A, self.b, lower=self.lower, upper=self.upper)


def zeros(n: int) -> np.ndarray:
    return np.zeros((n, n))


ALL = [
    # vertices and edges
    QP("vertex of a simplex", zeros(2), [1, 2], 1, [1, 0], [[1, 1]], [1]),
    QP("three facets at a vertex", zeros(3), [-1, 0, 0], -1, [1, 0, 0], [[1, 1, 0], [1, 0, 1]], [1, 1]),
    QP("no objective, no constraint", zeros(2), [0, 0], 0, None, lower=-INF),
    QP("equations leave one point", zeros(2), [5, 7], 19, [1, 2], [[1, 1], [1, -1]], [3, -1], -INF),
    QP("Beale 1955: the simplex method runs in a circle", zeros(7),
       [0, 0, 0, -0.75, 20, -0.5, 6], F(-5, 4), [F(3, 4), 0, 0, 1, 0, 1, 0],
       [[1, 0, 0, 0.25, -8, -1, 9], [0, 1, 0, 0.5, -12, -0.5, 3], [0, 0, 1, 0, 0, 1, 0]], [0, 0, 1]),
    QP("Beale's second circle", zeros(7),
       [0, 0, 0, -0.75, 150, -0.02, 6], F(-1, 20), [F(3, 100), 0, 0, F(1, 25), 0, 1, 0],
       [[1, 0, 0, 0.25, -60, -0.04, 9], [0, 1, 0, 0.5, -90, -0.02, 3], [0, 0, 1, 0, 0, 1, 0]], [0, 0, 1]),
    QP("transport at a degenerate vertex", zeros(4), [4, 1, 2, 3], 4, [0, 2, 1, 0],
       [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], [2, 1, 1, 2]),
    QP("assignment, all costs equal", zeros(9), np.ones(9), 3, None,
       np.vstack([np.kron(np.eye(3), np.ones(3)), np.kron(np.ones(3), np.eye(3))]), np.ones(6)),
    QP("projection onto a face of the simplex", np.eye(3), [-0.5, -0.5, 10], F(-1, 4),
       [F(1, 2), F(1, 2), 0], np.ones((1, 3)), [1]),
    QP("centre of a simplex", np.eye(50), np.zeros(50), F(1, 100), [F(1, 50)] * 50, np.ones((1, 50)), [1]),
    # no strict complementarity
    QP("bound without a multiplier", np.eye(2), [0, -1], F(-1, 2), [0, 1]),
    QP("all bounds without a multiplier", np.eye(3), np.zeros(3), 0, [0, 0, 0]),
    QP("all of it at once", np.eye(2), [-1, 0], F(-1, 2), [1, 0], [[1, 1]], [1], upper=[1, 0]),
    QP("the text's Example 16.11", TEXT_P, [-4, -4, -4], -4, [1, 0, 1], TEXT_A, [0, 0]),
    # one variable
    QP("one: linear", [[0]], [1], -3, [-3], lower=-3),
    QP("one: an equation", [[1]], [0], 2, [2], [[2]], [4]),
    QP("one: an equation that holds at the bound", [[0]], [-1], 0, [0], [[3]], [0]),
    # the rank of P
    QP("rank 1, an end of the segment", ONES, [-1, -2], -2, [0, 2]),
    QP("rank 1, no variable left free", np.outer([1, 2, 3], [1, 2, 3]), [0, 0, 0], F(1, 2), [1, 0, 0],
       np.ones((1, 3)), [1]),
    QP("rank 1, a plane of solutions", np.outer([1, 2, 3], [1, 2, 3]), [0, 0, 0], 0, None,
       np.ones((1, 3)), [1], -INF),
    QP("flat direction uphill", np.diag([1, 0]), [-1, 1], F(-1, 2), [1, 0]),
    QP("flat direction without a slope", np.diag([1, 0]), [-1, 0], F(-1, 2)),
    QP("flat direction downhill to a bound", np.diag([1, 0]), [-1, -1], F(-7, 2), [1, 3], upper=3),
    QP("the same as a LowRank", LowRank([[1, 1], [1, 0], [0, 1]]), [-2, -1, -1], -1),
    QP("equal points with opposite labels", [[1, -1], [-1, 1]], [-1, -1], -4, [2, 2], [[1, -1]], [0], upper=2),
    QP("equal points with equal labels", np.kron([[1, -1], [-1, 1]], ONES), [-1] * 4, -4, [1] * 4,
       [[1, 1, -1, -1]], [0], upper=1),
    QP("LowRank without columns that matter", LowRank(np.zeros((2, 1))), [1, 2], 1, [1, 0], [[1, 1]], [1]),
    QP("Hilbert's matrix", hilbert(6), -hilbert(6).sum(axis=1),
       -sum(F(1, i + j + 1) for i in range(6) for j in range(6)) / 2),
    # rows
    QP("multiple of a row", np.eye(2), [0, 0], F(1, 4), [F(1, 2)] * 2, [[1, 1], [2, 2]], [1, 2]),
    QP("sum of rows", np.eye(3), [0, 0, 0], F(1, 3), [F(1, 3), F(1, 3), F(2, 3)],
       [[1, 0, 1], [0, 1, 1], [1, 1, 2]], [1, 1, 2]),
    QP("row of zeros", np.eye(2), [0, 0], F(1, 4), [F(1, 2)] * 2, [[0, 0], [1, 1]], [0, 1]),
    QP("rows of zeros only", np.eye(2), [-1, -1], -1, [1, 1], [[0, 0], [0, 0]], [0, 0]),
    QP("more rows than variables", np.eye(2), [0, 0], F(5, 2), [1, 2], [[1, 0], [0, 1], [1, 1], [1, -1]],
       [1, 2, 3, -1]),
    QP("row that needs all upper bounds", np.eye(2), [3, -5], -1, [1, 1], [[1, 1]], [2], upper=1),
    QP("row that needs all lower bounds", np.eye(2), [-1, -1], 0, [0, 0], [[1, 1]], [0]),
    QP("one forced row forces the next", np.eye(3), [0, 0, 0], F(1, 2), [0, 0, 1],
       [[1, 1, 0], [0, 1, 1]], [0, 1]),
    # bounds
    QP("all fixed", np.eye(2), [1, 1], F(11, 2), [1, 2], lower=[1, 2], upper=[1, 2]),
    QP("one fixed, coupled", [[2, 1], [1, 2]], [0, -5], -3, [1, 2], lower=[1, 0], upper=[1, INF]),
    QP("fixed at zero", zeros(2), [-100, 1], 1, [0, 1], [[1, 1]], [1], upper=[0, INF]),
    QP("hardly any room", [[1]], [-10], F(1 + 1e-12) ** 2 / 2 - 10 * F(1 + 1e-12), [F(1 + 1e-12)],
       lower=1, upper=1 + 1e-12),
    QP("bounds of all kinds", np.eye(3), [-1, -1, 5], -5, [0, 1, -1], lower=[-INF, 0, -1], upper=[0, INF, 1]),
    QP("free variable without curvature", np.diag([1, 0]), [0, 1], F(1, 2), [-1, 0], [[1, -1]], [-1], -INF),
    # scales
    QP("curvatures 1e-8 and 1e8", np.diag([1e-8, 1e8]), [-1e-8, -1e8], -(F(1e-8) + F(1e8)) / 2, [1, 1]),
    QP("flat", 1e-8 * np.eye(2), [-1, -1], -1 / F(1e-8), [1 / F(1e-8)] * 2),
    QP("rows of size 1e-8 and 1e8", np.eye(2), [0, 0], F(1, 4), [F(1, 2)] * 2,
       [[1e-8, 1e-8], [1e8, -1e8]], [1e-8, 0]),
    QP("bounds of size 1e8", np.eye(2), [-2e8, -1], F(-3 * 10**16, 2) - F(1, 2), [10**8, 1], upper=1e8),
    QP("bounds that are far away", np.eye(2), [-1, -1], -1, [1, 1], lower=-1e8, upper=1e8),
    QP("costs 1e-8 and 1e8", zeros(2), [1e-8, 1e8], F(1e-8), [1, 0], [[1, 1]], [1]),
    QP("each variable in its own unit", np.diag([SMALL**2, 1, BIG**2]), [-SMALL, -1, -BIG], F(-3, 2),
       [F(BIG), 1, F(SMALL)]),
    QP("units and an equation", np.diag([SMALL**2, BIG**2]), [0, 0], F(1, 4), [F(BIG) / 2, F(SMALL) / 2],
       [[SMALL, BIG]], [1]),
    QP("units and an equation, 1e6 in all", np.diag([2.0**-20, 2.0**20]), [0, 0], F(1, 4), [2**9, F(1, 2**11)],
       [[2.0**-10, 2.0**10]], [1]),
    QP("a box of 1e-8", np.eye(2), [-1, 0.5e-8], F(1e-8) ** 2 / 2 - F(1e-8), [F(1e-8), 0], upper=1e-8),
    # Hock and Schittkowski 1981, members of the collection of Maros and Meszaros, with a slack for each inequality
    QP("HS35", np.pad([[4, 2, 2], [2, 4, 0], [2, 0, 2]], (0, 1)), [-8, -6, -4, 0], F(1, 9) - 9,
       [F(4, 3), F(7, 9), F(4, 9), 0], [[1, 1, 2, 1]], [3]),
    QP("HS76", np.pad([[2, 0, -1, 0], [0, 1, 0, 0], [-1, 0, 2, 1], [0, 0, 1, 1]], (0, 3)), [-1, -3, 1, -1, 0, 0, 0],
       F(-103, 22), [F(3, 11), F(23, 11), 0, F(6, 11), 0, F(18, 11), F(13, 22)],
       [[1, 2, 1, 1, 1, 0, 0], [3, 1, 2, -1, 0, 1, 0], [0, 1, 4, 0, 0, 0, -1]], [5, 4, 1.5]),
    QP("HS268: a condition of 1e6", 2 * np.pad(
        [[10197, -12454, -1013, 1948, 329], [-12454, 20909, -1733, -4914, -186], [-1013, -1733, 1755, 1089, -174],
         [1948, -4914, 1089, 1515, -22], [329, -186, -174, -22, 27]], (0, 5)),
       [18340, -34198, 4542, 8672, 86, 0, 0, 0, 0, 0], -14463, [1, 2, -1, 3, -4, 4, 12, 9, 20, 0],
       np.hstack([[[-1, -1, -1, -1, -1], [10, 10, -3, 5, 4], [-8, 1, -2, -5, 3], [8, -1, 2, 5, -3],
                   [-4, -2, 3, -5, 1]], -np.eye(5)]), [-5, 20, -40, 11, -30], [-INF] * 5 + [0] * 5),
]  # fmt: skip


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_the_answer_is_found(case: QP) -> None:
    result = case.solve()
    assert result.converged
    assert result.certificate.ok
    exact = verify(result)
    assert exact.ok, exact
    scale = abs(float(case.value)) or max(1e-3, float(np.abs(case.q) @ np.abs(result.x)))
    assert abs(result.objective - float(case.value)) <= 1e-9 * scale
    np.testing.assert_array_equal(result.x, np.clip(result.x, case.lower, case.upper))
    if case.x is not None:
        x = np.array([float(v) for v in case.x])
        unit = np.where(x != 0.0, np.abs(x), np.abs(x).max() or 1.0)
        assert (np.abs(result.x - x) <= 1e-7 * unit).all(), result.x


INFEASIBLE = {
    "equal rows, other sides": ([[1, 1], [1, 1]], [1, 2], 0, INF),
    "negative sum": ([[1, 1]], [-1], 0, INF),
    "sum beyond the upper bounds": ([[1, 1]], [3], 0, 1),
    "zero is not one": ([[0, 0]], [1], -INF, INF),
    "a circle of differences": ([[1, -1, 0], [0, 1, -1], [-1, 0, 1]], [1, 1, 1], -INF, INF),
    "only together": ([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [2, 2, 2.5], 0, [1, 1, 1]),
    "transport, more supply than demand": ([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], [2, 1, 1, 1],
                                           0, INF),
    "rows of size 1e8": ([[1e8, 1e8], [1e-8, 1e-8]], [1e8, 2e-8], 0, INF),
    "three equations for two unknowns": ([[1, 0], [0, 1], [1, 1]], [1, 1, 3], -INF, INF),
}  # fmt: skip


@pytest.mark.parametrize("case", INFEASIBLE.values(), ids=INFEASIBLE.keys())
@pytest.mark.parametrize("curved", [False, True])
def test_infeasible_programs_have_a_witness(case: Any, curved: bool) -> None:
    A, b, lower, upper = (np.asarray(v, dtype=float) for v in case)
    n = A.shape[1]
    with pytest.raises(InfeasibleProblemError) as caught:
        solve_qp(np.eye(n) if curved else zeros(n), np.ones(n), A, b, lower=lower, upper=upper)
    y = [F(v) for v in caught.value.witness]
    attained = F(0)
    for column, low, high in zip(A.T, np.broadcast_to(lower, n), np.broadcast_to(upper, n)):
        terms = [v * F(a) for v, a in zip(y, column)]
        bound = high if sum(terms) > 0 else low
        if np.isfinite(bound):
            attained += sum(terms) * F(bound)
        else:  # nothing may be gained along an infinite direction: the sum is 0 up to rounding
            assert abs(sum(terms)) <= F(1, 10**10) * sum(map(abs, terms))
    demand = [v * F(t) for v, t in zip(y, b)]
    assert sum(demand) > attained
    assert sum(demand) - attained > F(1, 10**6) * sum(map(abs, demand))


@pytest.mark.parametrize(
    ("as_factor", "faint"), [(True, 1e-16), (False, 1e-16), (False, 1e-40), (False, 1e-100)]
)
def test_a_faint_curvature_of_one_variable_alone(as_factor: bool, faint: float) -> None:
    """The variable x_2 with the curvature c and the slope -c is 1, whatever the others are."""
    B, c = np.array([[2.0, 1.0], [1.0, 2.0]]), np.diag([0.0, 0.0, faint])
    thin = LowRank(np.vstack([B, np.zeros(2)]), c.diagonal())
    P = thin if as_factor else np.pad(B @ B, (0, 1)) + c
    result = solve_qp(P, np.append(-B @ B @ [1.0, 2.0], -faint))
    assert result.converged
    np.testing.assert_allclose(result.x, [1.0, 2.0, 1.0], rtol=1e-9)


UNBOUNDED = [
    QP("linear", zeros(1), [-1], -INF),
    QP("flat direction", np.diag([1, 0]), [0, -1], -INF),
    QP("along an equation", zeros(2), [-1, 0], -INF, None, [[1, -1]], [0]),
    QP("down below an upper bound", zeros(2), [1, 0], -INF, lower=-INF, upper=0.0),
    QP("repeated rows", zeros(3), [0, -1, 0], -INF, None, [[1, -1, 0], [2, -2, 0]], [1, 2]),
    QP("steep in one direction, flat in the other", np.diag([1e4, 0]), [1, -1e-4], -INF),
    QP("separable points, wrong margin", [[1, -1], [-1, 1]], [-1, -1], -INF, None, [[1, -1]], [0]),
    QP("low rank", LowRank([[1.0], [-1.0], [0.0]]), [-1, -1, 0], -INF),
]


@pytest.mark.parametrize("case", UNBOUNDED, ids=lambda case: case.name)
def test_unbounded_programs_have_a_ray(case: QP) -> None:
    with pytest.raises(UnboundedProblemError) as caught:
        case.solve()
    d = caught.value.ray
    P = case.P.toarray() if isinstance(case.P, LowRank) else case.P
    for M in (P, case.A or zeros(d.size)):
        assert (np.abs(M @ d) <= 1e-10 * (np.abs(M) @ np.abs(d))).all()
    assert case.q @ d < -1e-6 * (np.abs(case.q) @ np.abs(d))
    assert (d >= 0).all() or case.lower == -INF
    assert (d <= 0).all() or case.upper == INF
