r"""Problems with an l1-norm, solved by ADMM and finished exactly.

ADMM finds quickly which entries of the solution are zero and which signs the others have. It is slow to give many
digits. So each solver here runs :func:`companion.admm.splitting.admm` with the text's updates and, at a few steps,
reads the zero pattern from z, solves the problem that is left exactly, and looks at the certificate of the outcome.
The answer is accepted when the certificate holds, that is, when primal and dual point prove each other optimal.
With ``finish=False`` the solvers are the plain methods of the text. The two linear programs (least absolute deviations,
basis pursuit) ask an interior-point method for the zero pattern first: :mod:`companion.admm.l1.interior`.

The problems are homogeneous. Data whose squares are beyond the floating-point numbers are divided by powers of two,
which rounds nothing; an answer that cannot be written down is an error.

The loop is :mod:`companion.admm.l1.loop`. What differs from problem to problem is an ``L1Problem``: the two updates,
the exact finish and the certificate.
"""

from companion.admm.l1.deviations import least_absolute_deviations
from companion.admm.l1.generalized import generalized_lasso
from companion.admm.l1.losses import LeastSquaresLoss, LogisticLoss, SmoothLoss
from companion.admm.l1.pursuit import basis_pursuit
from companion.admm.l1.regularized import group_lasso, l1_regularized, lasso

__all__ = [
    "LeastSquaresLoss",
    "LogisticLoss",
    "SmoothLoss",
    "basis_pursuit",
    "generalized_lasso",
    "group_lasso",
    "l1_regularized",
    "lasso",
    "least_absolute_deviations",
]
