"""Members of the Maros-Meszaros collection of quadratic programs.

Here are a few of its files (``benchmarks/maros_meszaros.py`` solves those that are not large), with the optimal values
that Maros and Meszaros publish to nine digits (Optimization Methods and Software 11-12, 1999). HS35, HS76 and HS268 are
in ``test_degenerate_qps.py``, exactly. Rows that are inequalities or ranges have a slack variable there.
"""

import numpy as np
import pytest

from benchmarks import maros_meszaros
from companion.admm import solve_qp
from tests.exact import verify

TABLES = np.load(maros_meszaros.TABLES)
FILES = {
    "DUAL1": 0.0350129662, "DUAL2": 0.0337336761, "DUAL3": 0.135755839, "DUAL4": 0.746090842,
    "DUALC1": 6155.25083, "DUALC2": 3551.30769, "DUALC5": 427.232327,
    "PRIMALC1": -6155.25083, "PRIMALC2": -3551.30769, "QAFIRO": -1.59078179, "QPCBLEND": -0.00784254409,
    "QRECIPE": -266.616, "QSC205": -0.00581395349, "QSCAGR7": 26865948.6, "QSHARE2B": 11703.6917,
}  # fmt: skip


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
