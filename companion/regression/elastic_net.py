r"""The elastic net: ridge regression and lasso blended."""

from __future__ import annotations

from companion.checks import as_scalar
from companion.regression.lasso import L1Regression


class ElasticNet(L1Regression):
    r"""Least squares with a penalty on the squared norm and one on the sum of the absolute weights.

    .. math:: & \min_{w, b, \xi} \; \tfrac12 \|\xi\|_2^2 + \tfrac K2 \|w\|_2^2 + \tau \|w\|_1 \\
        & \text{subject to} \quad y - Xw - b\mathbf 1 = \xi

    with a free b; or without b, or with the further term :math:`\tfrac C2 b^2`. It is the lasso on the data
    :math:`\binom{\hat X}{\sqrt K I}, \binom{\hat y}{0}`, where the hats stand for centring.

    Parameters
    ----------
    K : float
        The penalty on the squared norm, >= 0. K = 0 is the lasso.
    tau : float
        The penalty on the absolute weights, >= 0. tau = 0 is ridge regression.
    intercept : {"free", "none", "penalized"}
        What happens to b. The text has a free b.
    C : float
        The penalty on b, > 0, for ``intercept="penalized"``.
    tol : float
        Tolerance of the duality gap relative to the objective.
    max_iter : int
        Largest number of linear systems.

    Attributes
    ----------
    w_ : ndarray of shape (n,)
        Weights, with exact zeros. Also ``coef_``.
    b_ : float
        Intercept. Also ``intercept_``.
    xi_ : ndarray of shape (m,)
        Residuals :math:`y - Xw - b\mathbf 1`.
    lambda_ : ndarray of shape (m,)
        The dual solution :math:`\lambda = K\mu`; equal to the residuals.
    support_ : ndarray of int
        Indices of the nonzero weights.
    tau_max_ : float
        The smallest tau with w = 0. It does not depend on K.
    unique_ : bool
        Whether w is proved to be the only solution. It always is for K > 0; but below about 1e-10 of the squared norm
        of a column, K does not tell in float64 how repeated columns share their weight, and then this is False.
    objective_ : float
        The minimum.
    n_iter_ : int
        Number of linear systems.
    certificate_ : Certificate
        Residuals and duality gap.
    n_features_in_ : int
        n.

    Raises
    ------
    ValueError
        If a penalty is negative or an option is unknown.

    Warns
    -----
    ConvergenceWarning
        If the gap misses `tol`, or the certificate its tolerance.

    Notes
    -----
    Source: Section 19.6. scikit-learn divides the objective by m: its alpha is (K + tau)/m, its l1_ratio
    tau/(K + tau). :meth:`blend` takes the text's C and theta.

    Examples
    --------
    >>> X = [[-10, 11], [-6, 5], [-2, 4], [0, 0], [1, 2], [2, -5], [6, -4], [10, -6]]
    >>> y = [0, -2.5, 0.5, -2, 2.5, -4.2, 1, 4]
    >>> model = ElasticNet(K=5, tau=10).fit(X, y)
    >>> model.w_.round(4), round(model.b_, 4), model.certificate_.ok
    (array([0.4868, 0.3943]), -0.4934, True)
    """

    @classmethod
    def blend(cls, C: float, theta: float, **options: object) -> ElasticNet:
        r"""Return the elastic net with :math:`K = C (1 - \theta)` and :math:`\tau = C \theta`.

        Parameters
        ----------
        C : float
            Size of the two penalties together, >= 0. (Not the penalty on b: ``set_params(C=...)`` sets that.)
        theta : float
            Between 0 (ridge regression) and 1 (lasso).
        **options
            The other parameters of the class.

        Examples
        --------
        >>> ElasticNet.blend(4.0, 0.25)
        ElasticNet(K=3.0)
        """
        C = as_scalar(C, "C", at_least=0)
        theta = as_scalar(theta, "theta", at_least=0, at_most=1)
        return cls(C * (1.0 - theta), C * theta, **options)  # type: ignore[arg-type]
