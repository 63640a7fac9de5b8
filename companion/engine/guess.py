"""What libsvm, through scikit-learn, says about the active set of a kernel machine's dual program."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from companion.engine.arithmetic import Bounds

__all__ = ["Guess", "guess_machine", "guess_tube"]

_TOL = 1e-5  # libsvm's default, 1e-3, costs less than the systems that a rough guess leads to
_AT_BOUND = 1.0 - 1e-9  # libsvm puts multipliers at their bound exactly, but scales them afterwards
_NO_WEIGHT = 1e-12  # libsvm leaves out points of weight 0; a weight as small as that says as little
_ITERATIONS = 100  # per variable; a hard margin that does not exist would have no end


class Guess(NamedTuple):
    """A point near the solution, and the state of each multiplier: -1 at zero, 0 free, 1 at the bound."""

    a: np.ndarray
    state: np.ndarray


def guess_machine(
    X: np.ndarray,
    s: np.ndarray,
    options: dict[str, Any],
    *,
    upper: Bounds,
    total: float | None,
    balanced: bool,
) -> Guess | None:
    r"""Ask libsvm for the multipliers of a classifier.

    Parameters
    ----------
    X : ndarray
        Points, or a Gram matrix (the signed matrix P, if not balanced).
    s : ndarray of shape (n,)
        Signs of the classes.
    options : dict
        The kernel, as libsvm calls it.
    upper : float or ndarray of shape (n,)
        Bounds of the multipliers, infinite ones only where their sum is given, and different ones only where it is not.
    total : float or None
        Their sum, where the program fixes it; its linear term is -1 otherwise.
    balanced : bool
        Whether the program has the equation :math:`s^\top a = 0`.

    Returns
    -------
    Guess or None
        None where libsvm finds nothing.
    """
    n = s.size
    options = {**options, "tol": _TOL, "max_iter": max(_ITERATIONS * n, 10_000), "cache_size": 500}
    model: Any
    if total is None:
        bound = float(np.max(upper))
        model = SVC(C=bound, **options)
    else:
        # 0 <= a <= 1 and 1'a = nu n; without a bound, nothing reaches 1 if each class has the sum 1
        bound = float(upper) if np.isfinite(upper) else total / (2.0 if balanced else 1.0)
        nu = total / (n * bound)
        model = (NuSVC if balanced else OneClassSVM)(nu=nu, **options)
    full = np.broadcast_to(upper, n)
    if not _fitted(model, X, s, _weights(upper, bound)):
        return None
    size = np.abs(model.dual_coef_[0])
    if total is not None:
        size *= total / float(size.sum())  # NuSVC scales by the margin
    if not np.isfinite(size).all():
        return None
    a, state = np.zeros(n), np.full(n, -1, dtype=np.int8)
    a[model.support_] = size
    state[model.support_] = 0
    at_bound = model.support_[size >= _AT_BOUND * full[model.support_]]
    state[at_bound] = 1
    a[at_bound] = full[at_bound]
    return Guess(a, state)


def guess_tube(
    X: np.ndarray,
    y: np.ndarray,
    options: dict[str, Any],
    *,
    upper: Bounds,
    radius: float,
    epsilon: float,
) -> np.ndarray | None:
    r"""Ask libsvm for the multipliers :math:`\delta` of a regression with a free intercept.

    Parameters
    ----------
    X, y : ndarray
        Points, or a Gram matrix, and values.
    options : dict
        The kernel, as libsvm calls it.
    upper : float or ndarray of shape (m,)
        Bounds of :math:`|\delta_i|`, or infinity; different ones only where the tube is given.
    radius : float
        Bound of the sum of these, or infinity where the tube is given.
    epsilon : float
        Half of the width of the given tube.

    Returns
    -------
    ndarray of shape (m,) or None
        None where libsvm finds nothing. Multipliers at a bound are equal to it.
    """
    m = y.size
    limits = {"tol": _TOL * float(np.ptp(y)), "max_iter": max(_ITERATIONS * m, 10_000)}
    options = {**options, **limits, "cache_size": 500}
    model: Any
    if math.isfinite(radius):
        bound = float(upper) if np.isfinite(upper) else radius / 2.0  # which nothing reaches
        model = NuSVR(C=bound, nu=min(radius / (m * bound), 1.0), **options)
    else:
        bound = float(np.max(upper))
        model = SVR(C=bound, epsilon=epsilon, **options)
    if not _fitted(model, X, y, _weights(upper, bound)):
        return None
    delta = np.zeros(m)
    delta[model.support_] = model.dual_coef_[0]
    at_bound = np.abs(delta) >= _AT_BOUND * upper
    delta = np.where(at_bound, np.copysign(upper, delta), delta)
    return delta


def _weights(upper: Bounds, bound: float) -> np.ndarray | None:
    """Return libsvm's weights of the points, with which the largest bound is multiplied."""
    return np.maximum(upper / bound, _NO_WEIGHT) if np.ndim(upper) else None


def _fitted(model: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> bool:
    """Fit without a word; return whether that went well."""
    try:
        with (
            warnings.catch_warnings(),
            config_context(skip_parameter_validation=True, assume_finite=True),
        ):
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y, sample_weight=weight)
    except ValueError:  # nu at its limit, or w = 0
        return False
    return bool(np.isfinite(model.dual_coef_).all())
