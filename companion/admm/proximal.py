r"""Proximal operators, projections, and the rules that make new ones out of old ones.

The proximal operator of a closed proper convex function g with parameter t > 0 is

.. math:: \operatorname{prox}_{t g}(v) = \arg\min_x\; g(x) + \frac{1}{2 t} \|x - v\|_2^2 .

The text writes :math:`\mathrm{prox}_{f,\rho}` with the penalty :math:`\rho = 1/t`.

One convention holds everywhere. A *proximal operator* is a callable ``prox(v, t)``. A *projection*
is a callable ``project(v)``; :func:`prox_indicator` turns it into a proximal operator. A closed
form is a plain function whose first argument is v. Where data have to be factored first
(:func:`project_affine`, :func:`prox_quadratic`), and in the calculus rules, the function returns
the callable.

Source: Section 16.6 (Examples 16.7-16.10), Section 16.8; SP Section 2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.linalg import null_space

from companion.admm.affine import AffineSet, as_data, as_rows
from companion.arguments import check_kind, value_of
from companion.arithmetic import EPS
from companion.checks import as_array, as_matrix, as_scalar, as_symmetric, as_vector, check_count
from companion.engine.refusals import check_bounds

Prox = Callable[[np.ndarray, float], np.ndarray]
Projection = Callable[[np.ndarray], np.ndarray]


# ----------------------------------------------------------------------------------------------
# Norms and losses: plain functions prox(v, t)
# ----------------------------------------------------------------------------------------------


def soft_threshold(v: ArrayLike, c: ArrayLike) -> np.ndarray:
    r"""Soft thresholding :math:`S_c`, the proximal operator of the l1-norm with parameter c.

    .. math::
        S_c(v) &= \arg\min_x\; c \|x\|_1 + \tfrac12 \|x - v\|_2^2, \\
        (S_c(v))_i &= \begin{cases} v_i - c & v_i > c \\ 0 & |v_i| \le c \\ v_i + c & v_i < -c
        \end{cases}

    Parameters
    ----------
    v : array-like of any shape
        The point.
    c : float or array-like
        Threshold(s) >= 0: one for all entries, or an array that broadcasts to the shape of v.

    Returns
    -------
    ndarray of the shape of v

    Notes
    -----
    Source: Section 16.8. The text has two closed forms for it, :math:`(1 - c/|v|)_+ v` and
    :math:`(v - c)_+ - (-v - c)_+`. The one used here, v minus its projection onto [-c, c], is
    Moreau's identity.

    Examples
    --------
    >>> from companion.admm import soft_threshold
    >>> soft_threshold([5, 1, -3], 2)
    array([ 3.,  0., -1.])
    """
    v = as_array(v, "v")
    c = _like(c, "c", v)
    if (c < 0).any():
        raise ValueError(f"c must be >= 0, got {c.min():g}")
    return v - np.clip(v, -c, c)


def block_soft_threshold(v: ArrayLike, c: float) -> np.ndarray:
    r"""Block soft thresholding, the proximal operator of the l2-norm with parameter c.

    .. math:: \mathcal{S}_c(v) &= \arg\min_x\; c \|x\|_2 + \tfrac12 \|x - v\|_2^2 \\
              &= (1 - c / \|v\|_2)_+\, v

    Parameters
    ----------
    v : array-like of any shape
        The point; all its entries form one block.
    c : float
        Threshold >= 0.

    Returns
    -------
    ndarray of the shape of v

    Notes
    -----
    Source: Section 16.8(6), group lasso.

    Examples
    --------
    >>> from companion.admm import block_soft_threshold
    >>> block_soft_threshold([3, 4], 1), block_soft_threshold([3, 4], 5)
    (array([2.4, 3.2]), array([0., 0.]))
    """
    v, c = as_array(v, "v"), as_scalar(c, "c", at_least=0)
    size = np.linalg.norm(v)
    return (1 - c / size) * v if size > c else np.zeros_like(v)


def prox_linf_norm(v: ArrayLike, t: float) -> np.ndarray:
    r"""Proximal operator of the largest modulus :math:`g(x) = \|x\|_\infty`.

    .. math:: \operatorname{prox}_{t g}(v) = v - \Pi_{\{\|y\|_1 \le t\}}(v)

    It cuts the entries of v at a level, so that the total cut is t (or everything, where that is
    less).

    Parameters
    ----------
    v : array-like of any shape
        The point.
    t : float
        Parameter > 0.

    Returns
    -------
    ndarray of the shape of v

    Examples
    --------
    >>> from companion.admm import prox_linf_norm
    >>> prox_linf_norm([5, -4, 1], 3)
    array([ 3., -3.,  1.])
    """
    v, t = as_array(v, "v"), _parameter(t)
    size = np.abs(v)
    top = size.max(initial=0.0)
    level = max(top + _simplex_threshold((size - top).ravel(), t), 0.0)
    return np.clip(v, -level, level)


def prox_elastic_net(v: ArrayLike, t: float, *, tau: float, K: float) -> np.ndarray:
    r"""Proximal operator of the elastic net penalty :math:`g(x) = \tau \|x\|_1 + \tfrac{K}{2} \|x\|_2^2`.

    .. math:: \operatorname{prox}_{t g}(v) = S_{t \tau}(v) / (1 + t K)

    Parameters
    ----------
    v : array-like of any shape
        The point.
    t : float
        Parameter > 0.
    tau, K : float
        Weights >= 0 of the l1-norm and of half the squared norm.

    Returns
    -------
    ndarray of the shape of v

    Notes
    -----
    The penalty is that of Section 19.6.

    Examples
    --------
    >>> from companion.admm import prox_elastic_net
    >>> prox_elastic_net([5, 1, -3], 1, tau=2, K=1)
    array([ 1.5,  0. , -0.5])
    """
    t, tau, K = _parameter(t), as_scalar(tau, "tau", at_least=0), as_scalar(K, "K", at_least=0)
    return soft_threshold(v, t * tau) / (1 + t * K)


def prox_huber(v: ArrayLike, t: float, *, delta: float = 1.0) -> np.ndarray:
    r"""Proximal operator of the Huber loss.

    .. math::
        g(x) &= \sum_i h(x_i), \\
        h(x) &= \begin{cases} x^2 / 2 & |x| \le \delta \\ \delta (|x| - \delta / 2) & |x| > \delta
        \end{cases} \\
        \operatorname{prox}_{t g}(v) &= v - t\, \Pi_{[-\delta, \delta]}\bigl(v / (1 + t)\bigr)

    Parameters
    ----------
    v : array-like of any shape
        The point.
    t : float
        Parameter > 0.
    delta : float
        Where the parabola becomes a line, > 0.

    Returns
    -------
    ndarray of the shape of v

    Examples
    --------
    >>> from companion.admm import prox_huber
    >>> prox_huber([1, 5, -5], 1)
    array([ 0.5,  4. , -4. ])
    """
    v, t, delta = as_array(v, "v"), _parameter(t), as_scalar(delta, "delta", above=0)
    inside = v / (1 + t)  # v - t inside, without the cancellation
    return np.where(np.abs(inside) <= delta, inside, v - np.copysign(t * delta, v))


def prox_logistic(v: ArrayLike, t: float) -> np.ndarray:
    r"""Proximal operator of the logistic loss of margins, :math:`g(x) = \sum_i \log(1 + e^{-x_i})`.

    There is no closed form. Each entry is the root of the increasing function
    :math:`x - v - t / (1 + e^x)`, found by Newton's method to machine precision.

    Parameters
    ----------
    v : array-like of any shape
        The point.
    t : float
        Parameter > 0.

    Returns
    -------
    ndarray of the shape of v

    Notes
    -----
    For labels :math:`y_i = \pm 1` the loss :math:`\log(1 + e^{-y_i x_i})` has the proximal operator
    ``y * prox_logistic(y * v, t)``.

    Examples
    --------
    >>> from companion.admm import prox_logistic
    >>> x = prox_logistic([-2, 0, 3], 1.0)
    >>> x.round(4)
    array([-1.2268,  0.4011,  3.0454])
    """
    v, t = as_array(v, "v"), _parameter(t)
    # Convex left of 0, concave right of it: from 0, or from v > 0, all steps lead towards the root.
    x = np.maximum(v, 0.0)
    for _ in range(100):
        p = special.expit(-x)
        step = (x - v - t * p) / (1 + t * p * special.expit(x))
        x = x - step
        if (np.abs(step) <= 4 * EPS * (np.abs(x) + np.abs(v))).all():
            break
    return x


# ----------------------------------------------------------------------------------------------
# Projections: project(v), parameters by keyword
# ----------------------------------------------------------------------------------------------


def project_box(v: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> np.ndarray:
    r"""Project onto the box :math:`\{x \mid \mathrm{lower} \le x \le \mathrm{upper}\}`.

    Parameters
    ----------
    v : array-like of any shape
        The point.
    lower, upper : float or array-like
        Bounds that broadcast to the shape of v; infinite ones are allowed.

    Returns
    -------
    ndarray of the shape of v

    Raises
    ------
    InfeasibleProblemError
        If a lower bound exceeds the upper one.

    Examples
    --------
    >>> import numpy as np
    >>> from companion.admm import project_box
    >>> project_box([-2, 0.5, 7], 0, [1, 1, np.inf])
    array([0. , 0.5, 7. ])
    """
    v = as_array(v, "v")
    lower, upper = _like(lower, "lower", v, finite=False), _like(upper, "upper", v, finite=False)
    check_bounds(lower.ravel(), upper.ravel())
    return np.clip(v, lower, upper)


def project_orthant(v: ArrayLike) -> np.ndarray:
    r"""Project onto the nonnegative orthant: :math:`\Pi(v) = v_+`, the negative entries become 0.

    Parameters
    ----------
    v : array-like of any shape
        The point.

    Returns
    -------
    ndarray of the shape of v

    Notes
    -----
    Source: Example 16.8, Problem 16.3.

    Examples
    --------
    >>> from companion.admm import project_orthant
    >>> project_orthant([3, -1, 0])
    array([3., 0., 0.])
    """
    return np.maximum(as_array(v, "v"), 0.0)


def project_ball(v: ArrayLike, *, radius: float = 1.0) -> np.ndarray:
    r"""Project onto the Euclidean ball :math:`\{x \mid \|x\|_2 \le \mathrm{radius}\}`.

    Parameters
    ----------
    v : array-like of any shape
        The point.
    radius : float
        Radius >= 0.

    Returns
    -------
    ndarray of the shape of v

    Examples
    --------
    >>> from companion.admm import project_ball
    >>> project_ball([3, 4]), project_ball([1, 0], radius=2)
    (array([0.6, 0.8]), array([1., 0.]))
    """
    v, radius = as_array(v, "v"), as_scalar(radius, "radius", at_least=0)
    distance = np.linalg.norm(v)
    return v.copy() if distance <= radius else radius * (v / distance)


def project_simplex(v: ArrayLike, *, radius: float = 1.0) -> np.ndarray:
    r"""Project onto the simplex :math:`\{x \ge 0 \mid \sum_i x_i = \mathrm{radius}\}`.

    The projection is :math:`(v - \theta)_+`; sorting v finds the level theta.

    Parameters
    ----------
    v : array-like of shape (n,)
        The point, n >= 1.
    radius : float
        The sum >= 0; 1 gives the probability simplex.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from companion.admm import project_simplex
    >>> project_simplex([1.0, 0.5, -1.0])
    array([0.75, 0.25, 0.  ])
    """
    v, radius = as_vector(v, "v"), as_scalar(radius, "radius", at_least=0)
    below = v - v.max(initial=-np.inf)  # the projection does not see a constant; rounding does
    return np.maximum(below - _simplex_threshold(below, radius), 0.0)


def project_psd(V: ArrayLike) -> np.ndarray:
    r"""Project onto the positive semidefinite matrices: negative eigenvalues become 0.

    Parameters
    ----------
    V : array-like of shape (n, n)
        A matrix. Its skew part is at right angles to every symmetric matrix and drops out.

    Returns
    -------
    ndarray of shape (n, n)
        The nearest symmetric positive semidefinite matrix in the Frobenius norm.

    Examples
    --------
    >>> import numpy as np
    >>> from companion.admm import project_psd
    >>> project_psd([[0, 2], [2, 0]]).round(8)
    array([[1., 1.],
           [1., 1.]])
    """
    V = as_matrix(V, "V")
    if V.shape[0] != V.shape[1]:
        raise ValueError(f"V must be square, got shape {V.shape}")
    eigenvalues, Q = np.linalg.eigh(0.5 * (V + V.T))
    X = (Q * np.maximum(eigenvalues, 0.0)) @ Q.T
    return 0.5 * (X + X.T)


def project_affine(A: ArrayLike, b: ArrayLike) -> Projection:
    r"""Return the projection onto the affine set :math:`\{x \mid A x = b\}`.

    .. math:: \Pi(v) = v - A^+ (A v - b)

    The rows are made orthonormal once; a call costs two products with them. Rows may depend on each
    other; those that do up to rounding count as dependent, and an equation that is missed by 1e-10,
    beside b and x, counts as met. The unit of an equation does not matter.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Matrix of any rank.
    b : array-like of shape (m,)
        Right-hand side in the column space of A.

    Returns
    -------
    callable
        Of v, of shape (n,); returns its projection.

    Raises
    ------
    InfeasibleProblemError
        If no x satisfies ``A x = b``. The witness y has ``A'y = 0`` and ``y'b > 0``.

    Notes
    -----
    Source: Section 16.8(2), Problem 16.6, for A of full row rank, where
    :math:`A^+ = A^\top (A A^\top)^{-1}`.

    Examples
    --------
    >>> from companion.admm import project_affine
    >>> project = project_affine([[1, 1, 1]], [3])
    >>> project([1, 2, 6]).round(8) + 0.0
    array([-1.,  0.,  4.])
    """
    C = AffineSet(*as_data(A, b))
    return lambda v: C.project(as_vector(v, "v", C.shortest.size))


# ----------------------------------------------------------------------------------------------
# Operators that hold data: functions that return prox(v, t)
# ----------------------------------------------------------------------------------------------


def prox_indicator(project: Callable[..., np.ndarray], **parameters: Any) -> Prox:
    r"""Return the proximal operator of an indicator function: the projection, whatever t is.

    Parameters
    ----------
    project : callable
        A projection ``project(v)``.
    **parameters
        Passed on to `project`, such as ``radius=2``.

    Returns
    -------
    callable
        ``prox(v, t)``.

    Notes
    -----
    Source: Example 16.8, Problem 16.3; SP Example 2.

    Examples
    --------
    >>> from companion.admm import project_box, prox_indicator
    >>> prox = prox_indicator(project_box, lower=0, upper=1)
    >>> prox([-3, 0.5, 2], 10.0)
    array([0. , 0.5, 1. ])
    """
    check_kind(project, "project")
    return lambda v, t: value_of(lambda u: project(u, **parameters), "project", np.shape(v), v)


def prox_quadratic(
    P: ArrayLike, q: ArrayLike | None = None, A: ArrayLike | None = None, b: ArrayLike | None = None
) -> Prox:
    r"""Return the proximal operator of :math:`f(x) = \tfrac12 x^\top P x + q^\top x`, on :math:`A x = b` if given.

    Without constraints :math:`\operatorname{prox}_{t f}(v) = (I + t P)^{-1} (v - t q)`. With them
    it is the x-part of

    .. math::
        \begin{pmatrix} P + I/t & A^\top \\ A & 0 \end{pmatrix} \begin{pmatrix} x \\ y \end{pmatrix}
        = \begin{pmatrix} v/t - q \\ b \end{pmatrix} .

    The eigenvalues of P (on the null space of A) are computed once and serve every t: a call costs
    products of a matrix and a vector.

    Parameters
    ----------
    P : array-like of shape (n, n)
        Symmetric matrix, positive semidefinite (with A: on the null space of A).
    q : array-like of shape (n,), optional
        Linear part; 0 by default.
    A : array-like of shape (m, n), optional
        Constraint matrix, of any rank.
    b : array-like of shape (m,), optional
        Right-hand side; needed with A.

    Returns
    -------
    callable
        ``prox(v, t)`` for v of shape (n,).

    Raises
    ------
    InfeasibleProblemError
        If no x satisfies ``A x = b``.

    Notes
    -----
    Source: Examples 16.9 (with A = I there) and 16.10; SP Example 3, which needs P symmetric but
    does not say so. The KKT matrix of Example 16.10 is invertible only if A has full row rank; x is
    unique in any case.

    Examples
    --------
    >>> from companion.admm import prox_quadratic
    >>> prox_quadratic([[1, 0], [0, 3]], [-1, 0])([1, 4], 1.0)
    array([1., 1.])
    >>> prox_quadratic([[1, 0], [0, 3]], [-1, 0], [[1, 1]], [3])([1, 4], 1.0).round(8)
    array([1.66666667, 1.33333333])
    """
    P = as_symmetric(P, "P")
    n = P.shape[0]
    q = np.zeros(n) if q is None else as_vector(q, "q", n)
    A, b = as_rows(A, b, "A", "b", n)
    x0, N = np.zeros(n), np.eye(n)  # x = x0 + N z
    if b.size:
        C = AffineSet(A, b)
        x0, N = C.shortest, null_space(C.Q.T)
    H = N.T @ P @ N

    eigenvalues, V = np.linalg.eigh(0.5 * (H + H.T))
    if eigenvalues.min(initial=0.0) < -10 * n * EPS * np.linalg.norm(P):
        raise ValueError(
            f"P must be positive semidefinite (with A: on its null space), got the eigenvalue {eigenvalues[0]:.3g}"
        )
    eigenvalues, V = np.maximum(eigenvalues, 0.0), N @ V
    q_hat = V.T @ (q + P @ x0)

    def prox(v: ArrayLike, t: float) -> np.ndarray:
        v, t = as_vector(v, "v", n), _parameter(t)
        return x0 + V @ ((V.T @ v - t * q_hat) / (1 + t * eigenvalues))

    return prox


# ----------------------------------------------------------------------------------------------
# Calculus: proximal operators out of proximal operators
# ----------------------------------------------------------------------------------------------


def prox_conjugate(prox: Prox) -> Prox:
    r"""Return the proximal operator of the conjugate :math:`g^*`, by Moreau's identity.

    .. math:: \operatorname{prox}_{t g^*}(v) = v - t\, \operatorname{prox}_{g/t}(v / t)

    Parameters
    ----------
    prox : callable
        ``prox(v, t)`` of g.

    Returns
    -------
    callable
        ``prox(v, t)`` of the conjugate.

    Examples
    --------
    The conjugate of the l1-norm is the indicator of the box [-1, 1]:

    >>> from companion.admm import prox_conjugate, soft_threshold
    >>> prox_conjugate(soft_threshold)([3, 0.5, -2], 4.0)
    array([ 1. ,  0.5, -1. ])
    """
    prox = _checked(prox)

    def conjugate(v: np.ndarray, t: float) -> np.ndarray:
        v, t = as_array(v, "v"), _parameter(t)
        return v - t * prox(v / t, 1 / t)

    return conjugate


def prox_separable_sum(parts: Sequence[tuple[Prox, int]]) -> Prox:
    r"""Return the proximal operator of :math:`f(x) = \sum_i f_i(x_i)`, :math:`x = (x_1, \ldots, x_N)`: block by block.

    Parameters
    ----------
    parts : sequence of (prox_i, n_i)
        The proximal operator of :math:`f_i` and the length of :math:`x_i`.

    Returns
    -------
    callable
        ``prox(v, t)`` for v of length :math:`\sum_i n_i`.

    Notes
    -----
    Source: SP Lemma 2(i), where one f stands for all :math:`f_i`.

    Examples
    --------
    >>> from companion.admm import block_soft_threshold, prox_separable_sum, soft_threshold
    >>> prox = prox_separable_sum([(soft_threshold, 1), (block_soft_threshold, 2)])
    >>> prox([5, 3, 4], 1.0)
    array([4. , 2.4, 3.2])
    """
    pairs = "at least one pair (prox_i, n_i) of an operator and a length"
    check_kind(parts, "parts", pairs, lambda parts: parts and all(callable(p) for p, _ in parts))
    sizes = [check_count(n_i, f"length of part {i}") for i, (_, n_i) in enumerate(parts)]
    cuts, operators = np.cumsum(sizes)[:-1], [_checked(p) for p, _ in parts]

    def prox(v: np.ndarray, t: float) -> np.ndarray:
        v = as_vector(v, "v", sum(sizes))
        return np.concatenate([p(v_i, t) for p, v_i in zip(operators, np.split(v, cuts))])

    return prox


def prox_postcompose(prox: Prox, a: float) -> Prox:
    r"""Return the proximal operator of :math:`f(x) = a\, \phi(x) + b` with a > 0.

    .. math:: \operatorname{prox}_{t f}(v) = \operatorname{prox}_{a t \phi}(v)

    The constant b plays no part, so it is not an argument.

    Parameters
    ----------
    prox : callable
        ``prox(v, t)`` of phi.
    a : float
        Factor > 0.

    Returns
    -------
    callable
        ``prox(v, t)`` of f.

    Notes
    -----
    Source: SP Lemma 2(ii).

    Examples
    --------
    The l1-norm with the weight tau = 2, as in the lasso:

    >>> from companion.admm import prox_postcompose, soft_threshold
    >>> prox_postcompose(soft_threshold, 2)([5, 1, -3], 1.0)
    array([ 3.,  0., -1.])
    """
    prox, a = _checked(prox), as_scalar(a, "a", above=0)
    return lambda v, t: prox(v, a * _parameter(t))


def prox_precompose(prox: Prox, a: float, b: ArrayLike = 0.0) -> Prox:
    r"""Return the proximal operator of :math:`f(x) = \phi(a x + b)` with a number a != 0.

    .. math::
        \operatorname{prox}_{t f}(v) = \tfrac1a \bigl( \operatorname{prox}_{a^2 t \phi}(a v + b) - b
        \bigr)

    Parameters
    ----------
    prox : callable
        ``prox(v, t)`` of phi.
    a : float
        Factor, not 0.
    b : float or array-like of the shape of v
        Shift.

    Returns
    -------
    callable
        ``prox(v, t)`` of f.

    Notes
    -----
    Source: SP Lemma 2(iii), corrected: the parameter is multiplied by :math:`a^2`, in every
    dimension. The notes have :math:`a^n` (n the dimension), right for n = 2 only; for odd n and a <
    0 it would be negative.

    Examples
    --------
    The distance to 3 in one dimension, ``|x - 3|``:

    >>> from companion.admm import prox_precompose, soft_threshold
    >>> prox_precompose(soft_threshold, 1, -3)([5.5, 3.5], 1.0)
    array([4.5, 3. ])
    """
    prox, a = _checked(prox), as_scalar(a, "a")
    if a == 0:
        raise ValueError("a must not be 0: phi(b) is a constant")

    def composed(v: np.ndarray, t: float) -> np.ndarray:
        v = as_array(v, "v")
        shift = _like(b, "b", v)
        return (prox(a * v + shift, a * a * _parameter(t)) - shift) / a

    return composed


def prox_add_linear(prox: Prox, a: ArrayLike) -> Prox:
    r"""Return the proximal operator of :math:`f(x) = \phi(x) + a^\top x + b`.

    .. math:: \operatorname{prox}_{t f}(v) = \operatorname{prox}_{t \phi}(v - t a)

    The constant b plays no part, so it is not an argument.

    Parameters
    ----------
    prox : callable
        ``prox(v, t)`` of phi.
    a : array-like of the shape of v
        Linear part.

    Returns
    -------
    callable
        ``prox(v, t)`` of f.

    Notes
    -----
    Source: SP Lemma 2(iv).

    Examples
    --------
    >>> from companion.admm import prox_add_linear, soft_threshold
    >>> prox_add_linear(soft_threshold, [1, -1])([3, 3], 1.0)
    array([1., 3.])
    """
    prox = _checked(prox)

    def shifted(v: np.ndarray, t: float) -> np.ndarray:
        v, t = as_array(v, "v"), _parameter(t)
        return prox(v - t * _like(a, "a", v), t)

    return shifted


def moreau_envelope(
    g: Callable[[np.ndarray], float], prox: Prox
) -> Callable[[np.ndarray, float], float]:
    r"""Return the Moreau envelope :math:`M_t(v) = \min_x\; g(x) + \tfrac{1}{2t} \|x - v\|_2^2`.

    It is differentiable, has the minimisers of g, and its gradient is
    :math:`(v - \operatorname{prox}_{t g}(v)) / t`.

    Parameters
    ----------
    g : callable
        The function.
    prox : callable
        Its proximal operator ``prox(v, t)``.

    Returns
    -------
    callable
        ``M(v, t)``.

    Examples
    --------
    The envelope of the modulus is the Huber loss:

    >>> import numpy as np
    >>> from companion.admm import moreau_envelope, soft_threshold
    >>> huber = moreau_envelope(lambda x: np.abs(x).sum(), soft_threshold)
    >>> huber([0.5], 1.0), huber([3.0], 1.0)
    (0.125, 2.5)
    """
    g, prox = check_kind(g, "g"), _checked(prox)

    def envelope(v: np.ndarray, t: float) -> float:
        v, t = as_array(v, "v"), _parameter(t)
        x = prox(v, t)
        return float(value_of(g, "g", (), x) + np.sum((x - v) ** 2) / (2 * t))

    return envelope


def _checked(prox: Prox) -> Prox:
    """Return a reader's operator, with what it returns checked."""
    check_kind(prox, "prox")
    return lambda v, t: value_of(prox, "prox", np.shape(v), v, t)


def _parameter(t: float) -> float:
    return as_scalar(t, "t", above=0)


def _like(value: ArrayLike, name: str, v: np.ndarray, *, finite: bool = True) -> np.ndarray:
    """Return an array of the shape of v, or raise an error if `value` does not broadcast to it."""
    array = as_array(value, name, finite=finite)
    try:
        return np.broadcast_to(array, v.shape)
    except ValueError as error:
        shapes = f"the shape {v.shape} of v, got {array.shape}"
        raise ValueError(f"{name} must broadcast to {shapes}") from error


def _simplex_threshold(v: np.ndarray, radius: float) -> float:
    """Return theta with ``sum((v - theta)_+) = radius``, for v of shape (n,) with ``max(v) = 0``."""
    if v.size == 0:
        raise ValueError("v must have at least one entry, got length 0")
    u = np.sort(v[v >= -radius])[::-1]  # theta is not below -radius
    theta = (np.cumsum(u) - radius) / np.arange(1, u.size + 1)  # if the j largest stay positive
    return float(theta[max(int(np.sum(u > theta)), 1) - 1])
