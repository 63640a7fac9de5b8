r"""Problems with an l1-norm: guess, finish, prove.

ADMM finds quickly which entries of the solution are zero and which signs the others have. It is slow to give many
digits. So each solver here runs :func:`companion.admm.splitting.admm` with the text's updates (**guess**), at a few
steps solves the linear system that is left when the zeros and signs of z are known (**finish**), and looks at the
certificate of the outcome (**prove**): primal and dual point have the same value. The two linear programs (least
absolute deviations, basis pursuit) ask an interior-point method for the zeros first.

Each problem is a class whose first lines are the two updates of its ADMM; the options of all solvers are

rho : float, optional
    Penalty parameter > 0. By default it is chosen from the data, so that units do not matter.
relaxation : float
    Over-relaxation in (0, 2), 1.6 by default; 1 gives the updates as printed.
tol : float
    Tolerance of the certificate, 1e-8 by default; with ``finish=False`` the stopping tolerance of ADMM, `tol_abs` and
    `tol_rel`.
max_iter : int
    Largest number of ADMM steps, 20 000 by default.
finish : bool
    Whether the problem is solved exactly once ADMM has found the zero pattern. With False this is the plain method of
    the text.
warm_start : ADMMResult, optional
    The result for a similar problem, to start from its z and u.
callback, keep_iterates, progress, adaptive, ...
    Further options of :func:`companion.admm.admm`.
"""

from companion.admm.l1.deviations import least_absolute_deviations
from companion.admm.l1.generalized import generalized_lasso
from companion.admm.l1.losses import LogisticLoss, SmoothLoss
from companion.admm.l1.pursuit import basis_pursuit
from companion.admm.l1.regularized import group_lasso, l1_regularized, lasso

__all__ = [
    "LogisticLoss",
    "SmoothLoss",
    "basis_pursuit",
    "generalized_lasso",
    "group_lasso",
    "l1_regularized",
    "lasso",
    "least_absolute_deviations",
]
