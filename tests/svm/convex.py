"""The primal programs of the machines and of the tubes, for an independent convex solver."""

import warnings

import cvxpy as cp
import numpy as np

from companion.kernels import Gaussian, Polynomial

KERNELS = {"linear": "linear", "quadratic": Polynomial(2, R=1.0), "gaussian": Gaussian(1.5)}


def features(kernel, X):
    """Return the points where the kernel is linear, or features from the Gram matrix alone."""
    if kernel == "linear":
        return X
    values, V = np.linalg.eigh(kernel(X))
    return V * np.sqrt(np.where(values > 1e-11 * values[-1], values, 0.0))


def minimum(objective, constraints):
    """Return the value of a program, found as exactly as Clarabel can."""
    problem = cp.Problem(cp.Minimize(objective), constraints)
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "Solution may be inaccurate": 1e-12 is a lot
        return problem.solve(solver=cp.CLARABEL, **tight)
