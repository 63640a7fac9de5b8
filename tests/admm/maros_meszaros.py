"""Take eight quadratic programs of the Maros-Meszaros collection from the package sif2jax, for the tests.

``DUAL1`` to ``DUAL4`` and ``DUALC1``, ``2``, ``5``, ``8`` (Frangioni) are tables of numbers, which nobody wants
to type. sif2jax carries them as programs for JAX; the tests need neither of the two, only the numbers. In an
environment of its own::

    pip install sif2jax
    python tests/admm/maros_meszaros.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

NAMES = ["DUAL1", "DUAL2", "DUAL3", "DUAL4", "DUALC1", "DUALC2", "DUALC5", "DUALC8"]
FILE = Path(__file__).with_suffix(".npz")


def numbers(name: str) -> dict[str, np.ndarray]:
    """Return the data of ``min 1/2 x'Px + q'x  s.t. E x = e, G x >= g, lower <= x <= upper``."""
    import jax
    from sif2jax import cutest

    problem = getattr(cutest, name)()
    zero = 0.0 * problem.y0
    data = {
        "P": jax.hessian(problem.objective)(zero, problem.args),
        "q": jax.grad(problem.objective)(zero, problem.args),
        "lower": problem.bounds[0],
        "upper": problem.bounds[1],
    }
    assert problem.objective(zero, problem.args) == 0
    for (matrix, side), row in zip((("E", "e"), ("G", "g")), (0, 1)):
        if problem.constraint(zero)[row] is not None:
            data[matrix] = jax.jacobian(lambda x, row=row: problem.constraint(x)[row])(zero)
            data[side] = -problem.constraint(zero)[row]
    return {f"{name}_{key}": np.asarray(value, float) for key, value in data.items()}


def main() -> None:
    """Write the file that the tests read."""
    import jax

    jax.config.update("jax_enable_x64", True)
    found: dict[str, np.ndarray] = {}
    for name in NAMES:
        found |= numbers(name)
    np.savez_compressed(FILE, **found)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
