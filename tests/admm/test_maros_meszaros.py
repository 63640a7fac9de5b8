"""Members of the Maros-Meszaros collection of quadratic programs.

The collection itself is a set of files. Here are the problems that can be typed, from their sources (Hock and
Schittkowski 1981; Zecevic; Kortanek and No; Gould), and Frangioni's tables, which a package carries
(``tests/admm/maros_meszaros.py``), with the optimal values that Maros and Meszaros publish to nine digits (Optimization
Methods and Software 11-12, 1999). HS35, HS76 and HS268 are in ``test_degenerate_qps.py``, exactly. Rows
that are inequalities or ranges get a slack variable: then each problem has equations and bounds.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from companion.admm import solve_qp
from tests.exact import verify

INF = np.inf


@dataclass
class Problem:
    """``min 1/2 x'Px + q'x + constant  s.t. low <= rows x <= high, lower <= x <= upper``."""

    P: np.ndarray
    q: np.ndarray
    constant: float
    optimum: float
    lower: float | np.ndarray = -INF
    upper: float | np.ndarray = INF
    rows: list = field(default_factory=list)
    low: list | np.ndarray = field(default_factory=list)
    high: list | np.ndarray = field(default_factory=list)
    x: list | None = None

    def standard(self):
        """Return P, q, A, b, lower, upper with one slack for each row that is no equation."""
        n, low, high = len(self.q), np.array(self.low, float), np.array(self.high, float)
        rows = np.array(self.rows, float).reshape(len(low), n)
        loose = np.flatnonzero(low < high)
        k = loose.size
        P = np.zeros((n + k, n + k))
        P[:n, :n] = self.P
        A = np.hstack([rows, -np.eye(len(low))[:, loose]])
        b = np.where(low < high, 0.0, low)
        lower = np.r_[np.broadcast_to(self.lower, n), low[loose]]
        upper = np.r_[np.broadcast_to(self.upper, n), high[loose]]
        return P, np.r_[self.q, np.zeros(k)], A, b, lower, upper


def hs21():
    return Problem(
        np.diag([0.02, 2.0]), np.zeros(2), -100.0, -99.96, [2.0, -50.0], [50.0, 50.0],
        [[10, -1]], [10], [INF], x=[2, 0],
    )  # fmt: skip


def hs118():
    """Five periods of production of three goods: 15 variables, 17 rows."""
    P = np.diag(np.tile([2e-4, 2e-4, 3e-4], 5))
    q = np.tile([2.3, 1.7, 2.2], 5)
    rows, low, high = [], [], []
    for t in range(4):
        for good, (least, most) in enumerate([(-7, 6), (-7, 7), (-7, 6)]):
            row = np.zeros(15)
            row[3 * t + 3 + good], row[3 * t + good] = 1.0, -1.0
            rows.append(row)
            low.append(least)
            high.append(most)
    for t, demand in enumerate([60, 50, 70, 85, 100]):
        row = np.zeros(15)
        row[3 * t : 3 * t + 3] = 1.0
        rows.append(row)
        low.append(demand)
        high.append(INF)
    lower = np.r_[8.0, 43.0, 3.0, np.zeros(12)]
    upper = np.r_[21.0, 57.0, 16.0, np.tile([90.0, 120.0, 60.0], 4)]
    return Problem(P, q, 0.0, 664.82045, lower, upper, rows, low, high)


def qptest():
    """The published value leaves out the constant 4 of the file."""
    return Problem(
        np.array([[8.0, 2.0], [2.0, 10.0]]), np.array([1.5, -2.0]), 0.0, 4.371875, 0.0, [20.0, INF],
        [[2, 1], [-1, 2]], [2, -INF], [INF, 6],
    )  # fmt: skip


def cvxqp(m, optimum, n=100):
    """Gould's convex programs: 1/2 sum_i i (x_i + x_(2i) + x_(3i))^2, indices modulo n."""
    i = np.arange(1, n + 1)
    G = np.eye(n)
    np.add.at(G, (i - 1, (2 * i - 1) % n), 1.0)
    np.add.at(G, (i - 1, (3 * i - 1) % n), 1.0)
    rows = np.eye(m, n)
    k = np.arange(1, m + 1)
    np.add.at(rows, (k - 1, (4 * k - 1) % n), 2.0)
    np.add.at(rows, (k - 1, (5 * k - 1) % n), 3.0)
    right = np.full(m, 6.0)
    return Problem(G.T @ (i[:, None] * G), np.zeros(n), 0.0, optimum, 0.1, 10.0, rows, right, right)


TABLES = np.load(Path(__file__).parent / "maros_meszaros.npz")


def dual(name, optimum=np.nan):
    """A table of Frangioni's: weights of sum 1; rows that are inequalities in DUALC."""
    data = {key.partition("_")[2]: TABLES[key] for key in TABLES if key.startswith(f"{name}_")}
    n = len(data["q"])
    G, g = data.get("G", np.zeros((0, n))), data.get("g", np.zeros(0))
    rows, low = np.vstack([data["E"], G]), np.r_[data["e"], g]
    high = np.r_[data["e"], np.full(len(g), INF)]
    return Problem(
        data["P"], data["q"], 0.0, optimum, data["lower"], data["upper"], rows, low, high
    )


# The published values lie above or below what is certified here, by up to 6e-7 of it.
DUALS = {
    "DUAL1": 0.0350129662,
    "DUAL2": 0.0337336761,
    "DUAL3": 0.135755839,
    "DUAL4": 0.746090842,
    "DUALC5": 427.232327,
}
# The package's tables of these three have other optima than the published ones: 6155.25083, 3551.30769, 18309.3588.

PROBLEMS = {
    "HS21": hs21,
    "HS118": hs118,
    "QPTEST": qptest,
    "CVXQP1_S": lambda: cvxqp(50, 11590.7181),
    "CVXQP2_S": lambda: cvxqp(25, 8120.94048),
    "CVXQP3_S": lambda: cvxqp(75, 11943.4322),
}


def solve(problem):
    P, q, A, b, lower, upper = problem.standard()
    return solve_qp(P, q, A, b, lower=lower, upper=upper)


def check(problem, digits=5e-9):
    """The published digits, a certificate that is exact, the published point."""
    result = solve(problem)
    attained = result.objective + problem.constant
    size = max(abs(problem.constant), abs(problem.optimum))
    assert abs(attained - problem.optimum) <= digits * size + 1e-12
    assert result.converged
    found = verify(result)
    assert found.ok
    assert found.agrees
    if problem.x is not None:
        np.testing.assert_allclose(result.x[: len(problem.q)], problem.x, atol=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_published_optimum(name):
    check(PROBLEMS[name]())


@pytest.mark.parametrize("name", DUALS)
def test_published_optimum_of_a_table(name):
    check(dual(name, DUALS[name]), digits=6e-7)
