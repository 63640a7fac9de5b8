"""Members of the Maros-Meszaros collection of quadratic programs.

The collection itself is a set of files. Here are the problems that can be typed, from their sources (Hock and
Schittkowski 1981; Zecevic; Kortanek and No; Gould), and a few of the files (``benchmarks/maros_meszaros.py`` solves
those that are not large), with the optimal values that Maros and Meszaros publish to nine digits (Optimization Methods
and Software 11-12, 1999). HS35, HS76 and HS268 are in ``test_degenerate_qps.py``, exactly. Rows that are inequalities
or ranges get a slack variable: then each problem has equations and bounds.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest

from benchmarks import maros_meszaros
from companion.admm import solve_qp
from tests.exact import verify

INF = np.inf
TABLES = np.load(maros_meszaros.TABLES)


class Problem(NamedTuple):
    """``min 1/2 x'Px + q'x  s.t. low <= rows x <= high, lower <= x <= upper``."""

    P: Any
    q: Any
    lower: Any
    upper: Any
    rows: Any
    low: Any
    high: Any

    def solve(self):
        """Return the answer, with one slack for each row that is no equation."""
        P, q, rows, low, high = (
            np.array(v, float) for v in (self.P, self.q, self.rows, self.low, self.high)
        )
        n, m, loose = len(q), len(low), np.flatnonzero(low < high)
        return solve_qp(
            np.pad(P, (0, loose.size)), np.pad(q, (0, loose.size)),
            np.hstack([rows, -np.eye(m)[:, loose]]), np.where(low < high, 0.0, low),
            lower=np.r_[np.broadcast_to(self.lower, n), low[loose]],
            upper=np.r_[np.broadcast_to(self.upper, n), high[loose]],
        )  # fmt: skip


def hs118():
    """Five periods of production of three goods: 15 variables, 17 rows."""
    lower = np.r_[8.0, 43.0, 3.0, np.zeros(12)]
    upper = np.r_[21.0, 57.0, 16.0, np.tile([90.0, 120.0, 60.0], 4)]
    rows = np.vstack([np.eye(12, 15, 3) - np.eye(12, 15), np.kron(np.eye(5), np.ones(3))])
    low = np.r_[np.full(12, -7.0), 60, 50, 70, 85, 100]
    high = np.r_[np.tile([6.0, 7.0, 6.0], 4), np.full(5, INF)]
    P, q = np.diag(np.tile([2e-4, 2e-4, 3e-4], 5)), np.tile([2.3, 1.7, 2.2], 5)
    return Problem(P, q, lower, upper, rows, low, high)


def cvxqp(m, n=100):
    """Gould's convex programs: 1/2 sum_i i (x_i + x_(2i) + x_(3i))^2, indices modulo n."""
    i, e = np.arange(1, n + 1), np.eye(n)
    G = e + e[(2 * i - 1) % n] + e[(3 * i - 1) % n]
    rows = (e + 2.0 * e[(4 * i - 1) % n] + 3.0 * e[(5 * i - 1) % n])[:m]
    right = np.full(m, 6.0)
    return Problem(G.T @ (i[:, None] * G), np.zeros(n), 0.1, 10.0, rows, right, right)


HS21 = Problem(np.diag([0.02, 2.0]), [0, 0], [2, -50], [50, 50], [[10, -1]], [10], [INF])
QPTEST = Problem(
    [[8, 2], [2, 10]], [1.5, -2], 0.0, [20, INF], [[2, 1], [-1, 2]], [2, -INF], [INF, 6]
)
# The published values of HS21 and QPTEST have a constant, -100, and leave one out, 4.
PROBLEMS = {
    "HS21": (HS21, 100 - 99.96), "HS118": (hs118(), 664.82045), "QPTEST": (QPTEST, 4.371875),
    "CVXQP1_S": (cvxqp(50), 11590.7181), "CVXQP2_S": (cvxqp(25), 8120.94048),
    "CVXQP3_S": (cvxqp(75), 11943.4322),
}  # fmt: skip
FILES = {
    "DUAL1": 0.0350129662, "DUAL2": 0.0337336761, "DUAL3": 0.135755839, "DUAL4": 0.746090842,
    "DUALC1": 6155.25083, "DUALC2": 3551.30769, "DUALC5": 427.232327,
    "PRIMALC1": -6155.25083, "PRIMALC2": -3551.30769, "QAFIRO": -1.59078179, "QPCBLEND": -0.00784254409,
    "QRECIPE": -266.616, "QSC205": -0.00581395349, "QSCAGR7": 26865948.6, "QSHARE2B": 11703.6917,
}  # fmt: skip


@pytest.mark.parametrize(("problem", "optimum"), PROBLEMS.values(), ids=PROBLEMS)
def test_published_optimum(problem, optimum):
    """The published digits, and a certificate that is exact."""
    result = problem.solve()
    assert result.objective == pytest.approx(optimum, rel=5e-9, abs=1e-12)
    assert result.converged
    assert verify(result).ok


@pytest.mark.parametrize("name", FILES)
def test_published_optimum_of_a_file(name):
    """Some published values are above or below what is certified here, by up to 6e-7 of it."""
    P, q, A, b, lower, upper, constant, _ = (
        TABLES[f"{name}_{key}"] for key in maros_meszaros.Program._fields
    )
    result = solve_qp(P, q, A, b, lower=lower, upper=upper)
    assert result.objective + constant == pytest.approx(FILES[name], rel=6e-7)
    assert result.converged
    assert verify(result).ok
