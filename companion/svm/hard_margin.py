r"""The hard margin support vector machine, program (SVM_h2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from companion.arithmetic import EPS
from companion.engine.finish import Finished
from companion.exceptions import InfeasibleProblemError
from companion.svm import hyperplanes
from companion.svm.hyperplanes import Solved
from companion.svm.program import DualProgram, Points, SignedKernel
from companion.svm.soft_margin import SupportVectorMachine, guess_by_libsvm, smallest_bound


class HardMarginSVC(SupportVectorMachine):
    r"""Hard margin support vector machine (SVM_h2): the hyperplane with the widest slab free of points.

    .. math::

        & \min_{w, b} \; \tfrac12 \|w\|^2 \quad \text{subject to} \\
        & \quad \langle w, \varphi(u_i) \rangle - b \ge 1, \\
        & \quad -\langle w, \varphi(v_j) \rangle + b \ge 1 .

    Its dual, with :math:`a = (\lambda, \mu)` and :math:`s = (\mathbf 1_p, -\mathbf 1_q)`, is

    .. math:: & \min_a \; \tfrac12 a^\top \mathbf K a - \mathbf 1^\top a \\
        & \text{subject to} \quad s^\top a = 0, \quad a \ge 0 .

    Parameters
    ----------
    kernel : str, Kernel or callable
        See :func:`companion.kernels.as_kernel`.
    kernel_params : dict or None
        The parameters of a kernel given by its name, for example ``{"sigma": 2.0}``.
    tol : float
        Tolerance of the certificate.
    max_iter : int
        Largest number of linear systems that are solved for the multipliers.

    Attributes
    ----------
    lambda_, mu_, w_, b_, eta_, delta_
        As for :class:`SVMs2prime`. Here ``eta_`` is 1 and ``delta_`` is :math:`1/\|w\|`, the distance of the nearest
        points from :math:`H_{w,b}`.
    point_classes_ : ndarray of str, shape (l,)
        ``"outside"``, ``"type 1"`` (a support vector with a positive multiplier) or ``"exceptional"``.
    certificate_ : Certificate
        Residuals and duality gap.

    Raises
    ------
    InfeasibleProblemError
        If no hyperplane separates the classes. ``witness`` holds the coefficients (one per training point, each class
        sums to 1) of a point that lies in the convex hulls of both classes: the alternative to a separating
        hyperplane.

    Notes
    -----
    Source: Section 16.7 solves it, Section 18.1 starts from it; ZM Section 23.2. The multipliers need not be unique
    where more support vectors than necessary lie on the margin; w and b always are.

    Examples
    --------
    >>> from companion.datasets import zm_fourteen
    >>> data = zm_fourteen()
    >>> machine = HardMarginSVC().fit_uv(data.u, data.v)
    >>> machine.w_.round(6), round(machine.b_, 6), round(machine.delta_, 6)
    (array([0.833333, 0.333333]), 3.333333, 1.114172)
    """

    def _dual(self, points: Points) -> DualProgram:
        return DualProgram.of(SignedKernel(points), -1.0, (points.s, 0.0), upper=np.inf, eta=1.0)

    def _solved(self, dual: DualProgram, vanishes: Callable[[], Any]) -> Solved:
        """Find the nearest points of the convex hulls; one number tells the rest: at the solution 1'a = a'Pa."""
        P, points = dual.P, dual.P.points
        nearest = DualProgram.of(P, 0.0, (points.s, 0.0), (1.0, 2.0), upper=np.inf)

        def scaled(_: DualProgram, done: Finished) -> tuple[DualProgram, Finished]:
            # rounding may have left no distance
            square = max(float(done.a @ done.Pa), (EPS * float(done.a @ P.lengths)) ** 2)
            # where the hulls meet up to rounding only, go on
            found = points.weights(P.coefficients(done.a), *P.inner(done.a, done.Pa))
            witness, k = smallest_bound(points) if found.unknown else (done.a, np.inf)
            if k < np.inf:
                raise InfeasibleProblemError(
                    "no hyperplane separates the two classes in feature space: their convex hulls meet, in the "
                    "point with the coefficients error.witness; use a soft margin or another kernel",
                    witness=2.0 * witness,
                )
            t = 2.0 * P.unit**2 / square
            return dual, done._replace(a=t * done.a, Pa=t * done.Pa)

        return hyperplanes.solve(self, [nearest], guess_by_libsvm, scaled, vanishes)
