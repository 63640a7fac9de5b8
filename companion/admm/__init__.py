"""Chapter 16: dual ascent, the method of multipliers, ADMM and proximal methods."""

# fmt: off
# isort: off
from companion.admm.consensus import L1Penalty, RidgePenalty, consensus
from companion.admm.generalized import generalized_lasso
from companion.admm.least_norm import basis_pursuit, least_absolute_deviations
from companion.admm.losses import LeastSquaresLoss, LogisticLoss, SmoothLoss, SquaredHingeLoss
from companion.engine.certificate import LowRank
from companion.admm.multipliers import (
    augmented_lagrangian, dual_ascent, dual_function, method_of_multipliers, quadratic_argmin,
)
from companion.admm.proximal import (
    block_soft_threshold, moreau_envelope, project_affine, project_ball, project_box, project_orthant, project_psd,
    project_simplex, prox_add_linear, prox_conjugate, prox_elastic_net, prox_huber, prox_indicator, prox_linf_norm,
    prox_logistic, prox_postcompose, prox_precompose, prox_quadratic, prox_separable_sum, soft_threshold,
)
from companion.admm.proximal_gradient import (
    accelerated_proximal_gradient, krasnoselskii_mann, proximal_gradient, proximal_point,
)
from companion.admm.quadratic import qsolve1, solve_qp
from companion.admm.regularized import group_lasso, l1_regularized, lasso
from companion.admm.splitting import Iterate, admm, convergence_inequalities, lyapunov
from companion.results import ADMMResult, FixedPointResult, MultiplierResult, QPResult

__all__ = [
    "ADMMResult", "FixedPointResult", "Iterate", "L1Penalty", "LeastSquaresLoss", "LogisticLoss", "LowRank",
    "MultiplierResult", "QPResult", "RidgePenalty", "SmoothLoss", "SquaredHingeLoss",
    "accelerated_proximal_gradient", "admm", "augmented_lagrangian", "basis_pursuit", "block_soft_threshold",
    "consensus", "convergence_inequalities", "dual_ascent", "dual_function", "generalized_lasso", "group_lasso",
    "krasnoselskii_mann", "l1_regularized", "lasso", "least_absolute_deviations", "lyapunov",
    "method_of_multipliers", "moreau_envelope", "project_affine", "project_ball", "project_box", "project_orthant",
    "project_psd", "project_simplex", "prox_add_linear", "prox_conjugate", "prox_elastic_net", "prox_huber",
    "prox_indicator", "prox_linf_norm", "prox_logistic", "prox_postcompose", "prox_precompose", "prox_quadratic",
    "prox_separable_sum", "proximal_gradient", "proximal_point", "qsolve1", "quadratic_argmin", "soft_threshold",
    "solve_qp",
]
# isort: on
# fmt: on
