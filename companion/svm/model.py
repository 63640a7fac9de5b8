"""What machines and tubes have in common: the way from data to the multipliers of a dual program, and to new points."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from companion.checks import as_scalar, check_count, read_data, reject_masked
from companion.engine.arithmetic import EPS
from companion.engine.certificate import certify_hyperplane
from companion.engine.guess import Guess
from companion.engine.machines import Finished, finish, is_psd
from companion.engine.quadratic import guess_state, solve_box
from companion.engine.weights import carry_weights
from companion.exceptions import ConvergenceWarning
from companion.kernels import Kernel, is_positive_definite
from companion.kernels.choice import KernelMixin, own_points
from companion.results import Certificate
from companion.svm.dual import DualProgram
from companion.svm.points import Points, Weights, make_points
from companion.svm.slab import Slab, balance, slab_of, snap

__all__ = ["Answers", "KernelLike", "KernelModel", "ProgramModel", "Solved"]

_MANY_FEATURES = 400  # with more, the systems that carry w take too long
_MANY_ENTRIES = 400_000
_FEW_DIGITS = 1e-7  # the relative error of the norm of w from which on there is a warning
_FEW = 100  # multipliers, with which PIQP is faster than libsvm

KernelLike = str | Kernel | Callable
Answers = Iterator[tuple[DualProgram, Finished]]


class Solved(NamedTuple):
    """Multipliers, the hyperplanes, what each constraint misses, and the proof of all with the two values."""

    dual: DualProgram
    a: np.ndarray
    weights: Weights
    slab: Slab
    u: np.ndarray
    excess: float  # the largest u, rounding included
    certificate: Certificate
    objective: float
    dual_objective: float


@dataclass(eq=False, repr=False)
class KernelModel(KernelMixin, BaseEstimator):
    """Base of the machines of chapter 18 and of the tubes of chapter 20: their parameters, data, and new points."""

    _: KW_ONLY
    kernel: KernelLike = "linear"
    kernel_params: dict[str, Any] | None = None
    tol: float = 1e-9
    max_iter: int = 1000

    _penalized = False  # the objective contains b
    _squared = False  # slacks enter squared
    _unit_normal = False  # the program asks for a w of norm 1
    _price_name = ""  # of the price of slack, if it changes more than the unit of w
    _norm_is_shown = False  # in the width of the slab, for one
    norm_error_ = 0.0
    _balanced = True  # the coefficients of w in the images of the points have the sum 0

    # -- from data to points

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the dual program, and read the hyperplanes from its multipliers.

        Parameters
        ----------
        X : array-like of shape (l, d), or (l, l) for a precomputed kernel
            Points.
        y : array-like of shape (l,)
            Two labels, of which the larger one (``classes_[1]``) belongs to the text's blue points u; or, for a
            regression, values.

        Returns
        -------
        estimator
            Itself.
        """
        for warning in self._fit(X, y):
            warnings.warn(warning, stacklevel=2)
        return self

    @abstractmethod
    def _fit(self, X: Any, y: Any) -> list[Warning]:
        """Fit; return what has to be said."""

    def _validated(self, X: Any, y: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """Check parameters and data as scikit-learn does; return points and labels or values."""
        self.kernel_: Any = self._named_kernel()
        as_scalar(self.tol, "tol", above=0.0)
        check_count(self.max_iter, "max_iter")
        X, y = read_data(self, X, y, **options)
        return own_points(X, self.kernel_), y

    def _points(self, X: np.ndarray, s: np.ndarray) -> Points:
        r"""Return the points, if the kernel is positive definite on them.

        One that is so only conditionally has centred inner products: where the coefficients of w have the sum 0, no
        program sees the difference.
        """
        kernel, free_b = self.kernel_, self._balanced and not self._penalized
        points = make_points(X, s, kernel, free_b)
        known = points.Phi is not None or kernel.positive_definite
        if known or is_psd(points.gram, "the Gram matrix"):
            return points
        centred = replace(points, centred=True)
        conditionally = is_positive_definite(centred.gram)
        if conditionally and free_b:
            return centred
        smallest = is_positive_definite(points.gram).smallest_eigenvalue
        rest = "nor is it conditionally positive definite"
        if conditionally:
            rest = (
                "it is conditionally positive definite, which is enough where s'a = 0 (HardMarginSVC, SVMs1, SVMs2, "
                f"SVMs2prime, SVMs4), but {type(self).__name__} has no such equation for the coefficients of w"
            )
        raise ValueError(
            f"the kernel must be positive definite on the training points; the matrix of {kernel!r} there is not: "
            f"it has the negative eigenvalue {smallest:.6g}; {rest}"
        )

    def _complaints(self) -> list[Warning]:
        """Return the warnings about digits that are missing: what is proved, and what helps for this kernel."""
        found = self.certificate_
        if found.ok and not (self._norm_is_shown and self.norm_error_ > _FEW_DIGITS):
            return []
        advice = "centre the columns of X, and bring them to one size"
        if self.w_ is None:
            advice = "take a kernel for which different points differ more, or merge points that are nearly equal"
        if found.ok:
            text = (
                f"rounding has changed the norm of w by a part of up to {self.norm_error_:.0e}: it is a small "
                f"difference of large terms, and the width has no more digits; {advice}"
            )
            return [ConvergenceWarning(text)]
        proved = f"the objective is proved to be within {found.gap:.1e} of the optimal one, relative to its terms"
        if found.gap <= found.tolerance:
            proved += f", but the worst residual is {found.worst:.1e}"
        if not found.gap < 1.0:
            proved = "nothing is proved about the objective"
        price = f"; or lower {self._price_name}" if self._price_name else ""
        return [
            ConvergenceWarning(
                f"the solution misses tol = {self.tol:g} after {self.n_iter_} systems: {proved}; {advice}{price}"
            )
        ]

    # -- new points

    def _inner(self, X: Any) -> np.ndarray:
        r"""Return :math:`\langle w, \varphi(x) \rangle` for each row of X."""
        check_is_fitted(self)
        reject_masked(X, "X")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.w_ is not None:
            return self.kernel_.features(X) @ self.w_
        rows = np.flatnonzero(self.dual_coef_)
        if not rows.size:
            return np.zeros(len(X))
        K = X[:, rows] if self.kernel_.is_precomputed else self.kernel_(X, self.X_fit_[rows])
        return K @ self.dual_coef_[rows]

    def _linear_weights(self) -> np.ndarray:
        if not self._named_kernel().is_linear:
            raise AttributeError("coef_ exists for the linear kernel only; see w_ and dual_coef_")
        return self.w_


@dataclass(eq=False, repr=False)
class ProgramModel(KernelModel):
    """Base of the models that a dual quadratic program finds: the way from the program to multipliers, with a proof."""

    # -- from the dual program to multipliers

    def _proved(self, points: Points, answers: Answers) -> tuple[Solved, list[DualProgram]]:
        """Return the first answer that is proved, or else the best one, and the programs tried."""
        best, programs = None, list[DualProgram]()
        for dual, done in answers:
            programs += [] if any(dual is each for each in programs) else [dual]
            lengths = np.sqrt(np.maximum(dual.P.diagonal(), 0.0))
            a = snap(done.a, dual.upper, lengths)
            Pa, moved = done.Pa, np.flatnonzero(a != done.a)
            if moved.size:
                Pa = Pa + (a - done.a)[moved] @ dual.P.rows(moved)
            c = dual.P.coefficients(a)
            weights = points.weights(c, dual.P.inner(a, Pa))
            found = self._judged(dual, a, weights)
            if not found.certificate.ok:
                weights = points.weights(c, weights.inner, careful=True)
                found = self._judged(dual, a, weights)
            if weights.unknown and not weights.norm == weights.misfit == 0.0:
                zero = self._judged(dual, a, points.no_weights(c, weights))
                if zero.certificate.ok or zero.certificate.worst < found.certificate.worst:
                    found = zero
            self.n_iter_ = max(done.n_systems, 1)
            if best is None or found.certificate.worst < best.certificate.worst:
                best = found
            if best.certificate.ok:
                break
        assert best is not None
        return best, programs

    def _refined(self, points: Points, best: Solved, programs: list[DualProgram]) -> Solved:
        """Return a better answer, with w as a variable of its own, if there is no proof yet."""
        for dual in programs:
            few = self._norm_is_shown and best.weights.norm_error > _FEW_DIGITS
            if best.certificate.ok and not few:
                break
            found = self._carried(points, dual, best.a)
            if found is None:
                break
            closer = found.certificate.worst < best.certificate.worst
            if found.certificate.ok or not best.certificate.ok:
                sharper = found.weights.norm_error < best.weights.norm_error
                best = found if (sharper and found.certificate.ok) or closer else best
        return best

    def _carried(self, points: Points, dual: DualProgram, a: np.ndarray) -> Solved | None:
        """Solve with w as a variable of its own, which nothing cancels in; None if there are too many features."""
        P, s = dual.P, dual.P.s
        F, pivots, T = points.basis()
        if F.shape[1] > _MANY_FEATURES or F.size > _MANY_ENTRIES:
            return None
        if self._penalized:
            F = np.column_stack([F, np.ones(points.n)])
        R = np.column_stack([P.signed(column) for column in F.T])

        def solve(q: np.ndarray) -> Solved:
            with np.errstate(all="ignore"):
                found = carry_weights(R, P.ridge, q, dual.A, dual.c, dual.upper, a)
            self.n_iter_ += found.n_systems
            b, w, multipliers = None, found.w, self._separate(found.a)
            if self._penalized:  # the constant's weight is b or -b
                sign = -s[0] * P.signed(np.ones(points.n))[0]
                w, b = w[:-1], float(sign * w[-1])
            c = P.coefficients(multipliers)
            return self._judged(dual, multipliers, points.carried(w, pivots, T, c), b)

        found = solve(dual.q)
        if (
            not found.certificate.ok
            and (found.a < dual.upper).all()
            and 0.0 < found.excess < math.inf
        ):
            # no point may have slack, and that of a rounding costs too much: the same with a little less room
            inside = solve(dual.q - 2.0 * found.excess)
            found = min(found, inside, key=lambda each: each.certificate.worst)
        return found

    def _separate(self, a: np.ndarray) -> np.ndarray:
        """Return multipliers in the form that the text gives them."""
        return a

    def _judged(
        self, dual: DualProgram, a: np.ndarray, weights: Weights, b: float | None = None
    ) -> Solved:
        """Prove the hyperplanes of these weights; where no point may have slack, once more without that of rounding."""
        found = self._read_off(dual, a, weights, b)
        hard = not dual.P.ridge and np.isfinite(dual.upper).all() and (a < dual.upper).all()
        if found.certificate.ok or not hard:
            return found
        inside = self._read_off(dual, a, weights, b, inside=True)
        return min(found, inside, key=lambda each: each.certificate.worst)

    def _read_off(
        self,
        dual: DualProgram,
        a: np.ndarray,
        weights: Weights,
        b: float | None,
        inside: bool = False,
    ) -> Solved:
        r"""Find b and :math:`\eta` for the weights; prove the hyperplanes by weak duality.

        Every number of the certificate is that of the hyperplane as it is stored, with slacks that are computed anew.
        With a high price, a slack of one rounding costs more than a slab that is narrower by it (`inside`), or, where
        its width is given, than weights that are longer.
        """
        P, s = dual.P, dual.P.s
        inner, ridge = P.signed(weights.inner), P.ridge * a
        error, size = (np.resize(each, a.size) for each in (weights.error, weights.size))
        if b is None:
            b = balance(s, a, dual.upper) if self._penalized else 0.0
        h = inner - b * s + ridge + dual.q
        slab = self._slab(h, a, dual, b)
        levels = np.array([-slab.eta] if self._penalized else [-slab.b, -slab.eta])[: len(dual.c)]
        fixed = np.abs(dual.q) + abs(b) + np.abs(levels) @ np.abs(dual.A)
        u = ridge - h - levels @ dual.A
        error = error + 4.0 * EPS * (fixed + size)
        if inside:
            excess = 2.0 * max(float((u + error).max()), 0.0)
            if len(levels) and dual.A[-1].min() == 1.0 == dual.A[-1].max():
                slab, u = replace(slab, eta=slab.eta - excess), u - excess
                levels[-1] += excess
            elif slab.eta > 0.0 and excess < 0.5:
                stretch = 1.0 / (1.0 - excess)
                weights, slab = (
                    weights.times(stretch),
                    replace(slab.moved(0.0, 1.0 / stretch), eta=slab.eta),
                )
                u, levels = slab.eta - stretch * (slab.eta - u), stretch * levels
                error = error + np.resize(weights.error, a.size)
        misfit = weights.misfit
        if self._penalized:
            misfit = math.hypot(misfit, b + math.fsum(s * a))
        slack = self._slacks(np.maximum(u, 0.0))
        unit = weights.norm if self._unit_normal and weights.norm > 0.0 else 1.0
        bias = b if self._penalized else 0.0
        terms = self._terms(weights.norm / unit, bias, self._width(slab) / unit, slack / unit)
        objective = float(sum(terms))
        certificate, loss = certify_hyperplane(
            a, u, error, size + fixed + ridge, upper=dual.upper, ridge=P.ridge, norm=math.hypot(weights.norm, bias),
            misfit=misfit, reach=float(a @ np.sqrt(np.maximum(P.diagonal(), 0.0))), rows=(dual.A, dual.c, levels),
            most=dual.most, size=sum(map(abs, terms)), unit=unit, tolerance=float(self.tol),
        )  # fmt: skip
        if self._unit_normal:
            certificate = replace(certificate, gap=certificate.gap + weights.norm_error)
        excess, value = float((u + error).max()), objective - loss
        return Solved(dual, a, weights, slab, u, excess, certificate, objective, value)

    @abstractmethod
    def _terms(self, norm: float, b: float, width: float, slack: np.ndarray) -> tuple[float, ...]:
        r"""Return the terms of the primal objective, for :math:`\eta` or :math:`\epsilon`."""

    def _width(self, slab: Slab) -> float:
        r"""Return :math:`\eta`."""
        return slab.eta

    def _slacks(self, slack: np.ndarray) -> np.ndarray:
        """Return the slacks of the points from those of the constraints."""
        return slack

    def _slab(self, h: np.ndarray, a: np.ndarray, dual: DualProgram, b: float) -> Slab:
        """Return b and eta from the multipliers a and the gradient h = P a + q."""
        s, upper = dual.P.s, dual.upper
        eta = None if math.isfinite(self._sum(dual)) else self._eta_given()
        return slab_of(s, h, a, upper, b if self._penalized else None, eta)

    def _sum(self, dual: DualProgram) -> float:
        """Return the sum of the multipliers, infinite where it is no equation; where it is one, eta is free."""
        return float(dual.c[-1]) if len(dual.c) + self._penalized == 2 else math.inf

    def _eta_given(self) -> float:
        """Return the eta of a program without the sum of the multipliers."""
        return 1.0

    def _answers(self, points: Points, dual: DualProgram) -> Answers:
        """Find solutions of the program, or of the one that takes its place."""
        return self._finished(dual, self._guess(points, dual))

    def _finished(self, dual: DualProgram, guess: Guess | None) -> Answers:
        """Finish from a guess of the active set; then solve as any other quadratic program."""
        steps = int(self.max_iter)
        if guess is not None:
            done = finish(dual.P, dual.q, dual.A, dual.c, dual.upper, *guess, steps)
            if done is not None:
                yield dual, done
        found = solve_box(dual.in_box(dual.P.toarray()), tol=float(self.tol), max_iter=steps)
        yield dual, Finished(found.x, found.y, found.Px, found.n_systems)

    def _guess(self, points: Points, dual: DualProgram) -> Guess | None:
        """Guess which multipliers are 0, at the bound, free: as PIQP if w is short or they are few, or as libsvm."""
        P = dual.P.factor() if points.kernel.is_linear else None
        if P is None and dual.q.size <= _FEW:
            P = dual.P.toarray()
        return self._libsvm(points, dual) if P is None else Guess(*guess_state(dual.in_box(P)))

    @abstractmethod
    def _libsvm(self, points: Points, dual: DualProgram) -> Guess | None:
        """Guess as libsvm does."""
