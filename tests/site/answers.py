"""What the package finds for the points of a board, by the names that the solvers in the browser use."""

import warnings
from typing import Any

import numpy as np

from companion.boards import gram, point, steps, tube, weights

SIDE = 48  # values of a function per axis, from which the browser draws its lines
Result = dict[str, Any]


def answer(kind: str, points: Any, values: Any, limits: Any) -> Result:
    """Return the numbers of a board, with the warnings; without a solution the message alone."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = ANSWERS[kind](np.reshape(points, (-1, 3)), values, limits)
        except ValueError as error:
            return {"message": str(error)}
    told = " ".join(str(warning.message) for warning in caught)
    return {"message": told, "solved": True, **found}


def need(there: bool, what: str) -> None:
    if not there:
        raise ValueError(f"There must be {what}.")


def field(f: Any, limits: Any) -> list[list[float]]:
    left, right, bottom, top = limits
    axes = np.linspace(left, right, SIDE), np.linspace(bottom, top, SIDE)
    plane = np.stack(np.meshgrid(*axes), axis=-1)
    return f(plane.reshape(-1, 2)).reshape(SIDE, SIDE).tolist()


def numbers(machine: Any, *names: str) -> dict[str, float]:
    return {name: float(getattr(machine, f"{name}_")) for name in names}


def counts(machine: Any) -> list[int]:
    return [machine.p_f_, machine.q_f_, machine.p_m_, machine.q_m_]


def of_points(points: np.ndarray, values: Any, limits: Any) -> Result:
    s = points[:, 2]
    need(len(set(s)) > 1, "a point of each colour")
    m = point.fit(points, values)
    place = np.argsort(np.argsort(-s, kind="stable"))  # of a point, the blue ones first
    there = m.norm_ > 1e-12  # a shorter w is rounding
    return {
        "multipliers": np.r_[m.lambda_, m.mu_][place].tolist(),
        "slacks": np.r_[m.epsilon_, m.xi_][place].tolist(),
        "places": m.point_classes_.tolist(),
        **numbers(m, "b", "eta", "norm", "delta", "objective"),
        "b_interval": list(getattr(m, "b_interval_", (m.b_, m.b_))),
        "counts": None if m.degenerate_ else counts(m),
        "w": m.w_.tolist() if there and m.kernel_.is_linear else None,
        "field": field(m.decision_function, limits) if there else None,
    }


def of_tube(points: np.ndarray, values: Any, limits: Any) -> Result:
    need(len(points) > 0, "a point")
    m = tube.fit(points, values)
    return {
        "multipliers": (m.mu_ - m.lambda_).tolist(),
        "slacks": (m.xi_ + m.xi_prime_).tolist(),
        "places": m.point_classes_.tolist(),
        **numbers(m, "b", "epsilon", "norm", "objective"),
        "nu": values["nu"] if values["program"] == tube.NU else m.nu_,
        "b_interval": list(m.b_interval_),
        "epsilon_interval": list(m.epsilon_interval_),
        "counts": counts(m),
        "values": m.predict(np.linspace(*limits[:2], 241)[:, None]).tolist(),
    }


def of_weights(points: np.ndarray, values: Any, limits: Any) -> Result:
    need(len(points) > 0, "a point")
    machines = weights.fit(points, values)
    return {name: [*m.w_.tolist(), float(m.b_)] for name, m in machines.items()}


def of_steps(points: np.ndarray, values: Any, limits: Any) -> Result:
    run = steps.take(points, values)
    rest = steps.STEPS - run.n_iter  # where both residuals are 0, nothing moves any more
    rows = {
        name: run.history[name].tolist() for name in ("primal_residual", "dual_residual", "x", "z")
    }
    return {name: found + found[-1:] * rest for name, found in rows.items()}


def of_gram(points: np.ndarray, values: Any, limits: Any) -> Result:
    X = points[:, :2]
    need(len(X) > 1, "two points")
    m = gram.fit(points, values)
    found = np.pad(m.eigenvalues_, (0, len(X)))[: min(6, len(X))]
    return {
        "gram": m.kernel_(X).tolist(),
        "eigenvalues": np.where(found > 1e-12 * found[0], found, 0.0).tolist(),
        "share": float(m.explained_variance_ratio_[0]),
        "component": m.transform(X)[:, 0].tolist(),
        "field": field(lambda x: m.transform(x)[:, 0], limits),
    }


ANSWERS = {
    "point": of_points,
    "tube": of_tube,
    "weights": of_weights,
    "steps": of_steps,
    "gram": of_gram,
}
