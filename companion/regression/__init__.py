"""Chapter 19: ridge regression, kernel ridge regression, lasso, elastic net."""

# fmt: off
# isort: off
from companion.regression.duals import DualSolution, elastic_net_dual, elastic_net_qp, lasso_dual
from companion.regression.elastic_net import ElasticNet
from companion.regression.kernel_ridge import KernelRidge
from companion.regression.lasso import L1Path, Lasso, lasso_admm, lasso_path, tau_max
from companion.regression.ridge import RidgePath, RidgeRegression, ridge_path

__all__ = [
    "DualSolution", "ElasticNet", "KernelRidge", "L1Path", "Lasso", "RidgePath",
    "RidgeRegression", "elastic_net_dual", "elastic_net_qp", "lasso_admm",
    "lasso_dual", "lasso_path", "ridge_path", "tau_max",
]
# isort: on
# fmt: on
