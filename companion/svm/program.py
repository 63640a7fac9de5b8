r"""The two classes of points as a dual program sees them, with their signs and features; and that program as matrices.

With :math:`s_i = +1` for a blue point and -1 for a red one, every dual program of the chapter has the matrix

.. math:: \mathbf K_{ij} = s_i s_j\, \kappa(x_i, x_j), \qquad \mathbf K =
    \begin{pmatrix} \kappa(u_i, u_j) & -\kappa(u_i, v_j) \\ -\kappa(v_i, u_j) & \kappa(v_i, v_j) \end{pmatrix}

when the blue points come first. The order does not matter here: points stay where they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from companion import arithmetic
from companion.arithmetic import BLOCK, EPS, Bounds, accurate_product, exact_product, largest, ratio
from companion.checks import as_vector
from companion.engine.certificate import BoxProgram, LowRank, rounding_of, rounding_of_a_sum
from companion.kernels import Gaussian, Kernel, Linear, Polynomial, Sigmoid
from companion.kernels.features import rest_of_features
from companion.kernels.given import Precomputed
from companion.results import Record

_MANY_FEATURES = 100  # explicit features are worth having up to this number, or up to one per point


class Weights(NamedTuple):
    r"""A vector w of feature space, its products with the images of the points, and what is known of their digits.

    `inner` has the products with the features from their origin on, and `shift` is the one with the origin, less the
    middle of the values of a regression. `error` bounds the rounding of `inner`, `size` is that of its terms, and
    `misfit` bounds the distance of w from :math:`\sum_i c_i \varphi(x_i)`, for the coefficients c that the multipliers
    give. Where `rest` is there, it is what rounding has taken from `inner`, and `error` bounds what else there is.
    `below` is by how much the square of the norm is negative, as it may be for a Gram matrix that rounding has made
    indefinite: the norm is 0 then, and the objective is off by half of `below`. `longest` bounds the norm.
    """

    w: np.ndarray | None
    coef: np.ndarray
    inner: np.ndarray
    error: np.ndarray
    size: np.ndarray
    norm: float
    norm_error: float
    misfit: float
    shift: float = 0.0
    rest: np.ndarray | None = None
    below: float = 0.0
    longest: float = 0.0

    def of_data(self, unit: float) -> Weights:
        """Return w as the features of the data have it, which are `unit` times those of `Points`."""
        w, coef = None if self.w is None else self.w / unit, self.coef / unit**2
        return self._replace(w=w, coef=coef, norm=self.norm / unit, misfit=self.misfit / unit)

    @property
    def unknown(self) -> bool:
        """Whether no digit of w is known."""
        return self.norm <= self.misfit or self.norm_error >= 0.5


@dataclass(frozen=True, eq=False)
class Points:
    r"""Training points, their signs, and what the kernel says about them.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The points, or a Gram matrix.
    s : ndarray of shape (n,)
        +1 for blue, -1 for red.
    kernel : Kernel
        The kernel.
    Phi : ndarray of shape (n, N) or None
        Explicit features from `origin` on, where they are known and few.
    origin : ndarray of shape (N,) or 0
        The mean of the features where b is free: :math:`s^\top a = 0` allows it, and it spares digits.
    centred : bool
        Whether the Gram matrix is that of the features from those of one point on,
        :math:`\kappa(x_i, x_j) - \kappa(x_i, x_k) - \kappa(x_k, x_j) + \kappa(x_k, x_k)`. A kernel that is only
        conditionally positive definite has no other, and where :math:`s^\top a = 0` the dual program needs no other.
        Where all features are far from the origin, no digit is lost in these differences.
    weight : ndarray of shape (n,) or float
        What the price of a point's slack is multiplied by.
    middle : float
        What is subtracted from the values of a regression, and added to b again.
    classes : ndarray of shape (2,)
        The labels of the red and of the blue points.
    unit : float
        What `Phi` and `origin` are divided by: a power of two, such that the squared lengths of linear features are
        near 1. Multipliers, their sum and their bounds are multiplied by its square, b and slacks remain. So fits of
        c X for the price K and of X for c^2 K are one computation, digit by digit, if c is a power of two.
    """

    X: np.ndarray
    s: np.ndarray
    kernel: Kernel
    Phi: Any = None
    origin: np.ndarray | float = 0.0
    centred: bool = False
    weight: np.ndarray | float = 1.0
    middle: float = 0.0
    classes: Any = (-1.0, 1.0)
    unit: float = 1.0

    @property
    def n(self) -> int:
        """Number of points, p + q."""
        return self.s.size

    @cached_property
    def classed(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the blue and of the red points."""
        return (self.s > 0).nonzero()[0], (self.s < 0).nonzero()[0]

    @cached_property
    def gram(self) -> np.ndarray:
        """The Gram matrix, which has to be real."""
        if self.Phi is not None:
            return self.Phi @ self.Phi.T
        return self.inner(np.arange(self.n)) if self.centred else self.given

    @cached_property
    def given(self) -> np.ndarray:
        """The matrix of the kernel, whose features start at the origin."""
        return _real(self.kernel(self.X), self.kernel)

    @cached_property
    def rest(self) -> np.ndarray | None:
        """What rounding has taken from the entries of `given`; None where that is not known."""
        if not isinstance(self.kernel, Gaussian):
            return None
        return arithmetic.rest_of_gaussians(self.given, self.X, self.kernel.sigma)

    @cached_property
    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """The first of each set of equal points, which have equal images, and the set that each point is in."""
        _, first, group = np.unique(self.X, axis=0, return_index=True, return_inverse=True)
        return first, group.ravel()

    @cached_property
    def middle_point(self) -> int:
        """The point that is nearest to the mean of all."""
        return int(np.argmin(self.given.diagonal() - 2.0 * self.given.mean(axis=1)))

    def inner(self, index: np.ndarray) -> np.ndarray:
        """Return the rows of the Gram matrix with these indices as a new array."""
        if self.Phi is not None:
            return self.Phi[index] @ self.Phi.T
        known = self.centred or self.kernel.is_precomputed or "given" in vars(self)
        if not known and index.size < self.n:
            return self.kernel(self.X[index], self.X)
        return self._from_middle(self.given[index], index)

    def _from_middle(self, inner: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Return entries in these rows of `given` as the Gram matrix has them."""
        if not self.centred:
            return inner
        G, k = self.given, self.middle_point
        return (inner.T - G[index, k]).T - (G[k] - G[k, k])

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The squared lengths of the features."""
        if self.Phi is not None:
            return np.einsum("ij,ij->i", self.Phi, self.Phi)
        if self.centred or self.kernel.is_precomputed or "given" in vars(self):
            return self._from_middle(self.given.diagonal(), np.arange(self.n))
        return self.kernel.diagonal(self.X).real

    @cached_property
    def lengths(self) -> np.ndarray:
        """The lengths of the features; 0 where rounding has made the square negative."""
        return np.sqrt(np.maximum(self.diagonal, 0.0))

    @cached_property
    def in_two_parts(self) -> np.ndarray:
        """The features from their origin on, and beside them what rounding has taken from these."""
        whole = np.asarray(self.kernel.features(self.X, limit=np.inf)) / self.unit
        moved = whole - self.Phi
        rest = (whole - (self.Phi + moved)) + (moved - self.origin)
        if isinstance(k := self.kernel, Polynomial):
            rest = rest + rest_of_features(whole, self.X, k.d, k.R, k.gamma)
        return np.hstack([self.Phi, rest])

    def error_of_features(self, size: np.ndarray, careful: bool, axis: int = 1) -> np.ndarray:
        """Bound what the rounding of features leaves open of their products with numbers of this size."""
        if (kernel := self.kernel).is_linear:
            return np.zeros(1)
        part = 2.0 * (kernel.d + 1) * EPS if isinstance(kernel, Polynomial) else 4.0 * EPS
        if careful and isinstance(kernel, Polynomial):
            part *= EPS
        return part * np.tensordot(np.abs(self.Phi + self.origin), size, (axis, 0))

    def direct(self, c: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the sum of the features with these coefficients, and a bound of its rounding."""
        w = exact_product(self.in_two_parts.T, c).reshape(2, -1).sum(axis=0)
        # equal points are rounded alike
        apart = c if self.distinct[0].size == self.n else self.merged(c)[0]
        left = np.linalg.norm(self.error_of_features(np.abs(apart), True, axis=0))
        return w, EPS * float(np.linalg.norm(w)) + float(left)

    def weights(self, c: np.ndarray, inner: np.ndarray, lost: Any = 0.0, careful: bool = False) -> Weights:  # fmt: skip
        r"""Return :math:`w = \sum_i c_i \varphi(x_i)`.

        Parameters
        ----------
        c : ndarray of shape (n,)
            Coefficients.
        inner : ndarray of shape (n,)
            The products of w with the images, which are computed anew where features are known.
        lost : ndarray of shape (n,)
            What rounding may have changed these by, beside that of their own terms.
        careful : bool
            Whether all sums are made anew, with one rounding each.
        """
        size, lengths = np.abs(c), self.lengths
        if self.Phi is not None and careful:
            return self.known(c, *self.direct(c), careful)
        if self.Phi is not None:
            terms = self.error_of_features(size, False, axis=0)
            terms = terms + rounding_of(c.size) * (size @ np.abs(self.Phi))
            return self.known(c, c @ self.Phi, float(np.linalg.norm(terms)))
        if careful:
            return self._of_gram(c, 0.0)
        parts = size * lengths
        error = rounding_of_a_sum(int(np.count_nonzero(c))) * float(parts.sum()) * lengths + lost
        if not self.kernel.is_precomputed:  # a matrix that was given is what it is
            error += EPS * float(np.linalg.norm(parts)) * lengths
        square, noise = float(c @ inner), float(np.linalg.norm(c * error))
        noise += EPS * float(parts @ parts)
        found = self._in_span(c, inner, error, square, noise, 0.0)
        if not self.centred:
            return found
        shift = found.shift + float(c @ self.given[self.middle_point])
        error = error + EPS * float(size.sum()) * largest(self.given)
        return found._replace(shift=shift, error=error)

    def _of_gram(self, c: np.ndarray, misfit: float, rest: np.ndarray | None = None) -> Weights:
        """Return the weights with these coefficients, and products that are rounded once.

        `rest` is what rounding has taken from the matrix.
        """
        used = np.flatnonzero(c)
        M = self.inner(used).T if used.size and not self.centred else self.given[:, used]
        entry = 0.0 if self.kernel.is_precomputed or rest is not None else EPS
        error = entry * np.sqrt(M**2 @ c[used] ** 2)
        M = M if rest is None else np.hstack([M, rest[:, used]])
        inner, left, lost = accurate_product(M, np.resize(c[used], M.shape[1]))
        noise = 2.0 * float(np.abs(c) @ (EPS * np.abs(inner) + lost))
        noise += entry * float(c**2 @ np.maximum(self.diagonal, 0.0))
        square = math.fsum(c * inner)
        return self._in_span(c, inner, error + lost, square, noise, misfit)._replace(rest=left)

    def _in_span(
        self, c: np.ndarray, inner: np.ndarray, error: np.ndarray, square: float, noise: float, misfit: float
    ) -> Weights:  # fmt: skip
        """Return the weights with these coefficients, products and squared norm."""
        norm, part = math.sqrt(max(square, 0.0)), 0.5 * float(ratio(noise, max(square, 0.0)))
        below, longest = max(-square, 0.0), math.sqrt(abs(square) + noise)
        size, shift = norm * self.lengths, -self.middle
        return Weights(None, c, inner, error, size, norm, part, misfit, shift, None, below, longest)

    def known(self, c: np.ndarray, w: np.ndarray, misfit: float, careful: bool = False) -> Weights:
        """Return the weights w of explicit features."""
        size, norm = np.abs(self.Phi) @ np.abs(w), float(np.linalg.norm(w))
        origin, rest, inner = w * 0.0 + self.origin, None, self.Phi @ w
        terms = np.append(origin, -self.middle)[None]
        shift, left = (float(part[0]) for part in accurate_product(terms, np.append(w, 1.0))[:2])
        error = rounding_of(w.size) * size + EPS * abs(shift)
        if careful:
            features = np.column_stack([self.in_two_parts, np.ones(self.n)])
            inner, rest, lost = accurate_product(features, np.concatenate([w, w, [left]]))
            error = 0.0 * size + lost
        error = error + self.error_of_features(np.abs(w), careful)
        part = float(ratio(misfit, norm))
        return Weights(w, c, inner, error, size, norm, part, misfit, shift, rest)

    def basis(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return features of which there are few: those of the kernel, or a pivoted Cholesky factor of the Gram matrix.

        Returns
        -------
        F : ndarray of shape (n, r)
            The features. Those of a factor are orthogonal to the ones before in the order of the pivots.
        pivots : ndarray of shape (r,)
            The points whose images span them; none where the kernel has features.
        T : ndarray of shape (r, r)
            The lower triangular matrix with rows ``F[pivots]``.
        """
        if self.Phi is not None:
            return self.Phi, np.zeros(0, dtype=int), np.zeros((0, 0))
        noise = self.n * EPS * largest(self.given)
        first, group = self.distinct
        L, order, rank, _ = dpstrf(self.gram[np.ix_(first, first)], tol=noise, lower=1)
        F = np.empty((first.size, rank))
        F[order - 1] = np.tril(L)[:, :rank]
        pivots = order[:rank] - 1
        return F[group], first[pivots], F[pivots]

    def carried(self, w: np.ndarray, pivots: np.ndarray, T: np.ndarray, c: np.ndarray) -> Weights:
        """Return the weights w of the features of `basis`, beside the coefficients c that the multipliers give."""
        if self.Phi is not None:
            direct, misfit = self.direct(c)
            misfit += float(np.linalg.norm(w - direct)) + EPS * float(np.linalg.norm(w))
            return self.known(c, w, misfit, careful=True)._replace(norm_error=rounding_of(w.size))
        coef = np.zeros(self.n)
        coef[pivots] = solve_triangular(T, w, lower=True, trans="T")
        if self.centred:
            coef[self.middle_point] -= coef.sum()
        return self.beside(coef, c)

    def beside(self, coef: np.ndarray, c: np.ndarray) -> Weights:
        """Return the weights with these coefficients, beside those that the multipliers give."""
        apart = self._of_gram(self.merged(coef, -c)[0], 0.0, self.rest)
        # where rounding has made the matrix indefinite, the square may be negative: it proves nothing either
        return self._of_gram(coef, apart.longest, self.rest)

    def merged(self, *parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of coefficients, with those of equal points at the first of them, and its rounding."""
        first, group = self.distinct
        same = np.equal.outer(np.arange(first.size), group).astype(float)
        total, rest = np.zeros((2, self.n))
        found = accurate_product(np.hstack([same] * len(parts)), np.concatenate(parts))
        total[first], rest[first] = found[:2]
        return total, rest

    def rounded(self, c: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return coefficients near c + step, so rounded that w misses little."""
        total, rest = self.merged(c, step)
        used = np.flatnonzero(total)
        G = self.gram[np.ix_(used, used)]
        total[used] = arithmetic.rounded_together(G, total[used], rest[used])
        return total


class SignedKernel:
    r"""The matrix P of a dual program: :math:`s_i s_j (\kappa(x_i, x_j) + 1) + \frac1{2K}\delta_{ij}`, row by row.

    The term :math:`ss^\top` is the kernel :math:`\kappa + 1`: the constant is one more feature. A tube has each point
    twice, with the multipliers :math:`(\lambda, \mu)`: as a point of its lower margin, and as one of its upper margin.

    Parameters
    ----------
    points : Points
    penalize_b : bool
        Whether the 1 is there.
    ridge : float
        The multiple of the identity.
    tube : bool
        Whether the program is that of a tube, where :math:`w = \sum_i (\mu_i - \lambda_i) \varphi(x_i)`.
    """

    def __init__(
        self, points: Points, *, penalize_b: bool = False, ridge: float = 0.0, tube: bool = False
    ) -> None:
        self.points, self.m, self.unit = points, points.n, points.unit
        self.copies = 2 if tube else 1
        self.s = np.repeat([1.0, -1.0], self.m) if tube else points.s
        self.sign = -self.s if tube else self.s  # of each multiplier in w
        self.constant, self.ridge = 1.0 if penalize_b else 0.0, ridge / self.unit**2
        self.shape = (self.s.size, self.s.size)
        self.product = None if points.Phi is None else self._by_weights

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return the rows with these indices as a new array."""
        R = self.points.inner(index % self.m)
        R += self.constant
        R = self.doubled(R)
        R *= self.sign
        R *= self.sign[index, None]
        R[np.arange(index.size), index] += self.ridge
        return R

    def doubled(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the points as those of the multipliers."""
        return values if self.copies == 1 else np.concatenate([values, values], axis=-1)

    def coefficients(self, a: np.ndarray) -> np.ndarray:
        """Return the coefficients of w for the multipliers a."""
        return (self.sign * a).reshape(self.copies, self.m).sum(axis=0)

    def separate(self, a: np.ndarray) -> np.ndarray:
        r"""Return the multipliers with these coefficients of which a point has at most one that is positive."""
        return np.maximum(self.signed(self.coefficients(a)), 0.0)

    def signed(self, inner: np.ndarray) -> np.ndarray:
        """Return the products of w with the images of the points as the rows of the program have them."""
        return self.sign * self.doubled(inner)

    def inner(self, a: np.ndarray, Pa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the products of w with the images of the points from P a; and the rounding of what is not in them."""
        values = (self.sign * (Pa - self.ridge * a))[: self.m]
        lost = rounding_of(a.size) * (self.constant * float(a.sum()) + self.ridge * a[: self.m])
        return values - float(self.sign @ a) if self.constant else values, lost

    def _by_weights(self, a: np.ndarray) -> np.ndarray:
        """Return P a from the weights w."""
        Phi, c = self.points.Phi, self.coefficients(a)
        return self.signed(Phi @ (c @ Phi) + self.constant * float(c.sum())) + self.ridge * a

    def diagonal(self) -> np.ndarray:
        """Return the diagonal."""
        return self.doubled(self.points.diagonal + (self.constant + self.ridge))

    @cached_property
    def lengths(self) -> np.ndarray:
        """The roots of the diagonal; 0 where rounding has made it negative."""
        return np.sqrt(np.maximum(self.diagonal(), 0.0))

    def factor(self) -> LowRank | None:
        """Return P by its factor, if that has at most half as many columns as there are points."""
        Phi = self.points.Phi
        if Phi is None or Phi.shape[1] > self.m // 2:
            return None
        F = np.column_stack([Phi, np.ones(self.m)]) if self.constant else Phi
        return LowRank(np.tile(F, (self.copies, 1)) * self.sign[:, None], self.ridge)

    def toarray(self) -> np.ndarray:
        """Return the whole matrix."""
        return self.rows(np.arange(self.s.size))

    def for_libsvm(self) -> tuple[np.ndarray, dict[str, Any]]:
        """Return features, or the Gram matrix with what a program adds to it, and the kernel as libsvm calls it."""
        points, options = self.points, kernel_options(self.points.kernel)
        changed = points.centred or self.constant or self.ridge
        few = points.Phi is not None and points.Phi.shape[1] ** 2 <= points.n
        if (few or points.kernel.is_linear) and not changed:
            return points.Phi, {"kernel": "linear"}
        if points.n**2 > BLOCK and options["kernel"] in ("poly", "rbf") and not changed:
            return points.X, options
        # libsvm is faster with the matrix, and its rows will be needed again
        G = points.given if points.Phi is None else points.gram
        G = G + self.ridge * np.eye(points.n) if self.ridge else G
        return self.toarray() if self.constant else G, {"kernel": "precomputed"}


def snap(a: np.ndarray, upper: Bounds, lengths: np.ndarray) -> np.ndarray:
    """Return the multipliers with those moved to a bound that differ from it by rounding only.

    A small multiplier of a long feature stays if its part of w is no rounding.
    """
    parts, tiny = a * lengths, arithmetic.ROUNDING
    a = np.where((a <= tiny * largest(a)) & (parts <= tiny * largest(parts)), 0.0, a)
    return np.where(a >= (1.0 - tiny) * upper, upper, a)  # an infinite bound is never met


_OPTIONS: dict[type[Kernel], Callable[[Any], dict[str, Any]]] = {
    Linear: lambda k: {"kernel": "linear"},
    Polynomial: lambda k: {"kernel": "poly", "degree": k.d, "gamma": k.gamma, "coef0": k.R},
    Gaussian: lambda k: {"kernel": "rbf", "gamma": 0.5 / k.sigma**2},
    Sigmoid: lambda k: {"kernel": "sigmoid", "gamma": k.a, "coef0": k.b},
    Precomputed: lambda k: {"kernel": "precomputed"},
}


def kernel_options(kernel: Kernel) -> dict[str, Any]:
    """Return scikit-learn's names for a kernel; a kernel without a name is passed as a function."""
    return _OPTIONS.get(type(kernel), lambda k: {"kernel": k})(kernel)


def as_signs(y: Any, n: int | None = None) -> np.ndarray:
    """Return labels that have to be +1 and -1."""
    y = as_vector(y, "y", n)
    wrong = y[(y != 1.0) & (y != -1.0)]
    if wrong.size:
        raise ValueError(f"y must hold +1 and -1, got {float(wrong[0])!r}")
    return y


def make_points(
    X: np.ndarray, s: np.ndarray, kernel: Kernel, free_b: bool = False, weight: Any = 1.0
) -> Points:
    """Collect what a dual program needs to know about the training points."""
    Phi = kernel.features(X, limit=np.inf if kernel.is_linear else max(len(X), _MANY_FEATURES))
    if Phi is not None and not np.isfinite(largest(_real(Phi, kernel))):
        raise ValueError(f"the features of {kernel!r} overflow at these points; scale them down")
    if Phi is None or not free_b:
        return Points(X, s, kernel, Phi, weight=weight)
    part = np.broadcast_to(weight, len(X)) > 0.0  # a point that costs nothing may be far away
    mean, raw = Phi[part].mean(axis=0), float(np.einsum("ij,ij->", Phi[part], Phi[part]))
    Phi = Phi - mean
    square = float(np.einsum("ij,ij->", Phi[part], Phi[part]))
    if square <= raw * rounding_of(len(Phi)) ** 2:  # equal points: what is left of them is rounding
        square = raw
    unit = math.ldexp(1.0, math.frexp(square / len(Phi))[1] // 2) if kernel.is_linear else 1.0
    return Points(X, s, kernel, Phi / unit, mean / unit, weight=weight, unit=unit)


def _real(values: np.ndarray, kernel: Kernel) -> np.ndarray:
    if np.iscomplexobj(values):
        raise ValueError(f"a support vector machine needs a real kernel, got {kernel!r}")
    return values


class DualProgram(Record):
    r"""The program ``min 1/2 a'Pa + q'a  s.t. A a = c, 0 <= a <= upper`` for the multipliers a = (lambda, mu).

    Parameters
    ----------
    P : ndarray of shape (n, n)
        The matrix of signed inner products, and what the program adds to it. (Inside the package: its rows on demand.)
    q : ndarray of shape (n,)
        Of a machine: zero, or -1 in the programs without nu. Of a tube: (y, -y), plus epsilon where it is fixed.
    A : ndarray of shape (m, n)
        The rows :math:`s^\top`, where b is free, and :math:`\mathbf 1^\top`, where :math:`\eta` or :math:`\epsilon` is.
    c : ndarray of shape (m,)
        Right-hand sides.
    upper : float or ndarray of shape (n,)
        Bound of the multipliers: K or C/m, or infinity where slacks are squared or absent; with weights one of each.
    price : float or ndarray of shape (n,), optional
        The text's K, :math:`K_s` or C: what the primal objective has the slacks multiplied by.
    eta : float, optional
        The :math:`\eta` (or :math:`-\epsilon`) that the program is for, where it is no variable, and the sum of the
        multipliers no equation.
    largest_sum : float
        What their sum may not exceed, where no equation says it: in a tube whose :math:`\epsilon` is 0.

    Examples
    --------
    >>> from companion.datasets import xor
    >>> from companion.svm import SVMs2
    >>> program = SVMs2(K=1.0).dual_program(xor().X, xor().y)
    >>> P, q, A, c = program.standard_form()
    >>> A.astype(int)
    array([[ 1,  1, -1, -1,  0,  0,  0,  0],
           [ 1,  0,  0,  0,  1,  0,  0,  0],
           [ 0,  1,  0,  0,  0,  1,  0,  0],
           [ 0,  0,  1,  0,  0,  0,  1,  0],
           [ 0,  0,  0,  1,  0,  0,  0,  1]])
    """

    P: Any
    q: np.ndarray
    A: np.ndarray
    c: np.ndarray
    upper: Any
    price: Any = field(default=None, repr=False)
    eta: float | None = field(default=None, repr=False)
    largest_sum: float = field(default=math.inf, repr=False)

    @classmethod
    def of(
        cls, P: Any, q: Any, *equations: tuple[Any, float], upper: Bounds, price: Bounds | None = None,
        eta: float | None = None,
    ) -> DualProgram:  # fmt: skip
        """Return the program with these equations, each a row and its right-hand side; a number stands for a vector.

        Right-hand sides and bounds are those of the data; P may have another unit.
        """
        n, square = P.shape[0], getattr(P, "unit", 1.0) ** 2
        A = np.array([np.full(n, row) for row, _ in equations], dtype=float).reshape(-1, n)
        c = np.array([side * square for _, side in equations], dtype=float)
        return cls(P, np.full(n, q, dtype=float), A, c, upper * square, price, eta)

    @property
    def total(self) -> float:
        """The sum of the multipliers of the data, infinite where no equation says what it is."""
        unit = getattr(self.P, "unit", 1.0)
        return float(self.c[-1]) / unit**2 if self.eta is None else math.inf

    def terms(self, norm: float, b: float, eta: float, slack: np.ndarray) -> tuple[float, ...]:
        """Return the terms of the primal objective: those of w, b and the width, and what the slacks cost."""
        square, cost = self.P.unit**2, 0.0
        if self.P.ridge:
            cost = float(slack @ slack) / (2.0 * self.P.ridge * square)
        elif self.price is not None:
            cost = float((np.ravel(self.upper)[: slack.size] * slack).sum()) / square
        width = 0.0 if self.eta is not None else -self.total * eta
        return 0.5 * norm * norm, 0.5 * b * b, width, cost

    def in_box(self) -> BoxProgram:
        """Return the program as the engine has it."""
        zero = np.zeros(self.q.size)
        return BoxProgram(self.P, self.q, self.A, self.c, zero, zero + self.upper)

    def in_units(self, P: Any) -> tuple[BoxProgram, float, float]:
        """Return the program in units in which multipliers and gradients are near 1, and these units.

        `P` is the matrix as an array or by its factor.
        """
        size, slope = float(P.diagonal().mean()) or 1.0, largest(self.q)
        natural = slope / size if slope else largest(self.c) / self.q.size
        t = min(float(np.max(self.upper)), natural) or 1.0
        t = math.ldexp(1.0, math.frexp(t)[1])
        g = math.ldexp(1.0, math.frexp(max(slope, t * size))[1])
        root = np.full(self.q.size, math.sqrt(t / g))
        box, P = self.in_box(), P.scaled(root) if isinstance(P, LowRank) else P * (t / g)
        return box._replace(P=P, q=box.q / g, b=box.b / t, upper=box.upper / t), t, g

    def standard_form(
        self, gamma: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        r"""Return P, q, A, c of the text's form ``A x = c, x >= 0``, for :func:`companion.admm.qsolve1`.

        A finite upper bound becomes n slack variables :math:`(\alpha, \beta)` and n equations
        :math:`\lambda + \alpha = K \mathbf 1`, :math:`\mu + \beta = K \mathbf 1`.

        Parameters
        ----------
        gamma : bool
            False: the sum of the multipliers is an equation (the text's :math:`A_2`, and :math:`A_3` with b
            penalized). For :math:`\nu \le 1` that changes no optimal value (with a tube's squared slacks it may); for
            a larger :math:`\nu` a tube may get :math:`\epsilon < 0`. True: one more variable :math:`\gamma \ge 0` is
            added to that sum (the text's A).

        Raises
        ------
        ValueError
            If `gamma` is asked for where the program has no such equation.
        """
        if gamma and not (self.A[-1:] == 1.0).all(axis=1).any():
            raise ValueError("gamma is the multiplier of eta >= 0 or epsilon >= 0, which are fixed")
        m, n = self.A.shape
        slacks = n if np.isfinite(self.upper).all() else 0
        N = n + slacks + int(gamma)
        P, q, A = np.zeros((N, N)), np.zeros(N), np.zeros((m + slacks, N))
        P[:n, :n], q[:n], A[:m, :n] = self.P, self.q, self.A
        A[m:, :n], A[m:, n : n + slacks] = np.eye(slacks, n), np.eye(slacks)
        if gamma:
            A[m - 1, -1] = 1.0
        return P, q, A, np.concatenate([self.c, np.full(slacks, self.upper)])
