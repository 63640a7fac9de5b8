"""A convex quadratic program, and the proof that a point solves it: a bound of its distance from the optimal value."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from companion.arithmetic import CANCELS, EPS, Bounds, beyond, exact_product, largest, ratio
from companion.checks import as_matrix, as_vector, count_axes
from companion.records import Record


class Certificate(Record):
    """Four relative residuals that are all zero exactly at a solution: what proves an answer.

    Parameters
    ----------
    primal_residual : float
        How far the point is from satisfying the constraints, each in the unit of its own terms.
    dual_residual : float
        How far the multipliers are from satisfying the stationarity condition, each column in its own unit.
    complementarity : float
        Largest product of a slack and its multiplier, relative to the terms of the objective.
    gap : float
        A bound of the objective's distance from the optimal value, relative to the same terms.
    tolerance : float
        What each of the four is compared with.
    """

    primal_residual: float
    dual_residual: float
    complementarity: float
    gap: float
    tolerance: float

    @property
    def worst(self) -> float:
        """The largest of the four residuals."""
        each = self.primal_residual, self.dual_residual, self.complementarity, self.gap
        return math.inf if any(map(math.isnan, each)) else max(each)

    @property
    def ok(self) -> bool:
        """Whether all four residuals are within the tolerance."""
        return bool(self.worst <= self.tolerance)

    def _rows(self) -> list[tuple[str, str]]:
        t = self.tolerance
        rows = [(n, "ok" if v <= t else beyond(v, t)[0]) for n, v in vars(self).items()]
        return [*rows[:-1], ("tolerance", beyond(math.inf, t)[1]), ("ok", str(self.ok))]

    def __str__(self) -> str:
        if self.ok:
            return f"every residual <= {beyond(math.inf, self.tolerance)[1]}"
        return f"worst residual {beyond(self.worst, self.tolerance)[0]}"


def rounding_of(n: int) -> float:
    """Return what part of the absolute values of its n terms rounding may leave of a sum that vanishes."""
    return 8.0 * EPS * (1.0 + math.sqrt(n))


class LowRank:
    r"""The positive semidefinite matrix :math:`P = G G^\top + \operatorname{diag}(d)`.

    A linear kernel on `n` points of dimension `r` gives such a matrix: with the labelled points
    :math:`s_i x_i` as the rows of `G`, :math:`P_{ij} = s_i s_j \langle x_i, x_j \rangle`. Everything
    that a solver needs costs `n r` or `n r^2`, and memory stays proportional to `G`.

    Parameters
    ----------
    G : array-like of shape (n, r)
        The factor.
    diagonal : float or array-like of shape (n,), optional
        The nonnegative numbers `d`; a scalar stands for a multiple of the identity.

    Raises
    ------
    ValueError
        If `diagonal` has a negative entry, or a shape or an entry is not acceptable.

    Examples
    --------
    >>> import numpy as np
    >>> P = LowRank([[1.0], [2.0]], diagonal=0.5)
    >>> P.toarray()
    array([[1.5, 2. ],
           [2. , 4.5]])
    >>> P @ np.array([1.0, 1.0])
    array([3.5, 6.5])
    """

    __array_ufunc__ = None  # let x @ P raise instead of building an array of objects

    def __init__(self, G: np.ndarray, diagonal: float | np.ndarray = 0.0) -> None:
        self.G = as_matrix(G, "G")
        n, one = len(self.G), count_axes(diagonal, "diagonal") == 0
        d = as_vector(diagonal, "diagonal", 1 if one else n)
        self.d, self.shape = np.full(n, d[0]) if one else d, (n, n)
        if (self.d < 0.0).any():
            i = int(np.argmin(self.d))
            raise ValueError(f"diagonal must be nonnegative, got {self.d[i]:g} at [{i}]")

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        d = self.d if np.ndim(x) == 1 else self.d[:, None]
        return np.asarray(self.G @ (self.G.T @ x) + d * x)

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of the matrix."""
        return np.asarray(np.einsum("ij,ij->i", self.G, self.G) + self.d)

    def toarray(self) -> np.ndarray:
        """Return the matrix itself, of shape (n, n)."""
        dense = self.G @ self.G.T
        dense[np.diag_indices_from(dense)] += self.d
        return np.asarray(dense)

    def block(self, index: np.ndarray) -> np.ndarray:
        """Return the principal submatrix with these indices."""
        return np.asarray(self.G[index] @ self.G[index].T + np.diag(self.d[index]))

    def scaled(self, t: np.ndarray) -> LowRank:
        """Return the matrix whose rows and columns are those of this one times t."""
        return LowRank(self.G * t[:, None], self.d * t**2)


