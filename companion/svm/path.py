r"""Many machines on the same points: one kernel matrix, and each solution is the guess for the next.

Between the values of nu (or K) where a point enters or leaves the margin, the multipliers are an affine function of nu
(or K). So the linear system of one active set predicts the next solution, and few corrections follow; where many points
change sides, libsvm guesses anew.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from companion.checks import as_vector
from companion.engine.machines import finish
from companion.svm.model import as_guess
from companion.svm.soft_margin import SVMs2, SVMs2prime

__all__ = ["K_path", "nu_path"]

_SYSTEMS = 5  # that may be solved from the sets of the machine before; then libsvm guesses anew
_WHOLE = 4000  # number of points up to which the whole matrix serves all machines


def nu_path(X: Any, y: Any, nu: Any, **options: Any) -> list[SVMs2prime]:
    r"""Fit :class:`SVMs2prime` for many values of nu, each from the ones before.

    Parameters
    ----------
    X : array-like of shape (l, d), or (l, l) for a precomputed kernel
        Points.
    y : array-like of shape (l,)
        Two labels.
    nu : array-like of shape (k,)
        Values of nu, in any order; best close to each other.
    **options
        ``kernel``, ``kernel_params``, ``tol`` and ``max_iter``, as for :class:`SVMs2prime`.

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
    machines = [SVMs2prime(float(value), **options) for value in as_vector(nu, "nu")]
    _fit_in_turn(sorted(machines, key=lambda machine: -machine.nu), X, y)
    return machines


def K_path(X: Any, y: Any, K: Any, **options: Any) -> list[SVMs2]:
    r"""Fit :class:`SVMs2` for many values of K, each from the ones before.

    Parameters
    ----------
    X : array-like of shape (l, d), or (l, l) for a precomputed kernel
        Points.
    y : array-like of shape (l,)
        Two labels.
    K : array-like of shape (k,)
        Values of K, in any order; best close to each other.
    **options
        ``kernel``, ``kernel_params``, ``tol`` and ``max_iter``, as for :class:`SVMs2`.

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
    machines = [SVMs2(float(value), **options) for value in as_vector(K, "K")]
    _fit_in_turn(sorted(machines, key=lambda machine: machine.K), X, y)
    return machines


def _fit_in_turn(machines: list, X: Any, y: Any) -> None:
    """Fit the machines one after the other on the same points; say what they have to say."""
    if not machines:
        return
    points = machines[0]._points(*machines[0]._read(X, y))
    read = {key: value for key, value in vars(machines[0]).items() if key.endswith("_")}
    if points.Phi is None and points.n <= _WHOLE:
        _ = points.gram  # from here on each machine takes its rows
    a, near = np.zeros(points.n), None
    for machine in machines:
        vars(machine).update(read)
        dual, guess = machine._dual(points), None
        if near is not None:
            done = finish(dual.P, dual.q, dual.A, dual.c, dual.upper, *near, _SYSTEMS)
            guess = None if done is None else as_guess(done.a, dual.upper)
        for warning in machine._fit_points(points, guess):
            warnings.warn(warning, stacklevel=3)
        a[points.blue], a[points.red] = machine.lambda_, machine.mu_
        near = None if machine.degenerate_ else as_guess(a.copy(), dual.upper)
