r"""The same regressions by scikit-learn's names, and back.

scikit-learn's price of an error is C/m. Its ``NuSVR`` keeps :math:`\epsilon` to itself;
:func:`companion.svr.tube_from_offsets` finds it from the weights.
"""

from __future__ import annotations

from typing import Any

from sklearn import svm
from sklearn.base import BaseEstimator

from companion.checks import check_count
from companion.kernels import as_kernel
from companion.svm.mapping import kernel_of, kernel_options
from companion.svr.epsilon import EpsilonSVR
from companion.svr.estimator import SupportVectorRegression
from companion.svr.nu import NuSVR, NuSVRPenalizedBias

__all__ = ["from_sklearn", "to_sklearn"]


def to_sklearn(model: SupportVectorRegression, m: int) -> BaseEstimator:
    r"""Return the scikit-learn estimator, not fitted, that has the same solution on m points.

    =================================  ==========================================================
    ``NuSVR(nu, C=C)``                 ``NuSVR(C=C/m, nu=min(nu, 1))``
    ``EpsilonSVR(epsilon, C=C)``       ``SVR(C=C/m, epsilon=epsilon)``
    ``NuSVRPenalizedBias``, fitted     ``LinearSVR(C=C/m, epsilon=epsilon_)``, linear kernel only
    =================================  ==========================================================

    Parameters
    ----------
    model : NuSVR, EpsilonSVR or NuSVRPenalizedBias
        A regression of this package.
    m : int
        Number of points it will be fitted to.

    Returns
    -------
    estimator
        Its ``coef_`` is w, its ``intercept_`` b, and its ``dual_coef_`` :math:`\mu - \lambda` on ``support_``.

    Raises
    ------
    ValueError
        If scikit-learn has no such regression.
    TypeError
        If `model` is something else.

    Examples
    --------
    >>> to_sklearn(NuSVR(nu=0.3, C=20.0), m=40)
    NuSVR(C=0.5, kernel='linear', max_iter=10000000, nu=0.3, tol=1e-07)
    """
    m = check_count(m, "m")
    if not isinstance(model, SupportVectorRegression):
        raise TypeError(f"model must be a regression of companion.svr, got {type(model).__name__}")
    C = 1.0 if model.C is None else model.C / m
    # a smaller tolerance can keep libsvm busy for ever
    options: dict[str, Any] = {"C": C, "tol": 1e-7, "max_iter": 10_000_000}
    if isinstance(model, NuSVRPenalizedBias):
        if not as_kernel(model.kernel, **(model.kernel_params or {})).is_linear:
            raise ValueError("scikit-learn penalizes b for the linear kernel only, in LinearSVR")
        if not hasattr(model, "epsilon_"):
            raise ValueError("epsilon is known only after NuSVRPenalizedBias was fitted")
        options.update(tol=1e-12, max_iter=1_000_000)
        return svm.LinearSVR(epsilon=model.epsilon_, intercept_scaling=1.0, **options)
    options.update(kernel_options(model))
    if isinstance(model, EpsilonSVR):
        return svm.SVR(epsilon=model.epsilon, **options)
    if isinstance(model, NuSVR) and model.nu > 0.0:
        return svm.NuSVR(nu=min(float(model.nu), 1.0), **options)
    raise ValueError(f"scikit-learn has no regression like {model!r}")


def from_sklearn(estimator: BaseEstimator, m: int) -> NuSVR | EpsilonSVR:
    """Return the regression of this package, not fitted, that has the same solution on m points.

    Parameters
    ----------
    estimator : NuSVR or SVR
        An estimator of scikit-learn.
    m : int
        Number of points it will be fitted to.

    Returns
    -------
    NuSVR or EpsilonSVR

    Raises
    ------
    ValueError
        If ``gamma`` depends on the data.
    TypeError
        If `estimator` is something else.

    Examples
    --------
    >>> from sklearn import svm
    >>> from_sklearn(svm.NuSVR(C=2.0, nu=0.3, kernel="rbf", gamma=0.5), m=10)
    NuSVR(C=20.0, kernel='rbf', kernel_params={'gamma': 0.5}, nu=0.3)
    """
    m = check_count(m, "m")
    if not isinstance(estimator, (svm.NuSVR, svm.SVR)):
        raise TypeError(
            f"estimator must be a NuSVR or SVR of scikit-learn, got {type(estimator).__name__}"
        )
    kernel, params = kernel_of(estimator)
    options: dict[str, Any] = {
        "C": m * float(estimator.C),
        "kernel": kernel,
        "kernel_params": params,
    }
    if isinstance(estimator, svm.NuSVR):
        return NuSVR(nu=float(estimator.nu), **options)
    return EpsilonSVR(epsilon=float(estimator.epsilon), **options)
