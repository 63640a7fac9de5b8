"""What machines and tubes have in common: the way from data to the multipliers of a dual program, and to new points."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from companion.checks import as_scalar, check_count, read_data, reject_masked
from companion.engine.arithmetic import EPS, ratio
from companion.engine.guess import Guess
from companion.engine.machines import Finished, finish, is_psd
from companion.engine.quadratic import guess_state, solve_box
from companion.exceptions import ConvergenceWarning
from companion.kernels import Kernel, is_positive_definite
from companion.kernels.choice import KernelMixin, own_points
from companion.results import Certificate
from companion.svm.dual import DualProgram
from companion.svm.points import Points, make_points
from companion.svm.slab import Slab, balance, slab_of, snap

__all__ = ["Answers", "KernelLike", "KernelModel", "ProgramModel", "Solved"]

_FEW = 100  # multipliers, with which PIQP is faster than libsvm

KernelLike = str | Kernel | Callable
Answers = Iterator[tuple[DualProgram, Finished]]
# multipliers with those at a bound exactly there, the product P a, b and eta, and the proof of all
Solved = tuple[DualProgram, np.ndarray, np.ndarray, Slab, Certificate]


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
        """Return the warnings about digits that are missing."""
        advice = "centre and scale the data" if self._penalized else "scale the data"
        text = (
            f"the solution misses tol = {self.tol:g} after {self.n_iter_} systems ({self.certificate_}); "
            f"{advice}, or lower the price of slack"
        )
        return [] if self.certificate_.ok else [ConvergenceWarning(text)]

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

    def _proved(self, answers: Answers) -> Solved:
        """Return the first answer that is proved, or else the last one."""
        for dual, done in answers:
            lengths = np.sqrt(np.maximum(dual.P.diagonal(), 0.0))
            a = snap(done.a, dual.upper, lengths)
            Pa, moved = done.Pa, np.flatnonzero(a != done.a)
            if moved.size:
                Pa = Pa + (a - done.a)[moved] @ dual.P.rows(moved)
            slab = self._slab(Pa + dual.q, a, dual)
            # -b is the multiplier of the equation s'a = 0, and -eta that of the sum
            y = np.array([-slab.eta] if self._penalized else [-slab.b, -slab.eta])[: len(dual.c)]
            certificate = dual.certify(a, y, Pa, self.tol)
            self.n_iter_ = max(done.n_systems, 1)
            if certificate.ok:
                break
        return dual, a, Pa, slab, certificate

    def _slab(self, h: np.ndarray, a: np.ndarray, dual: DualProgram) -> Slab:
        """Return b and eta from the multipliers a and the gradient h = P a + q."""
        s, upper = dual.P.s, dual.upper
        b = balance(s, a, upper) if self._penalized else None
        eta = None if math.isfinite(self._sum(dual)) else self._eta_given()
        return slab_of(s, h, a, upper, b, eta)

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

    # -- proof of the whole, and digits

    def _prove(
        self, of_dual: Certificate, terms: tuple[float, ...], dual: float, noise: float
    ) -> list[Warning]:
        """Set the values and the certificate, with the gap between them; return what has to be said.

        `noise` is the size of the terms that the rounding of the values comes from.
        """
        self.objective_, self.dual_objective_ = float(sum(terms)), float(dual)
        gap, size = abs(self.objective_ - self.dual_objective_), sum(map(abs, terms))
        gap = ratio(gap, size) if gap > 8.0 * EPS * noise else 0.0
        self.certificate_ = replace(of_dual, gap=max(of_dual.gap, gap))
        return self._complaints()
