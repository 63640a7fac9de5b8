"""The doors through which a reader's arrays come in, a few of each kind: how to call them.

All data are small integers, so that every number format holds them without rounding.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from companion import admm as A_
from companion import kernels as K_
from companion import regression as R_
from companion import svm as S_
from companion import svr as T_
from companion.admm import admm

X = np.array([[2, 1], [3, 3], [1, 4], [4, 2], [-2, -1], [-1, -3], [-4, 0], [1, -2]], dtype=float)
y = np.array([1, 1, 1, 1, -1, -1, -1, -1], dtype=float)
t = np.array([3, 5, 4, 7, -2, -3, -5, 1], dtype=float)
P = np.array([[4, 1, 0], [1, 4, 1], [0, 1, 4]], dtype=float)
q = np.array([-4, -4, -4], dtype=float)
A = np.array([[1, 1, -1], [1, -1, -1]], dtype=float)
v = np.array([3, -1, 2, -4], dtype=float)
SQUARE = np.array([[2, -1, 0], [-1, 3, 1], [0, 1, -2]], dtype=float)
GRAM = X @ X.T
WIDE = np.array([[1, 2, 0, -1, 3], [0, 1, 4, 2, -2], [2, 0, 1, 1, 1]], dtype=float)
THREE = np.array([1, -2, 3], dtype=float)
ROWS = np.array([[1, 2], [2, 1], [0, 3]], dtype=float)


@dataclass
class Target:
    """A callable, the arrays it takes, and how to look at what it returns."""

    call: Callable[..., Any]
    arrays: dict[str, np.ndarray]
    fixed: dict[str, Any] = field(default_factory=dict)
    scalars: dict[str, Any] = field(default_factory=dict)  # good values
    read: Callable[[Any], Any] = lambda answer: answer
    alone: bool = False  # one array only: fewer rows are another problem, not an error
    accepts: set[tuple[str, str]] = field(default_factory=set)  # (argument, attack) that is legal
    any_shape: bool = False  # works entry by entry
    complex_numbers: bool = False  # defined for them
    says: tuple[str, ...] = ()  # what messages call the arguments, where that differs

    def is_legal(self, argument: str, attack: str) -> bool:
        """Say whether an attack on an argument is no attack here."""
        of_shape = dict.fromkeys(("empty", "one axis more", "three axes more"), self.any_shape)
        legal = {"short": self.alone, "complex": self.complex_numbers, **of_shape}
        is_array = argument in self.arrays
        return (argument, attack) in self.accepts or (is_array and legal.get(attack, False))

    @property
    def words(self) -> tuple[str, ...]:
        """The names of which a message must hold one."""
        return (*self.arrays, *self.scalars, *self.says)

    def __call__(self, **changes: Any) -> Any:
        return self.read(self.call(**(self.arrays | self.fixed | self.scalars | changes)))


def _l1(prox_input: np.ndarray, step: float) -> np.ndarray:
    return A_.soft_threshold(prox_input, step)


def _admm_call(A: Any, B: Any, c: Any, **options: Any) -> Any:
    return admm(lambda w, rho: w / 2, lambda w, rho: w / 2, A, B, c, max_iter=3, **options)


def _method(solver: Callable[..., Any]) -> Callable[..., Any]:
    def call(A: Any, b: Any, lambda0: Any, **options: Any) -> Any:
        return solver(lambda l: -np.asarray([[1.0, 1.0]]).T @ l / 4, A, b, lambda0, **options)

    return call


def _consensus(A: Any, b: Any, **options: Any) -> Any:
    blocks = [(A, b), (ROWS, np.array([1.0, 0.0, 2.0]))]
    return A_.consensus(blocks, A_.LassoObjective(tau=1.0), **options)


ADMM = {
    "solve_qp": Target(
        A_.solve_qp, {"P": P, "q": q, "A": A, "b": np.ones(2), "lower": np.zeros(3), "upper": 5 * np.ones(3)},
        scalars={"tol": 1e-9, "max_iter": 100}, accepts={("upper", "inf"), ("lower", "minus inf")},
    ),
    "qsolve1": Target(A_.qsolve1, {"P": P, "q": q, "A": A, "b": np.zeros(2)}, scalars={"rho": 10.0, "max_iter": 2000}),
    "lasso": Target(
        A_.lasso, {"A": X, "b": t}, scalars={"tau": 2.0, "rho": 1.0, "tol": 1e-8, "max_iter": 2000},
        accepts={("rho", "none")},
    ),
    "basis_pursuit": Target(
        A_.basis_pursuit, {"A": WIDE, "b": THREE}, scalars={"rho": 1.0, "tol": 1e-8}, accepts={("rho", "none")},
    ),
    "least_absolute_deviations": Target(
        A_.least_absolute_deviations, {"A": X, "b": t}, scalars={"rho": 1.0}, accepts={("rho", "none")},
    ),
    "generalized_lasso": Target(
        A_.generalized_lasso, {"A": P, "b": THREE, "F": A}, scalars={"tau": 1.0},
        accepts={("F", "empty"), ("F", "short")},
    ),
    "group_lasso": Target(A_.group_lasso, {"A": WIDE, "b": THREE}, {"groups": [0, 0, 1, 1, 2]}, {"tau": 1.0}),
    "LogisticLoss": Target(A_.LogisticLoss, {"A": X, "y": y}, read=lambda loss: loss.value(np.ones(2))),
    "LowRank": Target(
        A_.LowRank, {"G": X, "diagonal": np.arange(8.0)}, read=lambda L: L.toarray(), accepts={("diagonal", "none")},
    ),
    "consensus": Target(_consensus, {"A": X, "b": t}, scalars={"rho": 1.0, "max_iter": 500}),
    "project_box": Target(
        A_.project_box, {"v": v, "lower": -np.ones(4), "upper": np.ones(4)},
        accepts={("upper", "inf"), ("lower", "minus inf")}, says=("box",),
    ),
    "prox_quadratic": Target(
        A_.prox_quadratic, {"P": P, "q": q, "A": A, "b": np.zeros(2)}, read=lambda prox: prox(THREE, 1.0),
        accepts={("q", "none")},
    ),
    "dual_ascent": Target(
        _method(A_.dual_ascent), {"A": np.array([[1.0, 1.0]]), "b": np.ones(1), "lambda0": np.ones(1)}, {"step": 0.5},
        {"tol": 1e-8, "max_iter": 100},
    ),
    "admm": Target(_admm_call, {"A": np.eye(3), "B": -np.eye(3), "c": THREE}, scalars={"rho": 1.0}),
    "proximal_gradient": Target(
        A_.proximal_gradient, {"x0": THREE}, {"gradient": lambda x: x - 1, "prox": _l1},
        {"step": 0.5, "tol": 1e-8, "max_iter": 200}, alone=True, any_shape=True, accepts={("step", "none")},
    ),
}  # fmt: skip


def _points(kernel: Callable[..., Any], **scalars: Any) -> Target:
    """A kernel that reads points as numbers."""

    def call(X: Any, **parameters: Any) -> Any:
        return kernel(**parameters)(X)

    says = ("X", "a kernel needs", "points")
    return Target(call, {"X": X}, scalars=scalars, alone=True, complex_numbers=True, says=says)


KERNELS = {
    "Polynomial": _points(K_.Polynomial, d=2, R=1.0),
    "Gaussian": _points(K_.Gaussian, sigma=1.0),
    "Sigmoid": replace(_points(K_.Sigmoid, a=1.0, b=0.0), accepts={("b", "negative")}),
    "Bilinear": Target(K_.Bilinear, {"B": np.array([[2.0, 1.0], [1.0, 3.0]])}, read=lambda k: k(X)),
    "center_gram": Target(K_.center_gram, {"K": GRAM}, complex_numbers=True),
    "is_positive_definite": Target(
        K_.is_positive_definite, {"K": GRAM}, read=lambda d: [d.positive_definite, d.largest_eigenvalue],
        complex_numbers=True,
    ),
    "polynomial_features": Target(
        K_.polynomial_features, {"X": X}, {"d": 2}, {"R": 1.0}, alone=True, complex_numbers=True,
        accepts={("X", "empty")},
    ),
    "RKHSFunction": Target(
        lambda points, coefficients: K_.RKHSFunction("rbf", points, coefficients)(X),
        {"points": ROWS, "coefficients": THREE}, complex_numbers=True, says=("X", "a kernel needs"),
    ),
}  # fmt: skip

SVM = {
    "dual_coordinate_ascent": Target(S_.dual_coordinate_ascent, {"X": X, "y": y}, scalars={"C": 1.0, "tol": 1e-9}),
    "primal_newton": Target(S_.primal_newton, {"X": X, "y": y}, scalars={"C": 1.0, "tol": 1e-9}),
    "primal_kernel_newton": Target(
        S_.primal_kernel_newton, {"X": X, "y": y}, scalars={"C": 1.0}, read=lambda result: result.alpha
    ),
    "nu_min": Target(S_.nu_min, {"u": X[:4], "v": X[2:]}, accepts={("u", "short"), ("v", "short")}),
    "spectrum_transform": Target(S_.spectrum_transform, {"K": SQUARE}, {"how": "clip"}),
    "project_q1": Target(S_.project_q1, {"beta": t, "y": y}, scalars={"C": 1.0}),
    "solve_indefinite": Target(
        S_.solve_indefinite, {"K0": GRAM, "y": y}, scalars={"C": 1.0, "rho": 1.0}, read=lambda result: result.objective
    ),
}  # fmt: skip

REGRESSION = {
    "elastic_net_dual": Target(
        R_.elastic_net_dual, {"X": X, "y": t}, scalars={"K": 1.0, "tau": 1.0}, read=lambda s: (s.w, s.b),
    ),
    "lasso_admm": Target(
        R_.lasso_admm, {"X": X, "y": t}, scalars={"tau": 1.0, "K": 0.0, "rho": 1.0, "tol": 1e-8},
        accepts={("rho", "none")},
    ),
    "lasso_dual": Target(R_.lasso_dual, {"X": X, "y": t}, scalars={"tau": 1.0}, read=lambda s: (s.w, s.b)),
    "lasso_path": Target(
        R_.lasso_path, {"X": X, "y": t, "tau": np.array([4.0, 1.0])}, scalars={"K": 0.0},
        accepts={("tau", "none"), ("tau", "empty"), ("tau", "short")},
    ),
    "ridge_path": Target(
        R_.ridge_path, {"X": X, "y": t, "K": np.array([4.0, 1.0])}, accepts={("K", "empty"), ("K", "short")},
    ),
    "tau_max": Target(R_.tau_max, {"X": X, "y": t}),
}  # fmt: skip

OFFSETS = Target(T_.tube_from_offsets, {"offsets": t}, scalars={"nu": 0.5}, alone=True)

TABLES = {
    "admm": ADMM,
    "kernels": KERNELS,
    "svm": SVM,
    "regression": REGRESSION,
    "svr": {"tube_from_offsets": OFFSETS},
}
TARGETS = {f"{room}.{name}": each for room, table in TABLES.items() for name, each in table.items()}

ROOMS = {"kernels": K_, "svm": S_, "regression": R_, "svr": T_}
PUBLIC = {
    f"{room}.{n}": getattr(package, n) for room, package in ROOMS.items() for n in package.__all__
}
ESTIMATORS = {
    n: c for n, c in PUBLIC.items() if isinstance(c, type) and issubclass(c, BaseEstimator)
}
UNREAD = {"history", "certificate", "problem", "n_iter", "kernel", "points", "family"}


def numbers(answer: Any) -> list[np.ndarray]:
    """Return what an answer consists of, as arrays."""
    if is_dataclass(answer):
        answer = [getattr(answer, f.name) for f in fields(answer) if f.name not in UNREAD]
    if isinstance(answer, dict):
        answer = [answer[key] for key in sorted(answer, key=str)]
    if isinstance(answer, (list, tuple)):
        return [a for part in answer for a in numbers(part)]
    array = np.asarray(answer.toarray() if hasattr(answer, "toarray") else answer)
    known = array.ndim or answer is None or array.dtype.kind != "O"
    assert known, f"the table does not say how to read {type(answer).__name__}"
    return [array] if array.dtype.kind in "biufc" else []
