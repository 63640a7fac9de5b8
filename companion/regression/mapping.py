"""The same models by scikit-learn's names, and back.

scikit-learn divides the squared error of lasso and elastic net by the number m of points, and calls the penalties
alpha. These functions convert, so that both estimators have the same solution.
"""

from __future__ import annotations

from sklearn import kernel_ridge, linear_model
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from companion.checks import as_scalar, check_count
from companion.regression.elastic_net import ElasticNet
from companion.regression.kernel_ridge import KernelRidge
from companion.regression.lasso import Lasso
from companion.regression.ridge import RidgeRegression
from companion.svm.mapping import Makers, counterpart, kernel_of, named

__all__ = ["from_sklearn", "to_sklearn"]


def _ridge(model: RidgeRegression, m: int) -> BaseEstimator:
    if model.intercept == "penalized":
        plain = linear_model.Ridge(alpha=model.K, fit_intercept=False)
        return make_pipeline(PolynomialFeatures(degree=1), plain)
    return linear_model.Ridge(alpha=model.K, fit_intercept=model.intercept == "free")


def _kernel_ridge(model: KernelRidge, m: int) -> BaseEstimator:
    if model.intercept != "none":
        raise ValueError("scikit-learn's KernelRidge has no intercept; use intercept='none'")
    options = named(model)
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


_TO: Makers = {
    RidgeRegression: _ridge,
    KernelRidge: _kernel_ridge,
    Lasso: _elastic_net,
    ElasticNet: _elastic_net,
}


def to_sklearn(model: BaseEstimator, m: int) -> BaseEstimator:
    r"""Return the scikit-learn estimator, not fitted, that has the same solution on m points.

    =================================  ==========================================================
    ``RidgeRegression(K)``             ``Ridge(alpha=K)``
    with a penalized intercept         the same without intercept, on [1 X]
    ``KernelRidge(K)``, no intercept   ``KernelRidge(alpha=K)``
    ``Lasso(tau)``                     ``Lasso(alpha=tau/m)``
    ``ElasticNet(K, tau)``             ``ElasticNet(alpha=(K + tau)/m, l1_ratio=tau/(K + tau))``
    =================================  ==========================================================

    Parameters
    ----------
    model : RidgeRegression, KernelRidge, Lasso or ElasticNet
        A model of this package.
    m : int
        Number of points it will be fitted to.

    Returns
    -------
    estimator
        The parameters that only steer the computation keep scikit-learn's default, except the tolerance of the
        iterative ones.

    Raises
    ------
    ValueError
        If scikit-learn has no such model.
    TypeError
        If `model` is something else.

    Examples
    --------
    >>> to_sklearn(ElasticNet(K=3.0, tau=1.0), m=8).get_params()["alpha"]
    0.5
    """
    return counterpart(model, _TO, check_count(m, "m"))


def _number(estimator: BaseEstimator, name: str) -> float:
    """Return a parameter of an estimator, or raise an error that names it: one penalty for each target, say."""
    return as_scalar(getattr(estimator, name), name)


def _intercept(estimator: BaseEstimator) -> str:
    return "free" if estimator.fit_intercept else "none"


def _from_kernel_ridge(estimator: kernel_ridge.KernelRidge, m: int) -> KernelRidge:
    if estimator.kernel not in ("linear", "poly", "rbf", "sigmoid", "precomputed"):
        raise ValueError(f"there is no kernel {estimator.kernel!r} here; use 'precomputed' in both")
    return KernelRidge(K=_number(estimator, "alpha"), **kernel_of(estimator))


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
    counterpart = "PolynomialFeatures(degree=1) with Ridge(fit_intercept=False)"
    raise ValueError(f"the only pipeline with a counterpart is {counterpart}")


_FROM: Makers = {  # scikit-learn's Lasso is an ElasticNet
    Pipeline: _from_pipeline,
    linear_model.Ridge: lambda e, m: RidgeRegression(_number(e, "alpha"), intercept=_intercept(e)),
    kernel_ridge.KernelRidge: _from_kernel_ridge,
    linear_model.Lasso: lambda e, m: Lasso(m * _number(e, "alpha"), intercept=_intercept(e)),
    linear_model.ElasticNet: _from_elastic_net,
    linear_model.LinearRegression: lambda e, m: RidgeRegression(0.0, intercept=_intercept(e)),
}


def from_sklearn(estimator: BaseEstimator, m: int) -> BaseEstimator:
    """Return the model of this package, not fitted, that has the same solution on m points.

    Parameters
    ----------
    estimator : Ridge, KernelRidge, Lasso, ElasticNet or LinearRegression
        An estimator of scikit-learn, or a pipeline that :func:`to_sklearn` made.
    m : int
        Number of points it will be fitted to.

    Returns
    -------
    RidgeRegression, KernelRidge, Lasso or ElasticNet

    Raises
    ------
    ValueError
        If the estimator uses an option that has no counterpart here (``positive=True``, for example).
    TypeError
        If `estimator` is something else, or has one penalty for each of several targets.

    Examples
    --------
    >>> from sklearn import linear_model
    >>> from_sklearn(linear_model.Lasso(alpha=0.5), m=8)
    Lasso(tau=4.0)
    """
    m = check_count(m, "m")
    if getattr(estimator, "positive", False):
        raise ValueError("positive=True has no counterpart here")
    return counterpart(estimator, _FROM, m)
