"""What the package finds for the points of a board, by the names that the solvers in the browser use."""

import warnings
from typing import Any

import numpy as np

from companion.boards import gram, point, steps, tube, weights

NEEDED = {"tube": (1, "a point"), "weights": (1, "a point"), "gram": (2, "two points")}
NEEDED["point"] = 2, "a point of each colour"
SIDE = 48  # values of a function per axis, from which the browser draws its lines


def answer(kind: str, points: Any, values: Any, limits: Any) -> dict[str, Any]:
    """Return the numbers of a board, with the warnings; without a solution the message alone."""
    points = np.reshape(points, (-1, 3))
    least, what = NEEDED.get(kind, (0, ""))
    if len(np.unique(points[:, 2]) if kind == "point" else points) < least:
        return {"message": f"There must be {what}."}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = ANSWERS[kind](points, values, limits)
        except ValueError as error:
            return {"message": str(error)}
    return {"message": " ".join(str(w.message) for w in caught), "solved": True, **found}


def field(f: Any, limits: Any) -> list[list[float]]:
    x, y = (np.linspace(*ends, SIDE) for ends in (limits[:2], limits[2:]))
    plane = np.stack(np.meshgrid(x, y), axis=-1)
    return f(plane.reshape(-1, 2)).reshape(SIDE, SIDE).tolist()


def of(machine: Any, *names: str) -> dict[str, Any]:
    return {name: np.asarray(getattr(machine, f"{name}_")).tolist() for name in names}


def support(m: Any, multipliers: np.ndarray, slacks: np.ndarray) -> dict[str, Any]:
    return {
        "multipliers": multipliers.tolist(), "slacks": slacks.tolist(), "places": m.point_classes_.tolist(),
        "counts": [m.p_f_, m.q_f_, m.p_m_, m.q_m_], **of(m, "b", "norm", "objective"),
    }  # fmt: skip


def of_points(points: np.ndarray, values: Any, limits: Any) -> dict[str, Any]:
    s = points[:, 2]
    m = point.fit(points, values)
    place = np.argsort(np.argsort(-s, kind="stable"))  # of a point, the blue ones first
    found = support(m, np.r_[m.lambda_, m.mu_][place], np.r_[m.epsilon_, m.xi_][place])
    found |= {"b_interval": [*getattr(m, "b_interval_", (m.b_, m.b_))], **of(m, "eta", "delta")}
    there = m.norm_ > 1e-12  # a shorter w is rounding
    w = m.w_.tolist() if there and m.kernel_.is_linear else None
    plane = field(m.decision_function, limits) if there else None
    return found | {"w": w, "field": plane, **({"counts": None} if m.degenerate_ else {})}


def of_tube(points: np.ndarray, values: Any, limits: Any) -> dict[str, Any]:
    m = tube.fit(points, values)
    found = support(m, m.mu_ - m.lambda_, m.xi_ + m.xi_prime_)
    found["nu"] = values["nu"] if values["program"] == tube.NU else m.nu_
    found["values"] = m.predict(np.linspace(*limits[:2], 241)[:, None]).tolist()
    return found | of(m, "epsilon", "b_interval", "epsilon_interval")


def of_weights(points: np.ndarray, values: Any, limits: Any) -> dict[str, Any]:
    return {name: [*m.w_.tolist(), float(m.b_)] for name, m in weights.fit(points, values).items()}


def of_steps(points: np.ndarray, values: Any, limits: Any) -> dict[str, Any]:
    run = steps.take(points, values)
    rest = steps.STEPS - run.n_iter  # where both residuals are 0, nothing moves any more
    names = ("primal_residual", "dual_residual", "x", "z")
    rows = {name: run.history[name].tolist() for name in names}
    return {name: found + found[-1:] * rest for name, found in rows.items()}


def of_gram(points: np.ndarray, values: Any, limits: Any) -> dict[str, Any]:
    X = points[:, :2]
    m = gram.fit(points, values)
    found = np.pad(m.eigenvalues_, (0, len(X)))[: min(6, len(X))]
    return {
        "eigenvalues": np.where(found > 1e-12 * found[0], found, 0.0).tolist(), "gram": m.kernel_(X).tolist(),
        "share": float(m.explained_variance_ratio_[0]), "component": m.transform(X)[:, 0].tolist(),
        "field": field(lambda x: m.transform(x)[:, 0], limits),
    }  # fmt: skip


ANSWERS = {
    "point": of_points,
    "tube": of_tube,
    "weights": of_weights,
    "steps": of_steps,
    "gram": of_gram,
}
