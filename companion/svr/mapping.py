r"""The same regressions by scikit-learn's names, and back.

scikit-learn's price of an error is C/m. Its ``NuSVR`` keeps :math:`\epsilon` to itself;
:func:`companion.svr.tube_from_offsets` finds it from the weights.
"""

from __future__ import annotations

from typing import Any

from sklearn import svm
from sklearn.base import BaseEstimator

from companion.checks import check_count
from companion.svm.mapping import Makers, counterpart, kernel_of, named
from companion.svr.epsilon import EpsilonSVR
from companion.svr.nu import NuSVR

__all__ = ["from_sklearn", "to_sklearn"]


def _options(model: Any, m: int) -> dict[str, Any]:
    C = 1.0 if model.C is None else model.C / m
    # a smaller tolerance can keep libsvm busy for ever
    return {"C": C, "tol": 1e-7, "max_iter": 10_000_000, **named(model)}


_TO: Makers = {
    EpsilonSVR: lambda model, m: svm.SVR(epsilon=model.epsilon, **_options(model, m)),
    NuSVR: lambda model, m: svm.NuSVR(nu=min(float(model.nu), 1.0), **_options(model, m)),
}


def to_sklearn(model: BaseEstimator, m: int) -> BaseEstimator:
    r"""Return the scikit-learn estimator, not fitted, that has the same solution on m points.

    =================================  ==========================================================
    ``NuSVR(nu, C=C)``                 ``NuSVR(C=C/m, nu=min(nu, 1))``
    ``EpsilonSVR(epsilon, C=C)``       ``SVR(C=C/m, epsilon=epsilon)``
    =================================  ==========================================================

    Parameters
    ----------
    model : NuSVR or EpsilonSVR
        A regression of this package.
    m : int
        Number of points it will be fitted to.

    Returns
    -------
    estimator
        Its ``coef_`` is w, its ``intercept_`` b, and its ``dual_coef_`` :math:`\mu - \lambda` on ``support_``.

    Raises
    ------
    TypeError
        If `model` is something else. With the linear kernel ``NuSVRPenalizedBias`` is
        ``LinearSVR(C=C/m, epsilon=epsilon_)``, with the :math:`\epsilon` of its solution.

    Examples
    --------
    >>> to_sklearn(NuSVR(nu=0.3, C=20.0), m=40)
    NuSVR(C=0.5, kernel='linear', max_iter=10000000, nu=0.3, tol=1e-07)
    """
    return counterpart(model, _TO, check_count(m, "m"))


def _ours(estimator: Any, m: int) -> dict[str, Any]:
    return {"C": m * float(estimator.C), **kernel_of(estimator)}


_FROM: Makers = {
    svm.NuSVR: lambda theirs, m: NuSVR(nu=float(theirs.nu), **_ours(theirs, m)),
    svm.SVR: lambda theirs, m: EpsilonSVR(epsilon=float(theirs.epsilon), **_ours(theirs, m)),
}


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
    return counterpart(estimator, _FROM, check_count(m, "m"))
