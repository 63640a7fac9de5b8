r"""The models of all chapters by scikit-learn's names, and back.

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
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from companion.checks import as_scalar, check_count
from companion.regression import ElasticNet, KernelRidge, Lasso, RidgeRegression
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2prime
from companion.svm.program import kernel_options
from companion.svr import EpsilonSVR, NuSVR

__all__ = ["from_sklearn", "to_sklearn"]

Makers = dict[type, Callable[..., Any]]

_PARAMETERS = {
    "rbf": ["gamma"], "sigmoid": ["gamma", "coef0"], "poly": ["gamma", "coef0", "degree"],
    "linear": [], "precomputed": [],
}  # fmt: skip


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
    return _counterpart(model, _TO, *(check_count(size, "m") for size in sizes))


def from_sklearn(estimator: BaseEstimator, m: int = 1) -> BaseEstimator:
    """Return the model of this package, not fitted, that has the same solution on m points.

    Parameters
    ----------
    estimator : estimator
        An estimator of scikit-learn that is in the table above, or a pipeline that :func:`to_sklearn` made.
    m : int
        Number of points it will be fitted to; two classes are separated in the same way, however many there are.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If the estimator uses an option that has no counterpart here (``positive=True``, for example).
    TypeError
        If `estimator` is something else, or has one penalty for each of several targets.

    Examples
    --------
    >>> from_sklearn(linear_model.Lasso(alpha=0.5), 8)
    Lasso(tau=4.0)
    >>> from_sklearn(svm.SVC(C=10.0, kernel="rbf", gamma=0.5))
    SVMs2(K=10.0, kernel='rbf', kernel_params={'gamma': 0.5})
    """
    for option in ("positive",) if isinstance(estimator, svm.SVC) else ("class_weight", "positive"):
        if (value := getattr(estimator, option, None)) not in (None, False):
            raise ValueError(f"{option}={value!r} has no counterpart here")
    return _counterpart(estimator, _FROM, check_count(m, "m"))


def _counterpart(model: Any, makers: Makers, *sizes: int) -> Any:
    """Return what the table says for the class of a model."""
    for kind, make in makers.items():
        if isinstance(model, kind):
            return make(model, *sizes)
    known = ", ".join(kind.__name__ for kind in makers)
    raise TypeError(f"there is a counterpart of {known}, but not of {type(model).__name__}")


def _kernel(model: Any) -> dict[str, Any]:
    """Return the kernel of a model by scikit-learn's names."""
    return kernel_options(model._named_kernel())


def _own_kernel(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the kernel of an estimator of scikit-learn, and the parameters of a name, as options for a model."""
    name = estimator.kernel
    keys = _PARAMETERS.get(name) if isinstance(name, str) else []
    if keys is None:
        raise ValueError(f"there is no kernel {name!r} here; use 'precomputed' in both")
    if keys and not isinstance(estimator.gamma, (int, float)):
        raise ValueError(
            f"gamma={estimator.gamma!r} depends on the data, which are not known here; set gamma"
        )
    return {"kernel": name, "kernel_params": {key: getattr(estimator, key) for key in keys} or None}


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
    options = _kernel(model)
    if not isinstance(options["kernel"], str):
        raise ValueError(f"scikit-learn has no name for the kernel {model.kernel!r}; precompute it")
    return kernel_ridge.KernelRidge(alpha=model.K, **options)


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


def _number(estimator: BaseEstimator, name: str) -> float:
    """Return a parameter of an estimator, or raise an error that names it: one penalty for each target, say."""
    return as_scalar(getattr(estimator, name), name)


def _intercept(estimator: BaseEstimator) -> str:
    return "free" if estimator.fit_intercept else "none"


def _from_elastic_net(estimator: linear_model.ElasticNet, m: int) -> ElasticNet:
    model = ElasticNet.blend(m * _number(estimator, "alpha"), _number(estimator, "l1_ratio"))
    return model.set_params(intercept=_intercept(estimator))


def _from_pipeline(pipeline: Pipeline, m: int) -> RidgeRegression:
    steps = [step for _, step in pipeline.steps]
    if len(steps) == 2 and isinstance(steps[0], PolynomialFeatures):
        features, last = steps
        ones = features.degree == 1 and features.include_bias
        if ones and isinstance(last, linear_model.Ridge) and not last.fit_intercept:
            return RidgeRegression(K=_number(last, "alpha"), intercept="penalized")
    made = "PolynomialFeatures(degree=1) with Ridge(fit_intercept=False)"
    raise ValueError(f"the only pipeline with a counterpart is {made}")


_TO: Makers = {
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

_FROM: Makers = {  # a class before those that it is made from: scikit-learn's Lasso is an ElasticNet
    svm.NuSVC: lambda e, m: SVMs2prime(nu=float(e.nu), **_own_kernel(e)),
    svm.SVC: lambda e, m: SVMs2(float(e.C), class_weight=e.class_weight, **_own_kernel(e)),
    Pipeline: _from_pipeline,
    linear_model.Ridge: lambda e, m: RidgeRegression(_number(e, "alpha"), intercept=_intercept(e)),
    kernel_ridge.KernelRidge: lambda e, m: KernelRidge(_number(e, "alpha"), **_own_kernel(e)),
    linear_model.Lasso: lambda e, m: Lasso(m * _number(e, "alpha"), intercept=_intercept(e)),
    linear_model.ElasticNet: _from_elastic_net,
    linear_model.LinearRegression: lambda e, m: RidgeRegression(0.0, intercept=_intercept(e)),
    svm.NuSVR: lambda e, m: NuSVR(nu=float(e.nu), C=m * float(e.C), **_own_kernel(e)),
    svm.SVR: lambda e, m: EpsilonSVR(epsilon=float(e.epsilon), C=m * float(e.C), **_own_kernel(e)),
}
