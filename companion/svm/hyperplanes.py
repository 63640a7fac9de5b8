r"""From a dual program to multipliers, from these to hyperplanes, b and eta with all their freedom, and to their proof.

Let :math:`h = P a + q` be the gradient of the dual program at its solution a. The KKT conditions compare :math:`h_i`
with the hyperplanes of the slab: for a program in which b and :math:`\eta` are free,

.. math::

    \eta + s_i b \;\begin{cases} \le h_i & a_i = 0, \\ = h_i & 0 < a_i < K, \\ \ge h_i & a_i = K. \end{cases}

So the blue points alone bound :math:`\eta + b`, and the red points alone bound :math:`\eta - b`. A support vector of
type 1 turns the interval into a number. Without one an interval remains, every point of it belongs to an optimal
solution, and the midpoint is chosen. The tube of a regression is such a slab, with :math:`\eta = -\epsilon`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from companion import exceptions
from companion.arithmetic import EPS, ROUNDING, Bounds, beyond, exact_product, largest, ratio
from companion.checks import as_scalar, check_count, read_data, validated
from companion.engine.certificate import certify_hyperplane
from companion.engine.finish import REFINEMENTS, Finished, finish, is_psd
from companion.engine.guess import Guess, guess_state
from companion.engine.quadratic import solve_box
from companion.engine.weights import WeightsProgram
from companion.kernels import Gaussian, Kernel, is_positive_definite
from companion.kernels.vectors import own_points
from companion.results import FEW_DIGITS, Certificate, Record
from companion.svm.program import DualProgram, Points, Weights, make_points, snap

Interval = tuple[float, float]

POINT_CLASSES = (
    "outside", "type 1", "type 2", "exceptional", "in slab", "on hyperplane", "misclassified", "undetermined",
)  # fmt: skip

TIGHT = 1e-9  # a constraint is active when it misses equality by this part of its terms: the tolerance of a fit


class Slab(Record):
    r"""Positions of the hyperplanes :math:`H_{w,b}`, :math:`H_{w,b+\eta}` and :math:`H_{w,b-\eta}`.

    Parameters
    ----------
    b, eta : float
        The solution chosen.
    b_interval, eta_interval : (float, float)
        The smallest and the largest value in any optimal solution.
    blue_interval, red_interval : (float, float)
        The same for :math:`b + \eta` and :math:`b - \eta`.
    """

    b: float = 0.0
    eta: float = 0.0
    b_interval: Interval = (0.0, 0.0)
    eta_interval: Interval = (0.0, 0.0)
    blue_interval: Interval = (0.0, 0.0)
    red_interval: Interval = (0.0, 0.0)

    @classmethod
    def of_b(cls, b: float, eta_interval: Interval) -> Slab:
        r"""Return the slab for a known b and the range of :math:`\eta`."""
        low, high = eta_interval
        edges = (b + low, b + high), (b - high, b - low)
        return cls(b, middle(eta_interval), (b, b), eta_interval, *edges)

    @property
    def epsilon(self) -> float:
        r"""Half of the width of a tube, which is a slab with :math:`\eta = -\epsilon`."""
        return 0.0 - self.eta

    @property
    def epsilon_interval(self) -> Interval:
        r"""The smallest and the largest :math:`\epsilon`."""
        low, high = self.eta_interval
        return 0.0 - high, 0.0 - low

    def moved(self, distance: float, unit: float = 1.0) -> Slab:
        """Return the slab for another origin of feature space, in another unit of w."""

        def move(interval: Interval, by: float = distance) -> Interval:
            return (interval[0] + by) / unit, (interval[1] + by) / unit

        b, eta = (self.b + distance) / unit, self.eta / unit
        edges = move(self.blue_interval), move(self.red_interval)
        return Slab(b, eta, move(self.b_interval), move(self.eta_interval, 0.0), *edges)


def multiplier_interval(h: np.ndarray, at_zero: np.ndarray, at_upper: np.ndarray) -> Interval:
    """Return the interval that the conditions "<= h at zero, >= h at the upper bound, = h between" leave.

    Examples
    --------
    >>> h, a = np.array([1.0, 2.0, 5.0]), np.array([1.0, 0.5, 0.0])
    >>> multiplier_interval(h, a == 0.0, a == 1.0)
    (2.0, 2.0)
    >>> multiplier_interval(h[[0, 2]], a[[0, 2]] == 0.0, a[[0, 2]] == 1.0)
    (1.0, 5.0)
    """
    between = h[~(at_zero | at_upper)]
    if between.size:  # numbers that differ by rounding only
        low = high = float(between.sum()) / between.size
    else:
        low, high = float(h[at_upper].max(initial=-np.inf)), float(h[at_zero].min(initial=np.inf))
    if low > high:  # rounding
        low = high = (low + high) / 2.0
    return low, high


def middle(interval: Interval) -> float:
    """Return the midpoint, or the finite end, or 0."""
    ends = [end for end in interval if math.isfinite(end)] or [0.0]
    return ends[0] + (ends[-1] - ends[0]) / 2.0


def slab_of(
    s: np.ndarray, h: np.ndarray, a: np.ndarray, upper: Bounds, b: float | None = None, eta: float | None = None
) -> Slab:  # fmt: skip
    r"""Return the slab for the multipliers a and the gradient h = P a + q.

    Where b and :math:`\eta` are free, the blue points bound :math:`\eta + b` and the red ones :math:`\eta - b`, and the
    optimal pairs are a rectangle in these coordinates. If :math:`\eta` is given, a blue point bounds b by :math:`h_i`,
    and a red one, with the sense reversed, by :math:`-h_i`. If b is given, it is in h, and every point bounds
    :math:`\eta`.
    """
    if np.ndim(upper):  # points whose slack costs nothing bound nothing
        s, h, a, upper = np.array([s, h, a, upper])[:, np.asarray(upper) > 0.0]
    zero, full, blue = a <= 0.0, a >= upper, s > 0.0
    if b is not None:
        return Slab.of_b(b, multiplier_interval(h, zero, full) if eta is None else (eta, eta))
    if eta is not None:
        at_low, at_high = np.where(blue, zero, full), np.where(blue, full, zero)
        low, high = multiplier_interval(s * h, at_low, at_high)
        edges = (low + eta, high + eta), (low - eta, high - eta)
        return Slab(middle((low, high)), eta, (low, high), (eta, eta), *edges)
    plus, minus = (multiplier_interval(h[c], zero[c], full[c]) for c in (blue, ~blue))
    top, bottom = middle(plus), middle(minus)
    return Slab(
        b=(top - bottom) / 2.0,
        eta=(top + bottom) / 2.0,
        b_interval=((plus[0] - minus[1]) / 2.0, (plus[1] - minus[0]) / 2.0),
        eta_interval=((plus[0] + minus[0]) / 2.0, (plus[1] + minus[1]) / 2.0),
        blue_interval=plus,
        red_interval=(-minus[1] + 0.0, -minus[0] + 0.0),
    )


def place_points(
    a: np.ndarray, upper: Bounds, margin: np.ndarray, eta: float, size: float, squared: bool
) -> np.ndarray:
    r"""Return the place of each point, by Definitions 18.1 to 18.3.

    Parameters
    ----------
    a : ndarray of shape (l,)
        Multipliers; ``a == upper`` and ``a == 0`` are meant exactly.
    upper : float
        Their bound, infinite in the hard margin and with squared slacks.
    margin : ndarray of shape (l,)
        :math:`s_i f(x_i)`.
    eta : float
        Half of the slab's width, in the same unit.
    size : float
        Size of the terms that `margin` is the sum of.
    squared : bool
        Whether the slacks are squared, so that every positive multiplier means a positive slack.

    Returns
    -------
    ndarray of str, shape (l,)
        Entries from ``POINT_CLASSES``.
    """
    tight = TIGHT * size
    places = np.full(a.size, "in slab", dtype="<U13")
    places[margin <= tight] = "on hyperplane"
    places[margin < -tight] = "misclassified"
    if not squared:
        places[np.abs(margin - eta) <= tight] = "type 2"
        places[a < upper] = "type 1"
    places[(a <= 0.0) & (a < upper)] = "exceptional"
    places[(a <= 0.0) & (margin > eta + tight)] = "outside"
    return places


_MANY_FEATURES = 400  # with more, the systems that carry w take too long
_TINY = 30  # multipliers: up to here PIQP takes as long as libsvm, and of many answers it finds the middle one
_FEW = 200  # multipliers: up to here libsvm takes less time than PIQP, even with many iterations
_PATIENCE = (
    8.0  # iterations of libsvm for each point: where these are not enough, PIQP takes less time
)
_CHEAP = 40.0  # times the slope of the objective: up to this curvature of a bound, libsvm may need so few
_SAFETY = 8.0  # times what rounding has left of slack, a margin is made narrower

KernelLike = str | Kernel | Callable


class Solved(NamedTuple):
    """Multipliers, the hyperplanes, what each constraint misses, and the proof of all with the two values."""

    dual: DualProgram
    a: np.ndarray
    weights: Weights
    slab: Slab
    u: np.ndarray
    excess: float  # the largest u of a slack that costs something, rounding included
    certificate: Certificate
    objective: float
    dual_objective: float
    n_systems: int = 1


# -- from data to points


def read(
    model: Any, X: Any, y: Any, remember: bool, **options: Any
) -> tuple[np.ndarray, np.ndarray, Kernel]:
    """Check parameters and data as scikit-learn does; return points, labels or values, and the kernel.

    The estimator stays as it is, but for the names of the features where it is to remember them.
    """
    kernel = model._named_kernel()
    as_scalar(model.tol, "tol", above=0.0)
    check_count(model.max_iter, "max_iter")
    X, y = read_data(model if remember else BaseEstimator(), X, y, **options)
    return own_points(X, kernel), y, kernel


def proper_points(points: Points, free_b: bool, name: str) -> Points:
    r"""Return the points with their features, if the kernel is positive definite on them.

    Where the coefficients of w have the sum 0, as with a free b, inner products may be those of the features from one
    point on: no program sees the difference, and a kernel may be positive definite only conditionally.
    """
    kernel = points.kernel
    made = make_points(points.X, points.s, kernel, free_b, points.weight)
    points = replace(made, classes=points.classes, middle=points.middle)
    if points.Phi is not None or kernel.positive_definite:
        return points
    chosen = replace(points, centred=free_b)
    if is_psd(chosen.given, "the Gram matrix"):
        return chosen
    conditionally = is_positive_definite(replace(points, centred=True).gram)
    if conditionally and free_b:
        return chosen
    smallest = is_positive_definite(chosen.given).smallest_eigenvalue
    rest = "nor is it conditionally positive definite"
    if conditionally:
        rest = (
            "it is conditionally positive definite, which is enough where s'a = 0 (HardMarginSVC, SVMs1, SVMs2, "
            f"SVMs2prime, SVMs4), but {name} has no such equation for the coefficients of w"
        )
    raise ValueError(
        f"the kernel must be positive definite on the training points; the matrix of {kernel!r} there is not: "
        f"it has the negative eigenvalue {smallest:.6g}; {rest}"
    )


# -- from the dual program to multipliers


def solve(
    model: Any, programs: Sequence[DualProgram], libsvm: Callable[[DualProgram, float], Guess | None],
    answer: Callable[[DualProgram, Finished], tuple[DualProgram, Finished]] | None = None,
    vanishes: Callable[[], Any] | None = None,
) -> Solved:  # fmt: skip
    """Solve programs until the answer of one is proved; return that answer, or else the best one.

    Each is finished from its guess; if that proves nothing, it is solved as any other quadratic program. Of two, the
    first one says what the sum of the multipliers is, and the guess whether that is an equation.

    Parameters
    ----------
    model : estimator
        Has `tol` and `max_iter`, and says how multipliers give the slab (`_slab`).
    programs : sequence of DualProgram
    libsvm : callable
        Guesses the active set of a program as libsvm does, within a number of iterations for each point.
    answer : callable, optional
        Turns the solution of a program into that of the program that it is solved for.
    vanishes : callable, optional
        Says whether w = 0 is the optimum. It is asked where w is short and nothing proved: 0 has no digits to find.
    """
    best, known = list[Solved](), [_guess(programs[0], libsvm)]
    if len(programs) > 1 and known[0] and known[0].a.sum() < 0.99 * programs[0].c[-1]:
        programs = programs[::-1]  # this sum is no equation: the last program is the one without it
    for program in programs:
        start = known.pop() if known else _guess(program, libsvm)
        for near in (start, None) if start is not None else (None,):

            def attempt(narrower: float, sets: Any = near, p: DualProgram = program) -> Any:
                done = _finished(model, replace(p, q=p.q - narrower), sets)
                if done is None:
                    return None
                dual, done = answer(p, done) if answer else (p, done)
                return judge(model, dual, done, narrower)

            found = _without_slack(attempt)
            if found is None:
                continue
            better = min([*best, found], key=lambda each: each.certificate.worst)
            best = [better._replace(n_systems=found.n_systems)]
            terms = float(np.abs(found.weights.coef) @ found.dual.P.points.lengths)
            short = found.weights.norm**2 <= ROUNDING * terms**2  # 0 but for rounding, perhaps
            if better.certificate.ok or (vanishes and short and vanishes()):
                return best[0]
    return best[0]


def _without_slack(attempt: Callable[..., Any]) -> Any:
    """Solve; where no point has slack, and that of rounding costs too much, once more with a narrower margin."""
    found = attempt(0.0)
    if found is None or found.certificate.ok:
        return found
    dual, a, upper, excess = found.dual, found.a, found.dual.upper, _SAFETY * found.excess
    room = math.inf if dual.eta is None else abs(dual.eta) / 2.0
    inside = np.isfinite(upper).all() and ((a < upper) | (upper == 0.0)).all()
    if dual.P.ridge or not inside or not 0.0 < excess < room:
        return found
    narrow = attempt(excess, Guess(a, np.where(a > 0.0, 0, -1)))
    if narrow is None:
        return found
    better = min(found, narrow, key=lambda each: each.certificate.worst)
    return better._replace(n_systems=found.n_systems + narrow.n_systems)


def _finished(model: Any, program: DualProgram, guess: Guess | None) -> Finished | None:
    """Finish from a guess of the active set; without one, solve as any other quadratic program.

    Of few points, a guess that does not settle soon is replaced by PIQP's: each system takes about one of its steps.
    """
    P, few, steps = program.P, program.q.size <= _FEW, int(model.max_iter)
    if guess is not None:
        run = partial(finish, P, program.q, program.A, program.c, program.upper)
        done = run(*guess, min(steps, 8) if few else steps)
        return run(*_by_piqp(program, P.toarray()), steps) if few and done is None else done
    box, t, g = program.in_units(P.toarray())
    found = solve_box(box, tol=float(model.tol), max_iter=steps)
    return Finished(t * found.x, g * found.y, g * found.Px, found.n_systems)


def _guess(dual: DualProgram, libsvm: Callable[[DualProgram, float], Guess | None]) -> Guess | None:
    """Guess which multipliers are 0, at the bound, free: by PIQP if w is short or they are very few, or by libsvm.

    With r columns, a step of PIQP takes a time of n r^2, and one of libsvm n. Where slack is so cheap that most
    multipliers end at their bound, it needs about n of them.
    """
    n, found = dual.q.size, None
    if _TINY < n <= _FEW and (found := libsvm(dual, 10.0 * _PATIENCE)):
        return found
    P = dual.P.factor() if dual.P.points.kernel.is_linear else None
    if n > _FEW:
        if P is None:
            return libsvm(dual, math.inf)
        curvature, slope = P.diagonal().mean() * np.max(dual.upper), largest(dual.q) or math.inf
        if curvature <= _CHEAP * slope and P.G.shape[1] ** 2 > n:
            found = libsvm(dual, _PATIENCE)
    return found or _by_piqp(dual, dual.P.toarray() if P is None else P)


def _by_piqp(dual: DualProgram, P: Any) -> Guess:
    """Guess by PIQP, for the matrix as an array or by its factor."""
    box, t, _ = dual.in_units(P)
    a, state = guess_state(box)
    return Guess(np.where(state > 0, dual.upper, t * a), state)


def judge(model: Any, dual: DualProgram, done: Finished, narrower: float = 0.0) -> Solved:
    """Return the best hyperplanes that these multipliers give, and their proof."""
    a = snap(done.a, dual.upper, dual.P.lengths)
    Pa, moved = done.Pa, np.flatnonzero(a != done.a)
    if moved.size:
        Pa = Pa + (a - done.a)[moved] @ dual.P.rows(moved)
    c = dual.P.coefficients(a)
    points = dual.P.points
    weights = points.weights(c, *dual.P.inner(a, Pa))
    found = _read_off(model, dual, a, weights, narrower)
    if not found.certificate.ok:
        weights = points.weights(c, weights.inner, careful=True)
        found = _read_off(model, dual, a, weights, narrower)
    return found._replace(n_systems=max(done.n_systems, 1))


def refine(model: Any, best: Solved, programs: list[DualProgram], norm_is_shown: bool) -> Solved:
    """Return a better answer, with w as a variable of its own, if there is no proof or too little of the norm yet."""
    best = _refined(model, best)
    for dual in programs:
        few = norm_is_shown and best.weights.norm_error > FEW_DIGITS
        if best.certificate.ok and not few:
            break
        found = _carried(model, dual, best.a)
        if found is None:
            break
        total = best.n_systems + found.n_systems
        both = best.certificate.ok and found.certificate.ok
        best = min(best, found, key=lambda f: f.weights.norm_error if both else f.certificate.worst)
        best = best._replace(n_systems=total)
    return best


def _refined(model: Any, best: Solved) -> Solved:
    """Return an answer for the same sets with coefficients of w that are refined, if it is better.

    Each step solves the system of the free multipliers for what their constraints miss, with products that are rounded
    once, and the values of a Gaussian kernel to twice the digits. The coefficients are so rounded that w misses little:
    beside the multipliers, which are rounded as well.
    """
    dual, P, points = best.dual, best.dual.P, best.dual.P.points
    free = np.flatnonzero((best.a > 0.0) & (best.a < dual.upper))
    other = points.Phi is not None or points.centred or points.n > _MANY_FEATURES
    if best.certificate.ok or other or not free.size:
        return best
    A, step = dual.A[:, free], np.zeros(best.a.size)
    system = np.block([[P.rows(free)[:, free], A.T], [A, np.zeros((len(A), len(A)))]])
    inverse = np.linalg.pinv(system, hermitian=True)

    def attempt(narrower: float, sets: Any = None) -> Any:
        a, coef, terms, answers = best.a, best.weights.coef, [best.slab.b], list[Solved]()
        while len(answers) < 2 or (len(answers) < REFINEMENTS and not answers[-1].certificate.ok):
            weights = points.beside(coef, P.coefficients(a))
            b = math.fsum(terms) if P.constant else None
            answers.append(_read_off(model, dual, a, weights, narrower, b))
            r = (answers[-1].u + narrower - P.ridge * a)[free]
            miss = [side - math.fsum(row * a) for row, side in zip(dual.A, dual.c)]
            step[free] = (inverse @ np.append(r, miss))[: free.size]
            coef = points.rounded(coef, P.coefficients(step))
            a = np.clip(a + step, 0.0, dual.upper)
            terms += (-P.s * step).tolist()
        return min(answers[1:], key=lambda f: f.certificate.worst)

    return min(best, _without_slack(attempt), key=lambda f: f.certificate.worst)


def _carried(model: Any, dual: DualProgram, a: np.ndarray) -> Solved | None:
    """Solve with w as a variable of its own, which nothing cancels in; None if there are too many features, or none."""
    P, s, points = dual.P, dual.P.s, dual.P.points
    F, pivots, T = points.basis()
    if not F.size or F.shape[1] > _MANY_FEATURES or F.size > 1000 * _MANY_FEATURES:
        return None
    if P.constant:
        F = np.column_stack([F, np.ones(points.n)])
    else:  # with a free b, the origin is free: no outlier moves the others
        F = F - np.median(F, axis=0)
    R = np.column_stack([P.signed(column) for column in F.T])

    def carried(narrower: float, sets: Guess | None = None) -> Solved:
        start = a if sets is None else sets.a
        with np.errstate(all="ignore"):
            program = WeightsProgram(R, P.ridge, dual.q - narrower, dual.A, dual.c, dual.upper)
            found = program.solve(start)
        b, w, multipliers = None, found.w, P.separate(found.a)
        if P.constant:  # the constant's weight is b or -b
            w, b = w[:-1], float(-s[0] * P.signed(np.ones(points.n))[0] * w[-1])
        weights = points.carried(w, pivots, T, P.coefficients(multipliers))
        proved = _read_off(model, dual, multipliers, weights, narrower, b)
        return proved._replace(n_systems=found.n_systems)

    return _refined(model, _without_slack(carried))


# -- proof


def _read_off(
    model: Any, dual: DualProgram, a: np.ndarray, weights: Weights, narrower: float, b: float | None = None,
) -> Solved:  # fmt: skip
    r"""Find b and :math:`\eta` for the weights; prove the hyperplanes by weak duality.

    Every number of the certificate is that of the hyperplane as it is stored, with slacks that are computed anew. The
    multipliers may be those of a slab that is narrower: with a high price, a slack of one rounding costs more.
    """
    P, s, penalized = dual.P, dual.P.s, bool(dual.P.constant)
    inner, ridge = P.signed(weights.inner), P.ridge * a
    error, size = P.doubled(weights.error), P.doubled(weights.size)
    if b is None:
        b = -math.fsum(s * a) if penalized else 0.0
    if model._unit_normal and weights.w is None:  # its coefficients will be divided, and rounded
        error = error + EPS * float(np.linalg.norm(weights.coef * P.lengths[: P.m])) * P.lengths
    h = inner - b * s + ridge + dual.q
    slab = model._slab(dual, h - narrower, a, b if penalized else None)
    moved = (3 - 2 * P.copies) * weights.shift
    if weights.rest is not None:  # with the b that is stored, for the origin of the data
        slab = replace(slab, b=(slab.b + moved) - moved)
    levels = np.array([-slab.eta] if penalized else [-slab.b, -slab.eta])[: len(dual.c)]
    fixed = np.abs(dual.q) + abs(b) + np.abs(levels) @ np.abs(dual.A)
    u = ridge - h - levels @ dual.A
    rounded = 4.0 * (fixed + size) + abs(weights.shift)
    if weights.rest is not None:
        products = P.signed(weights.inner), P.signed(weights.rest)
        columns = np.column_stack([*products, -s, dual.q, dual.A.T])
        u = -exact_product(columns, np.array([1.0, 1.0, b, 1.0, *levels]))
        if not model._unit_normal:  # q may be a sum, and b one that float64 does not have
            rounded = np.abs(u) + 0.5 * np.abs(dual.q) * bool(dual.eta or dual.P.points.middle)
            error = error + abs(math.fsum((slab.b, moved, -(slab.b + moved))))
    error = error + EPS * rounded
    misfit = math.hypot(weights.misfit, penalized * (b + math.fsum(s * a)))
    slack = np.maximum(u, 0.0).reshape(P.copies, P.m).sum(axis=0)  # of each point
    norm, square = weights.norm / P.unit, P.unit**2
    unit = norm if model._unit_normal and norm > 0.0 else 1.0
    terms = dual.terms(norm / unit, b, slab.eta / unit, slack / unit)[int(model._unit_normal) :]
    objective = float(sum(terms))
    certificate, loss = certify_hyperplane(
        a, u, error, size + fixed + ridge, upper=dual.upper, ridge=P.ridge, norm=math.hypot(weights.norm, b),
        misfit=misfit, lengths=P.lengths, rows=(dual.A, dual.c, levels), largest_sum=dual.largest_sum,
        size=sum(map(abs, terms)), unit=unit * square, tolerance=float(model.tol),
    )  # fmt: skip
    lost = 0.5 * float(ratio(weights.below / square, sum(map(abs, terms))))
    lost = weights.norm_error if model._unit_normal else lost
    certificate = replace(certificate, gap=certificate.gap + lost)
    excess = float(np.where(dual.upper > 0.0, u + error, -np.inf).max())
    return Solved(dual, a, weights, slab, u, excess, certificate, objective, objective - loss)


# -- what an estimator says and does with them


def complain(model: Any, points: Points, norm_is_shown: bool, price: str = "") -> Any:
    """Warn about digits that are missing: what is proved, what is lost, what helps; return the model."""
    found, longest = model.certificate_, math.sqrt(largest(points.diagonal)) * points.unit
    if found.ok and not (norm_is_shown and model.norm_error_ > FEW_DIGITS):
        return model
    if found.ok and model.norm_ * (1.0 + model.norm_error_) * longest <= EPS * abs(model.b_):
        return model  # beside b, nobody sees w
    advice = "centre the columns of X, and bring them to one size"
    if points.kernel.is_precomputed:
        advice = "give points and a kernel: a matrix that was rounded may belong to no features"
    elif model.w_ is None:
        other = "a smaller sigma" if isinstance(points.kernel, Gaussian) else "a kernel"
        advice = f"take {other} for which different points differ more, or merge points that are nearly equal"
    if found.ok:
        text = (
            f"rounding has changed the norm of w by a part of up to {model.norm_error_:.0e}: it is a small "
            "difference of large terms, and the width has no more digits"
        )
    else:
        gap, worst = (beyond(v, found.tolerance)[0] for v in (found.gap, found.worst))
        proved = (
            f"the objective is proved to be within {gap} of the optimal one, relative to its terms"
        )
        if found.gap <= found.tolerance:
            proved += f", but the worst residual is {worst}"
        if not found.gap < 1.0 or found.primal_residual > found.tolerance:  # no equations, no bound
            proved = "nothing is proved about the objective"
        parts = [model.dual_coef_, *([model.lambda_, model.mu_] if price else [])]
        terms = largest(np.concatenate(parts)) * longest**2
        text = (
            f"the solution misses tol = {model.tol:g} after {model.n_iter_} systems: {proved}; "
            f"w'x is a sum of terms up to {terms:.0e}, of which rounding leaves {EPS * terms:.0e} open"
        )
        if price:  # what is lost is nearly a multiple of it
            given, used = getattr(model, price), getattr(model, f"{price}_")
            value = largest(np.asarray(used)) if given is None else float(given)
            text += f", and {price} = {value:.0e} times that of what the slacks cost"
            lower = value * 0.01 * found.tolerance / min(found.worst, 1.0)
            advice += f"; or lower {price}, to about {lower:.0e}"
    exceptions.complain(f"{text}; {advice}")
    return model


def store(model: Any, found: Solved, distance: float) -> tuple[Slab, float]:
    """Set the fitted attributes that machines and tubes share; return the slab of the data, and the unit of w."""
    points = found.dual.P.points
    weights = found.weights.of_data(points.unit)
    unit = weights.norm if model._unit_normal and weights.norm > 0.0 else 1.0
    slab = found.slab.moved(distance, unit)
    model.X_fit_, model.kernel_, model.dual_coef_ = points.X, points.kernel, weights.coef / unit
    model.w_ = None if weights.w is None else weights.w / unit
    model.norm_, model.norm_error_ = weights.norm / unit, weights.norm_error
    model.b_, model.b_interval_ = slab.b, slab.b_interval
    model.blue_interval_, model.red_interval_ = slab.blue_interval, slab.red_interval
    model.certificate_, model.n_iter_ = found.certificate, found.n_systems
    model.objective_, model.dual_objective_ = found.objective, found.dual_objective
    return slab, unit


def inner_products(model: Any, X: Any) -> np.ndarray:
    r"""Return :math:`\langle w, \varphi(x) \rangle` for each row of X."""
    check_is_fitted(model)
    X = validated(model, X, reset=False)
    if model.w_ is not None:
        return model.kernel_.features(X) @ model.w_
    rows = np.flatnonzero(model.dual_coef_)
    if not rows.size:
        return np.zeros(len(X))
    K = X[:, rows] if model.kernel_.is_precomputed else model.kernel_(X, model.X_fit_[rows])
    return K @ model.dual_coef_[rows]


def linear_weights(model: Any) -> np.ndarray:
    """Return w for a linear kernel; an error for any other one."""
    if not model.kernel_.is_linear:
        raise AttributeError("coef_ exists for the linear kernel only; see w_ and dual_coef_")
    return model.w_
