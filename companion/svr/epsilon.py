r"""epsilon-SV regression: the width of the tube is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from companion.checks import as_scalar
from companion.svm import hyperplanes
from companion.svm.program import DualProgram, Points, SignedKernel
from companion.svr.tube import SupportVectorRegression

__all__ = ["EpsilonSVR"]


@dataclass(eq=False, repr=False)
class EpsilonSVR(SupportVectorRegression):
    r"""epsilon-SV regression: errors below a fixed :math:`\epsilon` cost nothing.

    .. math::

        & \min_{w, b, \xi, \xi'} \; \tfrac12 \|w\|^2 + \frac Cm \sum_{i=1}^m (\xi_i + \xi'_i) \\
        & \text{subject to} \\
        & \quad \langle w, \varphi(x_i) \rangle + b - y_i \le \epsilon + \xi_i, \\
        & \quad -\langle w, \varphi(x_i) \rangle - b + y_i \le \epsilon + \xi'_i, \\
        & \quad \xi_i, \xi'_i \ge 0 .

    Its dual is

    .. math::

        & \min_{\lambda, \mu} \; \tfrac12 (\lambda - \mu)^\top \mathbf K (\lambda - \mu) \\
        & \quad + y^\top (\lambda - \mu) + \epsilon\, \mathbf 1^\top (\lambda + \mu) \\
        & \text{subject to} \quad \mathbf 1^\top \lambda = \mathbf 1^\top \mu, \\
        & \quad 0 \le \lambda_i, \mu_i \le \tfrac Cm .

    Parameters
    ----------
    epsilon : float
        Half of the tube's width, at least 0, in the unit of y.
    C, kernel, kernel_params, tol, max_iter
        As for :class:`NuSVR`, and so are the attributes; there is no ``gamma_``.

    Attributes
    ----------
    nu_ : float
        :math:`\mathbf 1^\top (\lambda + \mu)/C`: nu-SV regression with this :math:`\nu` has the same solution.

    Notes
    -----
    Source: the first remark of Section 20.4. nu-SV regression with the result :math:`\epsilon > 0` has the w of this
    program for the same :math:`\epsilon`, and its b is one of the optimal ones, ``b_interval_``. The value of this
    program is less by :math:`C\nu\epsilon`.

    Examples
    --------
    >>> from companion.datasets import example_19_1
    >>> data = example_19_1()
    >>> model = EpsilonSVR(epsilon=1.0, C=8.0).fit(data.X, data.y)
    >>> model.w_ * 26, round(model.b_, 6), round(model.objective_, 6)
    (array([23., 21.]), -1.0, 0.717456)
    """

    epsilon: float = 0.1

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        r"""Solve the dual program, and read the tube from its multipliers.

        Parameters
        ----------
        X : array-like of shape (m, n), or (m, m) for a precomputed kernel
            Points.
        y : array-like of shape (m,)
            Values.
        sample_weight : array-like of shape (m,), optional
            What :math:`\tfrac Cm` is multiplied by for each point. The weight 2 says as much as the point given twice
            for the same :math:`\tfrac Cm`, 0 as much as the point left out.

        Returns
        -------
        estimator
            Itself.
        """
        return hyperplanes.warned(self, self._fit(X, y, sample_weight))

    def _dual(self, points: Points, y: np.ndarray) -> DualProgram:
        C, P = self._price(points), SignedKernel(points, tube=True)
        epsilon = as_scalar(self.epsilon, "epsilon", at_least=0.0)
        q, upper = np.append(y, -y) + epsilon, C / P.m * points.weight
        upper = np.tile(upper, 2) if np.ndim(upper) else upper
        return DualProgram.of(P, q, (P.s, 0.0), upper=upper, price=C, eta=-epsilon)

    @property
    def nu_(self) -> float:
        """The nu of nu-SV regression that has this solution."""
        return float(np.abs(self.mu_ - self.lambda_).sum()) / self.C_
