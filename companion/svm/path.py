r"""Many machines on the same points: one kernel matrix, and each solution starts from the one before.

Between the values of nu (or K) where a point enters or leaves the margin, the multipliers are an affine function of nu
(or K). So the linear system of one solution, factored already, predicts the next one, and Newton's method has little
to correct (:class:`companion.admm.qp_engine.Neighbour`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from companion.admm import LowRank
from companion.admm.qp_engine import Neighbour
from companion.admm.row_matrix import RowMatrix
from companion.checks import as_vector
from companion.svm.estimator import KernelLike, SupportVectorMachine
from companion.svm.points import Points, make_points
from companion.svm.soft_margin import SVMs2, SVMs2prime

__all__ = ["K_path", "nu_path"]

_WHOLE = 2000  # number of points below which the whole matrix serves all machines
_READ = (
    "kernel_",
    "classes_",
    "n_features_in_",
    "feature_names_in_",
)  # attributes that depend on the data only


class _SharedPoints(Points):
    """Points that keep their signed matrix, and what was found out about it."""

    def is_psd(self) -> bool:
        """Return whether the matrix is positive semidefinite by its kernel, or was tested for the first machine."""
        return super().is_psd() or "_tested" in self.__dict__

    def signed_matrix(
        self, *, penalize_b: bool = False, keep_origin: bool = False, ridge: float = 0.0
    ) -> np.ndarray | LowRank | RowMatrix:
        key = f"_matrix_{penalize_b}_{keep_origin}_{ridge}"
        if key not in self.__dict__:
            P = super().signed_matrix(penalize_b=penalize_b, keep_origin=keep_origin, ridge=ridge)
            if isinstance(P, RowMatrix) and self.n < _WHOLE:
                P = P.toarray()
            self.__dict__[key] = P
        return self.__dict__[key]


def nu_path(
    X: Any,
    y: Any,
    nu: Any,
    *,
    kernel: KernelLike = "linear",
    kernel_params: dict[str, Any] | None = None,
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> list[SVMs2prime]:
    r"""Fit :class:`SVMs2prime` for many values of nu, for little more than the price of a few.

    Parameters
    ----------
    X : array-like of shape (l, d), or (l, l) for a precomputed kernel
        Points.
    y : array-like of shape (l,)
        Two labels.
    nu : array-like of shape (k,)
        Values of nu, in any order; best close to each other.
    kernel, kernel_params, tol, max_iter
        As for :class:`SVMs2prime`.

    Returns
    -------
    list of SVMs2prime
        The fitted machines, in the order of `nu`. Each has its own certificate.

    Raises
    ------
    InfeasibleProblemError
        If some nu exceeds :func:`nu_max`.

    Warns
    -----
    DegenerateSolutionWarning
        For each nu that is at most :func:`nu_min`.

    Notes
    -----
    Source: Sections 18.5 to 18.8, which solve the program anew for each nu.

    Cross-validation needs the kernel matrix once for all folds: each fold takes its rows and columns, as below.

    Examples
    --------
    >>> from companion.datasets import nine_points
    >>> data = nine_points()
    >>> [round(machine.delta_, 4) for machine in nu_path(data.X, data.y, [0.5, 0.6, 2 / 3])]
    [2.0555, 2.4597, 2.7951]

    How many of 60 points do machines get right that have not seen them?

    >>> import numpy as np
    >>> from companion.kernels import Gaussian
    >>> from sklearn.model_selection import StratifiedKFold
    >>> y = np.repeat([1, -1], 30)
    >>> X = np.random.default_rng(0).standard_normal((60, 2)) + y[:, None]
    >>> K, nus, right = Gaussian(2.0)(X), [0.2, 0.4, 0.6], np.zeros(3, dtype=int)
    >>> for train, test in StratifiedKFold(3).split(X, y):
    ...     path = nu_path(K[np.ix_(train, train)], y[train], nus, kernel="precomputed")
    ...     right += [np.sum(m.predict(K[np.ix_(test, train)]) == y[test]) for m in path]
    >>> right
    array([50, 54, 54])
    """
    machines = [
        SVMs2prime(
            nu=float(v), kernel=kernel, kernel_params=kernel_params, tol=tol, max_iter=max_iter
        )
        for v in as_vector(nu, "nu")
    ]
    order = np.argsort([-machine.nu for machine in machines], kind="stable")
    return _fit_in_turn(machines, order, X, y)


def K_path(
    X: Any,
    y: Any,
    K: Any,
    *,
    kernel: KernelLike = "linear",
    kernel_params: dict[str, Any] | None = None,
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> list[SVMs2]:
    r"""Fit :class:`SVMs2` for many values of K, each from the ones before.

    Parameters
    ----------
    X : array-like of shape (l, d), or (l, l) for a precomputed kernel
        Points.
    y : array-like of shape (l,)
        Two labels.
    K : array-like of shape (k,)
        Values of K, in any order; best close to each other.
    kernel, kernel_params, tol, max_iter
        As for :class:`SVMs2`.

    Returns
    -------
    list of SVMs2
        The fitted machines, in the order of `K`.

    Notes
    -----
    Source: Sections 18.3 and 18.4.

    Examples
    --------
    >>> from companion.datasets import nine_points
    >>> data = nine_points()
    >>> [round(machine.objective_, 4) for machine in K_path(data.X, data.y, [0.01, 0.1, 1.0])]
    [0.0729, 0.4645, 3.5917]
    """
    machines = [
        SVMs2(K=float(v), kernel=kernel, kernel_params=kernel_params, tol=tol, max_iter=max_iter)
        for v in as_vector(K, "K")
    ]
    order = np.argsort([machine.K for machine in machines], kind="stable")
    return _fit_in_turn(machines, order, X, y)


def _fit_in_turn(machines: list, order: np.ndarray, X: Any, y: Any) -> list:
    """Fit the machines in the given order on the same points."""
    if not machines:
        return machines
    first: SupportVectorMachine = machines[order[0]]
    X, s = first._read(X, y)
    read = {key: value for key, value in vars(first).items() if key in _READ}
    made = make_points(X, s, first.kernel_)
    points = _SharedPoints(made.X, made.s, made.kernel, made.Phi)
    neighbour = Neighbour()
    for i in order:
        _fit_next(machines[i], read, points, neighbour)
        points.__dict__["_tested"] = True
    return machines


def _fit_next(
    machine: SupportVectorMachine, read: dict[str, Any], points: Points, neighbour: Neighbour
) -> None:
    """Fit a machine that knows what `read` says of the data, from the solution of the one before."""
    machine.__dict__.update(read)
    machine._fit_from(points, neighbour)
