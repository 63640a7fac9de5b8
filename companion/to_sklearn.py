r"""The models of all chapters by scikit-learn's names.

=================================  ==============================================================
``HardMarginSVC()``                ``SVC(C=1e10)``
``SVMs1(K)``                       ``NuSVC(nu=1/((p+q) K))``
``SVMs2(K)``                       ``SVC(C=K)``
``SVMs2prime(nu)``                 ``NuSVC(nu=nu)``
``RidgeRegression(K)``             ``Ridge(alpha=K)``
with a penalized intercept         the same without intercept, on [1 X]
``KernelRidge(K)``, no intercept   ``KernelRidge(alpha=K)``
``Lasso(tau)``                     ``Lasso(alpha=tau/m)``
``ElasticNet(K, tau)``             ``ElasticNet(alpha=(K + tau)/m, l1_ratio=tau/(K + tau))``
``NuSVR(nu, C=C)``                 ``NuSVR(C=C/m, nu=min(nu, 1))``
``EpsilonSVR(epsilon, C=C)``       ``SVR(C=C/m, epsilon=epsilon)``
=================================  ==============================================================

Here m is the number of points, or p and q are those of blue and of red points. scikit-learn scales the solutions of its
machines so that :math:`\eta = 1`: a machine of the text with the solution w, b, :math:`\eta` has ``coef_``
:math:`= w/\eta` and ``intercept_`` :math:`= -b/\eta` there. Its ``NuSVR`` keeps :math:`\epsilon` to itself;
:func:`companion.svr.tube_from_offsets` finds it from the weights. Its lasso and elastic net divide the squared error by
m.

No class of scikit-learn has the same solution as the others, but some have it in another form. For ``SVMs4(K=K)`` use
``SVC(kernel="precomputed", C=1e10)`` on the Gram matrix plus :math:`I/(2K)`; at prediction the Gram matrix alone. With
the linear kernel ``SVMs5(K=K)`` is ``LinearSVC(loss="squared_hinge", C=K)``, ``SVMs3`` is
``LinearSVC(loss="hinge", C=K/eta)`` with the :math:`\eta` of its solution, and ``NuSVRPenalizedBias`` is
``LinearSVR(C=C/m, epsilon=epsilon_)`` with the :math:`\epsilon` of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn import kernel_ridge, linear_model, svm
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from companion.checks import check_count
from companion.regression import ElasticNet, KernelRidge, Lasso, RidgeRegression
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2prime
from companion.svm.program import kernel_options
from companion.svr import EpsilonSVR, NuSVR

__all__ = ["to_sklearn"]


def to_sklearn(model: BaseEstimator, *sizes: int) -> BaseEstimator:
    r"""Return the scikit-learn estimator, not fitted, that has the same solution on so many points.

    Parameters
    ----------
    model : estimator
        A model of this package that is in the table above.
    *sizes : int
        The number m of points it will be fitted to, or those of the blue and of the red points.

    Returns
    -------
    estimator
        The parameters that only steer the computation keep scikit-learn's default, except the tolerance of the
        iterative ones. The decision function of a machine is that of `model`, divided by ``model.eta_``; the
        ``dual_coef_`` of a regression with a tube is :math:`\mu - \lambda` on ``support_``.

    Raises
    ------
    ValueError
        If scikit-learn has no such model.
    TypeError
        If `model` is something else.

    Examples
    --------
    >>> to_sklearn(SVMs1(K=0.25), 4, 4).nu
    0.5
    >>> to_sklearn(ElasticNet(K=3.0, tau=1.0), 8).alpha
    0.5
    >>> to_sklearn(NuSVR(nu=0.3, C=20.0), 40).C
    0.5
    """
    if type(model) in _TO:
        return _TO[type(model)](model, *(check_count(size, "m") for size in sizes))
    known = ", ".join(kind.__name__ for kind in _TO)
    raise TypeError(f"there is a counterpart of {known}, but not of {type(model).__name__}")


def _kernel(model: Any) -> dict[str, Any]:
    """Return the kernel of a model by scikit-learn's names."""
    return kernel_options(model._named_kernel())


def _machine(kind: type, model: Any, **prices: Any) -> BaseEstimator:
    return kind(**prices, tol=1e-9, **_kernel(model))


def _tube(kind: type, model: Any, m: int, **options: float) -> BaseEstimator:
    C = 1.0 if model.C is None else model.C / m
    # a smaller tolerance can keep libsvm busy for ever
    return kind(C=C, tol=1e-7, max_iter=10_000_000, **options, **_kernel(model))


def _ridge(model: RidgeRegression, m: int) -> BaseEstimator:
    if model.intercept == "penalized":
        plain = linear_model.Ridge(alpha=model.K, fit_intercept=False)
        return make_pipeline(PolynomialFeatures(degree=1), plain)
    return linear_model.Ridge(alpha=model.K, fit_intercept=model.intercept == "free")


def _kernel_ridge(model: KernelRidge, m: int) -> BaseEstimator:
    if model.intercept != "none":
        raise ValueError("scikit-learn's KernelRidge has no intercept; use intercept='none'")
    return kernel_ridge.KernelRidge(alpha=model.K, **_kernel(model))


def _elastic_net(model: Lasso | ElasticNet, m: int) -> BaseEstimator:
    if model.intercept == "penalized":
        raise ValueError("scikit-learn has no lasso with a penalized intercept")
    K, tau, free = float(model.K), float(model.tau), model.intercept == "free"
    if K + tau == 0.0:
        return linear_model.LinearRegression(fit_intercept=free)
    options = {"fit_intercept": free, "tol": 1e-12, "max_iter": 100_000}
    if isinstance(model, Lasso):
        return linear_model.Lasso(alpha=tau / m, **options)
    return linear_model.ElasticNet(alpha=(K + tau) / m, l1_ratio=tau / (K + tau), **options)


_TO: dict[type, Callable[..., Any]] = {
    HardMarginSVC: lambda s, p, q: _machine(svm.SVC, s, C=1e10),
    SVMs1: lambda s, p, q: _machine(svm.NuSVC, s, nu=1 / ((p + q) * (s.K or 1 / min(p, q)))),
    SVMs2: lambda s, p, q: _machine(svm.SVC, s, C=s.K, class_weight=s.class_weight),
    SVMs2prime: lambda s, p, q: _machine(svm.NuSVC, s, nu=s.nu),
    RidgeRegression: _ridge,
    KernelRidge: _kernel_ridge,
    Lasso: _elastic_net,
    ElasticNet: _elastic_net,
    EpsilonSVR: lambda s, m: _tube(svm.SVR, s, m, epsilon=s.epsilon),
    NuSVR: lambda s, m: _tube(svm.NuSVR, s, m, nu=min(float(s.nu), 1.0)),
}
