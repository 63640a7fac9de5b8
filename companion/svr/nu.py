r"""nu-SV regression, with b free, with b penalized, and with squared slacks.

=========================  =========================================  ============================  ================
class                      P                                          constraints                   bounds
=========================  =========================================  ============================  ================
`NuSVR`                    K                                          1'delta = 0, |delta|_1 <= Cv  |delta_i| <= C/m
`NuSVRPenalizedBias`       K + 11'                                    |delta|_1 <= Cv               |delta_i| <= C/m
`QuadraticNuSVR`           K + (m/2C) I                               1'delta = 0, |delta|_1 <= Cv
=========================  =========================================  ============================  ================

with :math:`\delta = \mu - \lambda` and v for :math:`\nu`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from companion.checks import as_scalar
from companion.svm.program import DualProgram, Points, SignedKernel
from companion.svr.tube import SupportVectorRegression

__all__ = ["NuSVR", "NuSVRPenalizedBias", "QuadraticNuSVR"]


@dataclass(eq=False, repr=False)
class NuRegression(SupportVectorRegression):
    """Base of the regressions with nu."""

    nu: float = 0.5

    def _constants(self, points: Points) -> tuple[float, float]:
        r"""Return C and :math:`\nu`."""
        return self._price(points), as_scalar(self.nu, "nu", at_least=0.0)


@dataclass(eq=False, repr=False)
class NuSVR(NuRegression):
    r"""nu-SV regression: fit a tube around an affine function, and let :math:`\nu` choose its width.

    .. math::

        & \min_{w, b, \epsilon, \xi, \xi'} \; \tfrac12 \|w\|^2 \\
        & \quad + C \Bigl( \nu\epsilon + \frac1m \sum_{i=1}^m (\xi_i + \xi'_i) \Bigr) \\
        & \text{subject to} \\
        & \quad \langle w, \varphi(x_i) \rangle + b - y_i \le \epsilon + \xi_i, \\
        & \quad -\langle w, \varphi(x_i) \rangle - b + y_i \le \epsilon + \xi'_i, \\
        & \quad \xi_i, \xi'_i, \epsilon \ge 0 .

    Its dual, with :math:`\mathbf K_{ij} = \kappa(x_i, x_j)`, is

    .. math::

        & \min_{\lambda, \mu} \; \tfrac12 (\lambda - \mu)^\top \mathbf K (\lambda - \mu) \\
        & \quad + y^\top (\lambda - \mu) \\
        & \text{subject to} \quad \mathbf 1^\top \lambda = \mathbf 1^\top \mu, \\
        & \quad \mathbf 1^\top (\lambda + \mu) \le C\nu, \\
        & \quad 0 \le \lambda_i, \mu_i \le \tfrac Cm,

    and :math:`w = \sum_i (\mu_i - \lambda_i) \varphi(x_i)`.

    Parameters
    ----------
    nu : float
        At least 0. At most :math:`m\nu/2` points lie below the tube and at most as many above it. For
        :math:`\nu \ge 1`, :math:`\epsilon = 0` is optimal, for :math:`\nu > 1` nothing else.
    C : float or None
        Price of the errors, the text's C; scikit-learn's is C/m. None is m.
    kernel : str, Kernel or callable
        See :func:`companion.kernels.as_kernel`; ``"precomputed"`` takes ``k(X)`` in `fit` and ``k(X_new, X)`` in
        `predict`.
    kernel_params : dict or None
        The parameters of a kernel given by its name, for example ``{"sigma": 2.0}``.
    tol : float
        Tolerance of the certificate.
    max_iter : int
        Largest number of iterations.

    Attributes
    ----------
    lambda_, mu_ : ndarray of shape (m,)
        Multipliers of the two families of inequalities. ``== 0`` and ``== C_ / m`` are exact, and
        :math:`\lambda_i \mu_i = 0`.
    w_ : ndarray of shape (N,) or None
        Weights, where the kernel has explicit features and few.
    norm_ : float
        The norm of w.
    norm_error_ : float
        A bound of what rounding has changed of the norm, relative to it. Where only inner products are known, and the
        images of the points nearly coincide, few digits may be left.
    b_, epsilon_ : float
        Intercept and half of the tube's width.
    b_interval_, epsilon_interval_, blue_interval_, red_interval_ : (float, float)
        All values of b, :math:`\epsilon`, :math:`b - \epsilon` and :math:`b + \epsilon` in optimal solutions. Where
        they differ, b and :math:`\epsilon` are made of midpoints; where an interval is unbounded, of its finite end.
    xi_, xi_prime_ : ndarray of shape (m,)
        Slacks of the points below and above the tube.
    gamma_ : float
        Multiplier :math:`C\nu - \mathbf 1^\top(\lambda + \mu)` of :math:`\epsilon \ge 0`.
    I_lambda_, I_mu_, K_lambda_, K_mu_, E_lambda_, E_mu_ : ndarray of int
        Indices of the support vectors of type 1, of the points that fail the margin, and of the errors: blue ones
        (:math:`\lambda`) and red ones (:math:`\mu`).
    numsvl1_, numsvm1_, p_f_, q_f_, p_m_, q_m_, p_sf_, q_sf_ : int
        Numbers of blue and red points: support vectors of type 1; points that fail the margin (multiplier = C/m), that
        have margin at most epsilon (multiplier > 0), and that are errors (slack > 0).
    point_classes_ : ndarray of str, shape (m,)
        ``"inside"`` the tube; on a margin ``"type 1"`` (multiplier between the bounds), ``"type 2"`` (C/m) or
        ``"exceptional"`` (0); ``"error"``.
    offsets_, residuals_ : ndarray of shape (m,)
        :math:`y_i - \langle w, \varphi(x_i)\rangle` and :math:`y_i - f(x_i)`.
    support_vectors_, n_support_ : ndarray
        The points with a positive multiplier, and their number.
    support_, dual_coef_ : ndarray
        Indices with a positive multiplier; coefficients of w in the images of the points: :math:`\mu - \lambda`, or
        where these are large numbers that cancel, smaller ones that give the same w.
    objective_, dual_objective_ : float
        Values of the primal program at the stored tube, and of the dual program at the stored multipliers.
    certificate_ : Certificate
        Residuals and duality gap, for the stored tube and with what rounding may have added. The gap is relative to the
        sum of the terms of the primal objective.
    C_ : float
        The constant used.
    n_features_in_, n_iter_, kernel_, X_fit_
        As in scikit-learn; the kernel; the training points.

    Raises
    ------
    ValueError
        If nu < 0, C <= 0, or the kernel is not positive definite on the training points.

    Notes
    -----
    Source: Sections 20.1 to 20.4. The dual is solved in the m variables :math:`\mu - \lambda`. If :math:`m\nu/2` is no
    integer and :math:`\epsilon > 0`, then b and :math:`\epsilon` are unique, and there are support vectors of type 1 of
    both colours. If it is one, the optimal pairs may form a rectangle in :math:`b - \epsilon` and
    :math:`b + \epsilon`. Proposition 20.2 needs :math:`\gamma = 0`. For :math:`\nu = 0` the narrowest tube around all
    points is returned, with w = 0.

    Examples
    --------
    >>> from companion.datasets import example_19_1
    >>> data = example_19_1()
    >>> model = NuSVR(nu=0.7, C=8.0).fit(data.X, data.y)
    >>> model.w_ * 68, round(model.b_ * 68, 6), round(model.epsilon_ * 340, 6)
    (array([77.8, 76.2]), -77.1, 84.5)
    >>> model.p_f_, model.q_f_, model.p_m_, model.q_m_, model.certificate_.ok
    (2, 1, 3, 4, True)
    """

    def _dual(self, points: Points, y: np.ndarray) -> DualProgram:
        (C, nu), P = self._constants(points), SignedKernel(points, tube=True)
        return DualProgram.of(
            P, np.append(y, -y), (P.s, 0.0), (1.0, C * nu), upper=C / P.m, price=C
        )


@dataclass(eq=False, repr=False)
class NuSVRPenalizedBias(NuRegression):
    r"""nu-SV regression, version 2: the program of :class:`NuSVR` with :math:`\tfrac12 b^2` added to the objective.

    Its dual is

    .. math::

        & \min_{\lambda, \mu} \; \tfrac12 (\lambda - \mu)^\top (\mathbf K + \mathbf 1\mathbf 1^\top) (\lambda - \mu) \\
        & \quad + y^\top (\lambda - \mu) \\
        & \text{subject to} \quad \mathbf 1^\top (\lambda + \mu) \le C\nu, \\
        & \quad 0 \le \lambda_i, \mu_i \le \tfrac Cm,

    and :math:`b = \mathbf 1^\top (\mu - \lambda)`.

    Parameters
    ----------
    nu : float
        At least 0. At most :math:`m\nu` points lie outside the tube.
    C, kernel, kernel_params, tol, max_iter
        As for :class:`NuSVR`, and so are the attributes; b is unique.

    Notes
    -----
    Source: Section 20.5 and Problems 20.7 to 20.10. The text omits :math:`\epsilon \ge 0`, which changes nothing for
    :math:`\nu \le 1`; for larger :math:`\nu` it would allow :math:`\epsilon < 0`, and for :math:`\nu > 2` an objective
    without lower bound, so the constraint is kept here. Always :math:`|b| \le C\nu`. Proposition 20.6 needs
    :math:`\gamma = 0`.

    Examples
    --------
    >>> from companion.datasets import example_19_1
    >>> data = example_19_1()
    >>> model = NuSVRPenalizedBias(nu=0.3, C=8.0).fit(data.X, data.y)
    >>> model.w_ * 560, round(model.b_ * 560, 6), round(model.epsilon_ * 560, 6)
    (array([579.5, 550. ]), -508.0, 253.0)
    """

    _penalized = True

    def _dual(self, points: Points, y: np.ndarray) -> DualProgram:
        (C, nu), P = self._constants(points), SignedKernel(points, penalize_b=True, tube=True)
        return DualProgram.of(P, np.append(y, -y), (1.0, C * nu), upper=C / P.m, price=C)


@dataclass(eq=False, repr=False)
class QuadraticNuSVR(NuRegression):
    r"""nu-SV regression with squared slacks.

    The program of :class:`NuSVR` with :math:`\sum_i (\xi_i^2 + \xi_i'^2)` in place of :math:`\sum_i (\xi_i + \xi'_i)`.
    Its dual is

    .. math::

        & \min_{\lambda, \mu} \; \tfrac12 (\lambda - \mu)^\top \mathbf K (\lambda - \mu) \\
        & \quad + \frac{m}{4C} \bigl( \|\lambda\|^2 + \|\mu\|^2 \bigr) + y^\top (\lambda - \mu) \\
        & \text{subject to} \quad \mathbf 1^\top \lambda = \mathbf 1^\top \mu, \\
        & \quad \mathbf 1^\top (\lambda + \mu) \le C\nu, \quad \lambda, \mu \ge 0,

    and :math:`\xi = \frac{m}{2C} \lambda`, :math:`\xi' = \frac{m}{2C} \mu`.

    Parameters
    ----------
    nu : float
        At least 0. Here :math:`\nu` is in the unit of y: :math:`\epsilon = 0` exactly if
        :math:`\nu \ge \frac2m \sum_i |r_i|` for the residuals r of the solution with :math:`\epsilon = 0`.
    C, kernel, kernel_params, tol, max_iter
        As for :class:`NuSVR`, and so are the attributes. No multiplier has an upper bound, so ``p_f_`` and ``q_f_``
        are 0; a positive multiplier means a positive slack, so no point is of type 1 or 2.

    Notes
    -----
    Source: the second remark of Section 20.4; Problems 20.5 and 20.6. The text says that :math:`\gamma = 0` always;
    that is so only for :math:`\epsilon > 0`. The solution is unique.

    Examples
    --------
    >>> model = QuadraticNuSVR(nu=0.5, C=2.0).fit([[0.0], [1.0]], [0.0, 0.0])
    >>> model.epsilon_, model.gamma_, model.lambda_
    (0.0, 1.0, array([0., 0.]))
    """

    def _dual(self, points: Points, y: np.ndarray) -> DualProgram:
        C, nu = self._constants(points)
        P = SignedKernel(points, ridge=points.n / (2.0 * C), tube=True)
        return DualProgram.of(P, np.append(y, -y), (P.s, 0.0), (1.0, C * nu), upper=np.inf, price=C)