Matrix = np.ndarray | LowRank


class BoxProgram(NamedTuple):
    """The program ``min 1/2 x'Px + q'x  s.t. A x = b, lower <= x <= upper``, with bounds that may be infinite.

    P is a positive semidefinite ndarray of shape (n, n) or a `LowRank` one, A has shape (p, n); the others are vectors.
    """

    P: Any
    q: np.ndarray
    A: Any
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def bound_multipliers(
    gradient: np.ndarray, x: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the multipliers of ``lower <= x <= upper`` that a gradient of the Lagrangian asks for.

    Parameters
    ----------
    gradient : ndarray of shape (n,)
        :math:`P x + q + A^\top y`.
    x, lower, upper : ndarray of shape (n,)
        The point and its bounds.

    Returns
    -------
    z_lower, z_upper : ndarray of shape (n,)
        Positive and negative part of the gradient, where `x` is equal to that bound; zero elsewhere.

    Examples
    --------
    >>> bound_multipliers(np.array([2.0, -3.0, 0.5]), np.array([0.0, 1.0, 0.5]), np.zeros(3), np.ones(3))
    (array([2., 0., 0.]), array([0., 3., 0.]))
    """
    z_lower = np.where(x == lower, np.maximum(gradient, 0.0), 0.0)
    return z_lower, np.where(x == upper, 0.0 - np.minimum(gradient, 0.0), 0.0)


def absolute_product(P: Matrix, size: np.ndarray) -> np.ndarray:
    r"""Return :math:`|P| |x|`, the size of the terms of each entry of P x, or a bound of it if P is not an array."""
    if isinstance(P, np.ndarray):
        return np.asarray(np.abs(P) @ size)
    roots = np.sqrt(np.maximum(P.diagonal(), 0.0))
    return np.asarray(roots * float(roots @ size))


def certify(
    program: BoxProgram, x: np.ndarray, y: np.ndarray, z_lower: np.ndarray, z_upper: np.ndarray,
    tolerance: float = 1e-9, Px: np.ndarray | None = None,
) -> Certificate:  # fmt: skip
    r"""Prove that x solves a program, or say by how much it may fail.

    Parameters
    ----------
    program : BoxProgram
        With a positive semidefinite P.
    x : ndarray of shape (n,)
    y : ndarray of shape (p,)
        Multipliers of ``A x = b``.
    z_lower, z_upper : ndarray of shape (n,)
        Multipliers of the bounds.
    tolerance : float
        What each residual is compared with.
    Px : ndarray of shape (n,), optional
        The product of P and x, where it is known.

    Returns
    -------
    Certificate
        With the gradient :math:`g = P x + q + A^\top y` and the residual :math:`e = g - z_\ell + z_u`,

        - ``primal_residual``: the largest over the rows of :math:`|a_i^\top x - b_i|` divided by
          :math:`\max(\sum_j |a_{ij} x_j|, |b_i|)`, and over the variables of what they are outside of a bound by,
          divided by :math:`\max(|x_j|, |\text{bound}|)`;
        - ``dual_residual``: the largest :math:`|e_j|` divided by :math:`|P x|_j + |q_j| + \sum_i |a_{ij} y_i|`, the
          terms of its own column (where :math:`P x` is all that there is, by :math:`(|P| |x|)_j`, its terms);
        - ``gap``: a bound of :math:`f(x) - f^*`, see below, divided by :math:`\tfrac12 x^\top P x + |q|^\top |x|`
          (where q and y vanish, and :math:`f^* = 0` with them, by :math:`\tfrac12 |x|^\top |P| |x|`; where x vanishes,
          by :math:`\sum_j |q_j| \min(|q_j| / P_{jj}, |\text{bound}|)`, what the variables would have alone);
        - ``complementarity``: the largest :math:`(x - \ell)_j (z_\ell)_j` or :math:`(u - x)_j (z_u)_j` divided by the
          same.

    Notes
    -----
    Convexity gives, for every z >= 0 and with :math:`s_j` for the bound that :math:`e_j` pushes :math:`x_j` to,

    .. math::

        f(x) - f^* \le |y|^\top |A x - b| + z_\ell^\top (x - \ell) + z_u^\top (u - x) + \sum_j |e_j| |x_j - s_j|.

    No term is negative, so none hides another; and none changes with the unit of a variable or of a row. Where that
    bound is infinite the program asks for :math:`e_j = 0`, and ``dual_residual`` says how well that holds. A negative
    multiplier, or one of an infinite bound, counts as zero here, and its size as an :math:`e_j` there.

    What rounding may have changed a number by is added to it, that of the objective itself to the gap. Where terms
    cancel in a column, its :math:`e_j` is computed once more, exactly but for one rounding.

    A bound that is far away would make much of an :math:`e_j` of one rounding. So the multipliers may be judged at a
    point :math:`x + d` next to x, where e vanishes: the bound is that of this e, and :math:`\tfrac12 d^\top P d`.

    Examples
    --------
    The minimum of ``x1^2 + x2^2`` on ``x1 + x2 = 1`` is (1/2, 1/2), with multiplier -1.

    >>> zero, free = np.zeros(2), np.full(2, np.inf)
    >>> program = BoxProgram(2 * np.eye(2), zero, np.ones((1, 2)), np.ones(1), -free, free)
    >>> certify(program, np.array([0.5, 0.5]), np.array([-1.0]), zero, zero).ok
    True
    >>> wrong = certify(program, np.array([0.6, 0.4]), np.array([-1.0]), zero, zero)
    >>> round(wrong.dual_residual, 3), round(wrong.primal_residual, 3)
    (0.111, 0.0)
    """
    P, q, A, b, lower, upper = program
    unit, rounding = rounding_of(q.size), rounding_of_a_sum(q.size + b.size)
    with np.errstate(all="ignore"):
        Px = P @ x if Px is None else Px
        size, absolute, prices = np.abs(x), np.abs(A), np.abs(y)
        magnitude = absolute_product(P, size)
        constants = np.abs(q) + prices @ absolute
        scale = np.where(constants > 0.0, np.abs(Px) + constants, magnitude)
        value = 0.5 * abs(float(x @ Px)) + float(np.abs(q) @ size)
        if not value:
            width = np.maximum(np.abs(lower), np.abs(upper))
            alone = np.minimum(ratio(np.abs(q), np.maximum(P.diagonal(), 0.0)), width)
            value = float(np.abs(q) @ np.where(np.isfinite(alone), alone, 0.0))
        elif not (y.any() or np.abs(q) @ size):
            value = 0.5 * float(size @ magnitude)

        row_terms = np.maximum(absolute @ size, np.abs(b))
        miss = np.abs(A @ x - b) + rounding * row_terms
        primal, gap = relative(miss, row_terms), float(prices @ miss)

        products, z, illegal = 0.0, np.zeros(q.size), np.zeros(q.size)
        sides = (lower, x - lower, z_lower, -1.0), (upper, upper - x, z_upper, 1.0)
        for bound, slack, multiplier, sign in sides:
            legal = np.where(np.isfinite(bound), np.maximum(multiplier, 0.0), 0.0)
            z, illegal = z + sign * legal, np.maximum(illegal, np.abs(multiplier - legal))
            product = np.abs(legal * np.where(legal > 0.0, slack, 0.0))
            products, gap = max(products, largest(product)), gap + float(product.sum())
            span = np.maximum(size, np.abs(bound))
            primal = max(primal, relative(np.maximum(-slack, 0.0), span))
        lost = rounding_of_the_square(P, x, Px, magnitude)
        gap += lost + unit * value  # what rounding does to the objective itself

        e, noise = Px + q + y @ A + z, rounding * (magnitude + constants)
        dual, gain = relative(np.abs(e) + noise + illegal, scale), _gain(program, x, e, noise, z)
        if max(dual, ratio(gap + gain, value)) > tolerance:
            e = _exactly(program, x, y, z)
            noise = EPS * np.abs(e)
            dual = relative(np.abs(e) + noise + illegal, scale)
            gain = _gain(program, x, e, noise, z)
            if ratio(gap + gain, value) > tolerance:
                gain = min(gain, _gain_nearby(program, x, e, noise, z))
        gap += gain
        finite = math.isfinite(gap + value + dual + primal)
    if not finite:
        return Certificate(np.inf, np.inf, np.inf, np.inf, tolerance)
    return certify_terms(products, gap, value, tolerance, primal=primal, dual=dual)


def accurate_square(P: Any, x: np.ndarray, Px: np.ndarray) -> float:
    """Return x'P x; with the products of P and x rounded once where too many digits cancel in them."""
    if _cancels(x, Px, absolute_product(P, np.abs(x))):
        if isinstance(P, np.ndarray):
            Px = exact_product(P, x)
        else:
            w = exact_product(P.G.T, x)
            return math.fsum((*(w * w), *(P.d * x * x)))
    return float(x @ Px)


def _cancels(x: np.ndarray, Px: np.ndarray, magnitude: np.ndarray) -> bool:
    return float(np.abs(x) @ magnitude) > CANCELS * float(np.abs(x) @ np.abs(Px))


def rounding_of_the_square(P: Any, x: np.ndarray, Px: np.ndarray, magnitude: np.ndarray) -> float:
    """Return by how much rounding may have changed half of what :func:`accurate_square` returns."""
    size = np.abs(x)
    terms = size @ np.abs(Px) if _cancels(x, Px, magnitude) else size @ magnitude
    return rounding_of_a_sum(x.size) * float(terms)


def _exactly(program: BoxProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return P x + q + A'y + z, each entry rounded once."""
    P, q, A, *_ = program
    if isinstance(P, np.ndarray):
        parts = [(P, x)]
    else:  # w = G'x is rounded twice: the second number is what the first one misses
        w = exact_product(P.G.T, x)
        rest = exact_product(np.column_stack([P.G.T, -w]), np.append(x, 1.0))
        parts = [(P.G, w), (P.G, rest), (P.d[:, None], x[:, None])]
    one = np.ones((q.size, 1))
    parts += [(A.T, y), (q[:, None], one), (z[:, None], one)]
    factors = [np.broadcast_to(numbers, rows.shape) for rows, numbers in parts]
    return exact_product(np.hstack([rows for rows, _ in parts]), np.hstack(factors))


def _gain(
    program: BoxProgram, x: np.ndarray, e: np.ndarray, noise: np.ndarray, z: np.ndarray
) -> float:
    """Return a bound of what e gains within the box; a larger multiplier z of the bound where x is takes it up."""
    total, nearest = np.zeros(e.size), np.full(e.size, np.inf)
    for sign, gain in ((1.0, np.abs(x - program.lower)), (-1.0, np.abs(program.upper - x))):
        pushed = np.maximum(sign * e + noise, 0.0)
        total += np.where(np.isfinite(gain) & (pushed > 0.0), pushed * gain, 0.0)
        nearest = np.minimum(nearest, gain)
    taken = np.abs(e) + noise
    return float(np.where(taken < np.abs(z), np.minimum(total, taken * nearest), total).sum())


def _gain_nearby(
    program: BoxProgram, x: np.ndarray, e: np.ndarray, noise: np.ndarray, z: np.ndarray
) -> float:
    r"""Return that bound for the multipliers at x + d, with :math:`\tfrac12 d^\top P d`, such that e vanishes there.

    The step of the variables without a multiplier is that of :math:`P_{FF} d_F = -e_F`.
    """
    P, d, free = program.P, np.zeros(e.size), np.flatnonzero((z == 0.0) & (e != 0.0))
    block = P[np.ix_(free, free)] if isinstance(P, np.ndarray) else P.block(free)
    d[free] = np.linalg.lstsq(block, -e[free], rcond=None)[0]
    change = P @ d
    more = rounding_of_a_sum(e.size) * absolute_product(P, np.abs(d))
    square = 0.5 * float(np.abs(d) @ (np.abs(change) + more))
    return square + _gain(program, x, e + change, noise + more + EPS * np.abs(e), z)


def weak_duality(
    a: np.ndarray, u: np.ndarray, error: np.ndarray, *, upper: Bounds, ridge: float, norm: float,
    misfit: float,
) -> tuple[float, np.ndarray]:  # fmt: skip
    r"""Bound how far a hyperplane may be from the optimal one, with multipliers a of its dual program as the proof.

    A machine with the weights w and the levels y (of b and of :math:`\eta`) minimises

    .. math:: F(w, y) = \tfrac12 \|w\|^2 + c^\top y + \sum_i \theta(u_i), \qquad u = -R w - q - A^\top y,

    where row i of R is :math:`s_i \varphi(x_i)` and :math:`\theta(u) = \max_{0 \le a \le K} (a u - \tfrac12 r a^2)` is
    the price of slack: :math:`K u_+` for r = 0, :math:`u_+^2/2r` for an infinite K. The dual function is
    :math:`D(a) = -\tfrac12 \|R^\top a\|^2 - \tfrac12 r \|a\|^2 - q^\top a`.

    Parameters
    ----------
    a, u : ndarray of shape (n,)
        Multipliers within their bounds, and what each constraint misses.
    error : ndarray of shape (n,)
        Bounds of the rounding in u.
    upper : float or ndarray of shape (n,)
        K, or infinity; or a K of each point. Where it is 0, the slack costs nothing.
    ridge : float
        r. If it is 0 and K infinite, u must not be positive; w and y are stretched until it is not.
    norm : float
        That of w.
    misfit : float
        A bound of :math:`\|w - R^\top a\|`, rounding included.

    Returns
    -------
    gap : float
        A bound of :math:`F(w, y) - D(a) - y^\top(c - A a)`, rounding included.
    products : ndarray of shape (n,)
        The terms of that difference which are complementarity products, without what rounding may add to them.

    Notes
    -----
    To subtract two values would leave the rounding of both, and :math:`\|R^\top a\|^2` has that of
    :math:`(\sum_i a_i \|\varphi(x_i)\|)^2`. In the difference most of it cancels:

    .. math:: F(w, y) - D(a) = \tfrac12 \|w - R^\top a\|^2
        + \sum_i \bigl( \theta(u_i) - a_i u_i + \tfrac12 r a_i^2 \bigr) + y^\top (c - A a) .

    No term of the sum is negative. Each is a convex function of :math:`u_i`, so its largest value within the rounding
    of :math:`u_i` is at an end. Where :math:`a_i = K` and :math:`u_i` is positive for certain, or :math:`a_i = 0` and
    it is negative, it is 0, whatever the rounding.

    Examples
    --------
    >>> a, u, none = np.array([0.0, 0.5, 1.0]), np.array([-1.0, 0.1, 2.0]), np.zeros(3)
    >>> gap, products = weak_duality(a, u, none, upper=1.0, ridge=0.0, norm=1.0, misfit=0.2)
    >>> round(gap, 12), products.round(12)
    (0.07, array([0.  , 0.05, 0.  ]))
    """
    hard = ridge == 0.0 and bool(np.isinf(upper).all())
    if hard:
        stretch = float((u + error).max(initial=0.0))
        if not stretch < 1.0:
            return math.inf, np.full(a.size, math.inf)
        u, error = (u - stretch) / (1.0 - stretch), 0.0 * error
        misfit += norm * stretch / (1.0 - stretch)

    def product(u: np.ndarray) -> np.ndarray:
        if ridge > 0.0:
            over = (u - ridge * a) ** 2 / (2.0 * ridge)
            return np.where(u > 0.0, over, a * (0.5 * ridge * a - u))
        below = a * np.maximum(-u, 0.0)
        return np.asarray(below if hard else below + (upper - a) * np.maximum(u, 0.0))

    worst = np.maximum(product(u - error), product(u + error))
    return float(worst.sum()) + 0.5 * misfit * misfit, product(u)


def certify_hyperplane(
    a: np.ndarray, u: np.ndarray, error: np.ndarray, terms: np.ndarray, *, upper: Bounds, ridge: float,
    norm: float, misfit: float, lengths: np.ndarray, rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    largest_sum: float = math.inf, size: float, unit: float = 1.0, tolerance: float,
) -> tuple[Certificate, float]:  # fmt: skip
    r"""Prove that a hyperplane is optimal, or say by how much it may fail: see :func:`weak_duality`.

    Parameters
    ----------
    a, u, error, upper, ridge, norm, misfit
        As for :func:`weak_duality`.
    terms : ndarray of shape (n,)
        The size of the terms of each entry of u.
    lengths : ndarray of shape (n,)
        The lengths :math:`\|\varphi(x_i)\|`, with the part that r has in them.
    rows : (A, c, y)
        The equations :math:`A a = c` and their multipliers.
    largest_sum : float
        What the sum of a may not exceed.
    size : float
        The sum of the absolute values of the objective's terms, which the gap is divided by.
    unit : float
        By which the objective is divided; 1 unless the program asks for a w of norm 1.
    tolerance : float
        What each residual is compared with.

    Returns
    -------
    certificate : Certificate
        - ``primal_residual``: the largest :math:`|A a - c|_k` divided by :math:`\sum_i |A_{ki}| a_i + |c_k|`, and by
          which part the sum exceeds `largest_sum`;
        - ``dual_residual``: by how much a constraint misses what its multiplier asks for (:math:`u_i = r a_i`, or not
          more at 0, or not less at K), divided by its `terms`, which are raised to where one rounding of the largest
          `terms`, or of the multipliers, is a part of `tolerance`; and `misfit` divided by
          :math:`\sum_i a_i \|\varphi(x_i)\|`;
        - ``complementarity``: the largest product, divided by `size`;
        - ``gap``: the bound of :math:`F - D`, with :math:`|y|^\top |A a - c|` and the rounding of the objective's own
          terms, divided by `size`.
    loss : float
        :math:`F - D` without rounding: the dual objective is the objective minus that.

    Notes
    -----
    b and :math:`\eta` solve the equations :math:`u_i = r a_i` of some points, and no digit of them is better known than
    a rounding :math:`\delta` of the largest `terms`, which are among these. So every :math:`u_i` may be moved by
    :math:`\delta`, also one whose own terms are small. A residual of that size has to pass, and it does where the scale
    is not below :math:`\delta` divided by `tolerance`. So it is with the rounding of the multipliers, which moves
    :math:`u_i` by up to :math:`\epsilon \|\varphi(x_i)\| \sum_j a_j \|\varphi(x_j)\|`; float64 has no others. What
    that costs is not forgiven: in the gap stands each product for the :math:`u_i` that was computed, at its worst
    within `error`.
    """
    gap, products = weak_duality(a, u, error, upper=upper, ridge=ridge, norm=norm, misfit=misfit)
    A, c, y = rows
    miss = np.array([side - math.fsum(row * a) for row, side in zip(A, c)])
    spread = np.abs(A) @ a + np.abs(c)
    beyond = relative(max(float(a.sum()) - largest_sum, 0.0), largest_sum)
    wrong = np.where(a <= 0.0, np.maximum(u, 0.0), np.abs(u - ridge * a))
    wrong = np.where(a >= upper, np.where(a > 0.0, np.maximum(-u, 0.0), 0.0), wrong)
    # b and eta are read from constraints with the largest terms: their rounding misses no small one
    magnitude = float(a @ lengths)
    most = max(float(terms.max(initial=0.0)), magnitude * float(lengths.max(initial=0.0)))
    terms = np.maximum(terms, rounding_of(1) * most / tolerance)
    # the rounding of different slacks is independent; the sum of n terms adds that of its own
    noise = 2.0 * float(np.linalg.norm(a * error)) + rounding_of(1) * size * unit
    gap += float(np.abs(y) @ np.abs(miss)) + noise
    loss = float(products.sum()) + 0.5 * misfit * misfit + float(y @ miss)
    certificate = certify_terms(
        products / unit, gap / unit, size, tolerance, primal=max(relative(miss, spread), beyond),
        dual=max(relative(wrong, terms), relative(misfit, magnitude)),
    )  # fmt: skip
    return certificate, loss / unit


def relative(residual: Any, terms: Any) -> float:
    r"""Return the largest part of its terms that a residual is: the unit of each residual in the package.

    An equation's residual is a sum of terms, :math:`r_i = \sum_k t_{ik}`. It vanishes if each of these is changed by
    the part :math:`|r_i| / \sum_k |t_{ik}|` of itself, and no smaller part is enough (Oettli and Prager 1964). So the
    number is that part, and has no unit. A sum that may cancel is never divided by; and where all terms are 0, nothing
    is missed: 0/0 = 0. A bound of the terms, such as :math:`|a| |b|` of those of :math:`a^\top b`, serves where they
    are not known one by one.

    Parameters
    ----------
    residual : float or ndarray
        Of each equation; its sign does not matter.
    terms : float or ndarray
        The sum of the absolute values of the terms of each.

    Returns
    -------
    float
        The largest of all; nan if one is unknown.

    Examples
    --------
    >>> relative(np.array([0.0, -1e-9]), np.array([0.0, 2.0]))
    5e-10
    """
    part = ratio(abs(residual), terms)
    return float(part if isinstance(part, float) else part.max(initial=0.0))


def relative_step(step: Any, w: Any, columns: Any, y: float, K: float) -> float:
    r"""Return which part of the weights w of least squares a step is, by its effect on the fit.

    A column x alone would get the weight :math:`x^\top y/(|x|^2 + K)` and changes the fit by that times :math:`|x|`. So
    the largest change of a column's part in the fit is compared with the largest part that a column has, or could have
    alone: :math:`|x|\, |y| / (|x|^2 + K)`, which is not 0 where w is.

    Parameters
    ----------
    step, w, columns : float or ndarray of shape (n,)
        The step, the weights, and the norms of the columns.
    y : float
        The norm of the values.
    K : float
        The penalty.
    """
    alone = ratio(columns * y, np.square(columns) + K)
    return relative(columns * step, np.max(columns * np.maximum(np.abs(w), alone), initial=0.0))


def rounding_of_a_sum(n: int) -> float:
    r"""Return what part of :math:`|a|_2 |b|_2` rounding may change a sum of n products :math:`a_i b_i` by.

    A partial sum is at most :math:`|a|_2 |b|_2` (Cauchy and Schwarz), and an addition changes it by at most half an
    epsilon of itself. Errors of random signs add up like :math:`\sqrt n` of them; so an epsilon times that is more than
    three standard deviations, and sums that are made in blocks, as BLAS does, stay far below it.
    """
    return EPS * (1.0 + math.sqrt(n))


def rounding_of_a_fit(y: float, w: np.ndarray, columns: np.ndarray, b: float = 0.0) -> float:
    r"""Return the norm of what rounding may change the vector :math:`y - X w - b` by.

    Parameters
    ----------
    y : float
        The norm of y.
    w, columns : ndarray of shape (n,)
        The weights, and the norms of the columns of X.
    b : float
        The root of the number of points, times the size of the terms of b: those are rounded once.
    """
    used = int(np.count_nonzero(w))
    return rounding_of_a_sum(used + 1) * (y + float(np.abs(w) @ columns)) + EPS * b


def certify_squares(
    distance: float, slack: np.ndarray, value: float, y: float, tolerance: float, *, missed: float = 0.0,
    primal: float = 0.0, dual: float = 0.0,
) -> Certificate:  # fmt: skip
    r"""Return the certificate of a program of least squares, from the terms of its duality gap.

    The program is to minimise :math:`\tfrac12 |y - X w|^2 + \Omega(w)`, with a penalty that may have a square of its
    own, :math:`\tfrac K2 |w|^2`: that part is rows :math:`\sqrt K I` of X whose values are 0. With :math:`\xi` for
    the residual and any vector :math:`\lambda` that the dual program admits,

    .. math:: f(w) - f^* \le \tfrac12 |\xi - \lambda|^2 + \sum_j \bigl(\Omega_j(w_j) - w_j\, (X^\top \lambda)_j\bigr) ,

    and no term is negative.

    Parameters
    ----------
    distance : float
        :math:`|\xi - \lambda|`, with what rounding may have added to it.
    slack : ndarray
        The terms of the sum, each with what rounding may have added to it; exactly 0 where :math:`w_j = 0`.
    value : float
        :math:`f(w)`.
    y : float
        The norm of y (centred, where there is a free intercept).
    tolerance : float
        What each residual is compared with.
    missed : float
        A part of the bound that is 0 in exact arithmetic.
    primal, dual : float
        By how much the constraints of the program, and of its dual, are missed: each relative to its own terms.

    Returns
    -------
    Certificate
        The gap is relative to f(w): :math:`f^*` is positive where :math:`\Omega` is and y is not 0. Where the penalty
        leaves no slack (or is absent), :math:`f^*` may be 0, and then nothing is small beside it. There the bound is
        half the square of a distance of the fit from the right one. The fit is a projection of y; so that distance,
        relative to :math:`|y|`, is by which part of itself y would have to be another one for the fit to be right. It
        is reported if it is less.
    """
    gap = 0.5 * distance**2 + missed + float(slack.sum())
    found = certify_terms(slack, gap, value, tolerance, primal=primal, dual=dual)
    if slack.any():
        return found
    return replace(found, gap=min(found.gap, relative(math.sqrt(2.0 * gap), y)))


def certify_terms(
    products: Any, gap: float, value: float, tolerance: float, *, primal: float, dual: float
) -> Certificate:
    r"""Return the certificate with which each proof ends.

    Parameters
    ----------
    products : float or ndarray
        Complementarity products: the terms of the gap that are 0 at a solution, one by one.
    gap : float
        A bound of the objective's distance from the optimal value, with what rounding may have added.
    value : float
        The sum of the absolute values of the objective's terms, which no change of units can make another part of
        the gap. Of an objective that is a sum of norms, that is its value. Where every row is fitted, that is 0 in
        exact arithmetic and nothing but rounding in float64: then the sum of the terms of these rows takes its place.
    tolerance : float
        What each residual is compared with.
    primal, dual : float
        By how much the constraints of the program, and of its dual, are missed: see :func:`relative`.
    """
    return Certificate(primal, dual, relative(products, value), relative(gap, value), tolerance)
