r"""Problems with an l1-norm: guess, finish, prove.

ADMM finds quickly which entries of the solution are zero and which signs the others have. It is slow to give many
digits. So each lasso here runs :func:`companion.admm.splitting.admm` with the text's updates (**guess**), at a few
steps solves the linear system that is left when the zeros and signs of z are known (**finish**), and looks at the
certificate of the outcome (**prove**): primal and dual point have the same value. For the two linear programs
(least absolute deviations, basis pursuit) the simplex method guesses.

Each lasso is a class whose first lines are the two updates of its ADMM.
"""

from companion.admm.l1.generalized import generalized_lasso
from companion.admm.l1.least_norm import basis_pursuit, least_absolute_deviations
from companion.admm.l1.regularized import group_lasso, l1_regularized, lasso

__all__ = [
    "basis_pursuit", "generalized_lasso", "group_lasso", "l1_regularized", "lasso",
    "least_absolute_deviations",
]  # fmt: skip
