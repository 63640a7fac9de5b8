r"""The same machines by scikit-learn's names, and back.

scikit-learn scales its solutions so that :math:`\eta = 1`. A machine of the text with the solution w, b,
:math:`\eta` therefore has ``coef_`` :math:`= w/\eta` and ``intercept_`` :math:`= -b/\eta` there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn import svm
from sklearn.base import BaseEstimator

from companion.checks import check_count
from companion.svm.hard_margin import HardMarginSVC
from companion.svm.points import kernel_options
from companion.svm.soft_margin import SVMs1, SVMs2, SVMs2prime

__all__ = ["counterpart", "from_sklearn", "kernel_of", "named", "to_sklearn"]

Makers = dict[type, Callable[..., Any]]

_HARD = 1e10  # the C that stands for infinity
_PARAMETERS = {
    "rbf": ["gamma"],
    "sigmoid": ["gamma", "coef0"],
    "poly": ["gamma", "coef0", "degree"],
}


def counterpart(model: Any, makers: Makers, *sizes: int) -> Any:
    """Return what the table says for the class of a model; it needs the numbers of points."""
    for kind, make in makers.items():
        if isinstance(model, kind):
            return make(model, *sizes)
    known = ", ".join(kind.__name__ for kind in makers)
    raise TypeError(f"there is a counterpart of {known}, but not of {type(model).__name__}")


def named(model: Any) -> dict[str, Any]:
    """Return the kernel of a model by scikit-learn's names."""
    return kernel_options(model._named_kernel())


def kernel_of(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the kernel of an estimator of scikit-learn, and the parameters of a name, as options for a model."""
    name = estimator.kernel
    keys = _PARAMETERS.get(name, []) if isinstance(name, str) else []
    if keys and not isinstance(estimator.gamma, (int, float)):
        raise ValueError(
            f"gamma={estimator.gamma!r} depends on the data, which are not known here; set gamma"
        )
    return {"kernel": name, "kernel_params": {key: getattr(estimator, key) for key in keys} or None}


def _options(model: Any) -> dict[str, Any]:
    return {"tol": 1e-9, **named(model)}


_TO: Makers = {
    HardMarginSVC: lambda model, p, q: svm.SVC(C=_HARD, **_options(model)),
    SVMs1: lambda model, p, q: svm.NuSVC(nu=_nu(model, p, q), **_options(model)),
    SVMs2: lambda model, p, q: svm.SVC(C=model.K, **_options(model)),
    SVMs2prime: lambda model, p, q: svm.NuSVC(nu=model.nu, **_options(model)),
}


def _nu(model: SVMs1, p: int, q: int) -> float:
    return 1.0 / ((p + q) * (model.K or 1.0 / min(p, q)))


def to_sklearn(model: BaseEstimator, p: int, q: int) -> BaseEstimator:
    r"""Return the scikit-learn estimator, not fitted, that has the same hyperplanes on p blue and q red points.

    ========================  ==========================================================================
    ``HardMarginSVC()``       ``SVC(C=1e10)``
    ``SVMs1(K)``              ``NuSVC(nu=1/((p+q) K))``
    ``SVMs2(K)``              ``SVC(C=K)``
    ``SVMs2prime(nu)``        ``NuSVC(nu=nu)``
    ========================  ==========================================================================

    Parameters
    ----------
    model : HardMarginSVC, SVMs1, SVMs2 or SVMs2prime
        A machine of this package.
    p, q : int
        Numbers of blue and red points it will be fitted to.

    Returns
    -------
    estimator
        Its decision function is that of `model`, divided by ``model.eta_``.

    Raises
    ------
    TypeError
        If `model` is something else. For ``SVMs4(K=K)`` use ``SVC(kernel="precomputed", C=1e10)`` on the Gram matrix
        plus :math:`I/(2K)`; at prediction the Gram matrix alone. With the linear kernel ``SVMs5(K=K)`` is
        ``LinearSVC(loss="squared_hinge", C=K)``, and ``SVMs3`` is ``LinearSVC(loss="hinge", C=K/eta)``, with the
        :math:`\eta` of its solution.

    Examples
    --------
    >>> to_sklearn(SVMs1(K=0.25), p=4, q=4).nu
    0.5
    """
    return counterpart(model, _TO, check_count(p, "p"), check_count(q, "q"))


_FROM: Makers = {
    svm.NuSVC: lambda estimator: SVMs2prime(nu=float(estimator.nu), **kernel_of(estimator)),
    svm.SVC: lambda estimator: SVMs2(K=float(estimator.C), **kernel_of(estimator)),
}


def from_sklearn(estimator: BaseEstimator) -> BaseEstimator:
    """Return the machine of this package, not fitted, that has the same hyperplanes.

    Parameters
    ----------
    estimator : SVC or NuSVC
        An estimator of scikit-learn.

    Returns
    -------
    SVMs2 or SVMs2prime

    Raises
    ------
    ValueError
        If the estimator uses an option that has no counterpart here.
    TypeError
        If `estimator` is something else.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from_sklearn(SVC(C=10.0, kernel="rbf", gamma=0.5))
    SVMs2(K=10.0, kernel='rbf', kernel_params={'gamma': 0.5})
    """
    if getattr(estimator, "class_weight", None) is not None:
        raise ValueError("class_weight has no counterpart here")
    return counterpart(estimator, _FROM)
