r"""The same machines by scikit-learn's names, and back.

scikit-learn scales its solutions so that :math:`\eta = 1`. A machine of the text with the solution w, b,
:math:`\eta` therefore has ``coef_`` :math:`= w/\eta` and ``intercept_`` :math:`= -b/\eta` there.
"""

from __future__ import annotations

from typing import Any

from sklearn import svm
from sklearn.base import BaseEstimator

from companion.checks import check_count
from companion.kernels import Gaussian, Linear, Polynomial, Sigmoid, as_kernel
from companion.svm.estimator import SupportVectorMachine
from companion.svm.hard_margin import HardMarginSVC
from companion.svm.soft_margin import SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs5

__all__ = ["from_sklearn", "kernel_of", "kernel_options", "to_sklearn"]

_HARD = 1e10  # the C that stands for infinity


def to_sklearn(model: SupportVectorMachine, p: int, q: int) -> BaseEstimator:
    r"""Return the scikit-learn estimator, not fitted, that has the same hyperplanes on p blue and q red points.

    ========================  ==========================================================================
    ``HardMarginSVC()``       ``SVC(C=1e10)``
    ``SVMs1(K)``              ``NuSVC(nu=1/((p+q) K))``
    ``SVMs2(K)``              ``SVC(C=K)``
    ``SVMs2prime(nu)``        ``NuSVC(nu=nu)``
    ``SVMs3(nu)``, fitted     ``LinearSVC(loss="hinge", C=K/eta)``, since C depends on the solution
    ``SVMs5(nu, K=K)``        ``LinearSVC(loss="squared_hinge", C=K)``
    ========================  ==========================================================================

    Parameters
    ----------
    model : HardMarginSVC, SVMs1, SVMs2, SVMs2prime, SVMs3 or SVMs5
        A machine of this package.
    p, q : int
        Numbers of blue and red points it will be fitted to.

    Returns
    -------
    estimator
        Its decision function is that of `model`, divided by ``model.eta_``.

    Raises
    ------
    ValueError
        If scikit-learn has no such machine. For ``SVMs4(K=K)`` use ``SVC(kernel="precomputed", C=1e10)`` on the Gram
        matrix plus :math:`I/(2K)`; at prediction the Gram matrix alone.
    TypeError
        If `model` is something else.

    Examples
    --------
    >>> to_sklearn(SVMs1(K=0.25), p=4, q=4).nu
    0.5
    """
    if not isinstance(model, SupportVectorMachine):
        raise TypeError(f"model must be a machine of companion.svm, got {type(model).__name__}")
    p, q = check_count(p, "p"), check_count(q, "q")
    precise = {"tol": 1e-9}
    if isinstance(model, HardMarginSVC):
        return svm.SVC(C=_HARD, **precise, **kernel_options(model))
    if isinstance(model, SVMs1):
        K = 1.0 / min(p, q) if model.K is None else model.K
        return svm.NuSVC(nu=1.0 / ((p + q) * K), **precise, **kernel_options(model))
    if isinstance(model, SVMs2):
        return svm.SVC(C=model.K, **precise, **kernel_options(model))
    if isinstance(model, SVMs2prime):
        return svm.NuSVC(nu=model.nu, **precise, **kernel_options(model))
    if isinstance(model, (SVMs3, SVMs5)):
        if not as_kernel(model.kernel, **(model.kernel_params or {})).is_linear:
            raise ValueError("scikit-learn penalizes b for the linear kernel only, in LinearSVC")
        K = 1.0 / (p + q) if model.K is None else model.K
        options: dict[str, Any] = {"intercept_scaling": 1.0, "max_iter": 1_000_000, "tol": 1e-12}
        if isinstance(model, SVMs5):
            return svm.LinearSVC(loss="squared_hinge", C=K, dual=False, **options)
        eta = getattr(model, "eta_", 0.0)
        if eta <= 0.0:
            raise ValueError("C = K/eta is known only after SVMs3 was fitted, with eta > 0")
        return svm.LinearSVC(loss="hinge", C=K / eta, dual=True, **options)
    raise ValueError(f"scikit-learn has no machine like {type(model).__name__}")


def kernel_options(model: SupportVectorMachine) -> dict[str, Any]:
    """Return scikit-learn's names for a kernel; a kernel without a name is passed as a function."""
    kernel = as_kernel(model.kernel, **(model.kernel_params or {}))
    if kernel.is_precomputed:
        return {"kernel": "precomputed"}
    if isinstance(kernel, Linear):
        return {"kernel": "linear"}
    if isinstance(kernel, Polynomial):
        return {"kernel": "poly", "degree": kernel.d, "gamma": kernel.gamma, "coef0": kernel.R}
    if isinstance(kernel, Gaussian):
        return {"kernel": "rbf", "gamma": 1.0 / (2.0 * kernel.sigma**2)}
    if isinstance(kernel, Sigmoid):
        return {"kernel": "sigmoid", "gamma": kernel.a, "coef0": kernel.b}
    return {"kernel": kernel}


def from_sklearn(estimator: BaseEstimator) -> SupportVectorMachine:
    """Return the machine of this package, not fitted, that has the same hyperplanes.

    Parameters
    ----------
    estimator : SVC, NuSVC or LinearSVC
        An estimator of scikit-learn; LinearSVC with the squared hinge loss.

    Returns
    -------
    SVMs2, SVMs2prime or SVMs5

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
    if not isinstance(estimator, (svm.SVC, svm.NuSVC, svm.LinearSVC)):
        raise TypeError(
            f"estimator must be an SVC, NuSVC or LinearSVC of scikit-learn, got {type(estimator).__name__}"
        )
    if estimator.class_weight is not None:
        raise ValueError("class_weight has no counterpart here")
    if isinstance(estimator, svm.LinearSVC):
        return _from_linear(estimator)
    kernel, params = kernel_of(estimator)
    if isinstance(estimator, svm.NuSVC):
        return SVMs2prime(nu=float(estimator.nu), kernel=kernel, kernel_params=params)
    return SVMs2(K=float(estimator.C), kernel=kernel, kernel_params=params)


def _from_linear(estimator: svm.LinearSVC) -> SVMs5:
    usual = estimator.fit_intercept and estimator.intercept_scaling == 1
    if (estimator.loss, estimator.penalty, usual) != ("squared_hinge", "l2", True):
        raise ValueError(
            "of LinearSVC only loss='squared_hinge', penalty='l2', fit_intercept=True, intercept_scaling=1 has a "
            "counterpart here; loss='hinge' is SVMs3 for a nu that only its solution tells"
        )
    return SVMs5(K=float(estimator.C))


def kernel_of(estimator: svm.SVC | svm.NuSVC) -> tuple[Any, dict[str, Any] | None]:
    """Return the kernel of a machine of scikit-learn, and the parameters of a name."""
    name, gamma = estimator.kernel, estimator.gamma
    if not isinstance(name, str):
        return name, None
    if name in ("linear", "precomputed"):
        return name, None
    if gamma is None or isinstance(gamma, str):
        raise ValueError(
            f"gamma={gamma!r} depends on the data, which are not known here; set gamma"
        )
    params: dict[str, Any] = {"gamma": float(gamma)}
    if name in ("poly", "sigmoid"):
        params["coef0"] = float(estimator.coef0)
    if name == "poly":
        params["degree"] = int(estimator.degree)
    return name, params
