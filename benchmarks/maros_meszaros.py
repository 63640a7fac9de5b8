"""The Maros-Meszaros collection of quadratic programs, each to its proof or to its refusal, beside Clarabel.

The package proxsuite carries the collection in its source distribution, as files of numbers::

    pip download --no-deps --no-binary :all: proxsuite==0.8.0     # or: take the .tar.gz from the package index
    python -m benchmarks maros_meszaros --file proxsuite-0.8.0.tar.gz

``--keep`` writes a few small ones to where the tests read them. With ``--store`` the page "How fast is it" shows the
new figures. Programs with fewer than 4,600 variables and rows are solved, 94 of the 138. The files were converted by
sums, and where the collection has the number 0 some have 1e-15: right sides and bounds below 1e-11 count as 0, and
bounds beyond 1e19 as none. A row that is an inequality or a range gets a slack variable.
"""

from __future__ import annotations

import argparse
import io
import tarfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.io import loadmat

from benchmarks import cpu_seconds, missing, store
from companion.admm import solve_qp

SIZE = 4600  # variables and rows, less than
NOTHING = 1e-11
NO_BOUND = 1e19
KEPT = (
    "DUAL1", "DUAL2", "DUAL3", "DUAL4", "DUALC1", "DUALC2", "DUALC5", "PRIMALC1", "PRIMALC2", "QAFIRO", "QPCBLEND",
    "QRECIPE", "QSC205", "QSCAGR7", "QSHARE2B",
)  # fmt: skip
TABLES = Path(__file__).parents[1] / "tests" / "admm" / "maros_meszaros.npz"


class Program(NamedTuple):
    """``min 1/2 x'Px + q'x + constant  s.t. A x = b, lower <= x <= upper``; the program has n variables of its own."""

    P: np.ndarray
    q: np.ndarray
    A: np.ndarray
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    constant: float
    n: int


def read(content: bytes) -> Program | None:
    """Return the program of one file; None if it is large."""
    data = loadmat(io.BytesIO(content))
    n, rows = int(data["n"].item()), int(data["m"].item()) - int(data["n"].item())
    if n + rows >= SIZE:
        return None
    low, high = (np.asarray(data[side], dtype=float).ravel() for side in "lu")
    for side in (low, high):
        side[np.abs(side) < NOTHING] = 0.0
        side[np.abs(side) > NO_BOUND] *= np.inf
    real = np.isfinite(low[:rows]) | np.isfinite(high[:rows])
    A, below, above = data["A"].toarray()[:rows][real], low[:rows][real], high[:rows][real]
    loose = np.flatnonzero(below < above)
    P = np.zeros((n + loose.size, n + loose.size))
    P[:n, :n] = data["P"].toarray()
    return Program(
        P,
        np.append(data["q"].ravel(), np.zeros(loose.size)),
        np.hstack([A, -np.eye(below.size)[:, loose]]),
        np.where(below < above, 0.0, below),
        np.append(low[rows:], below[loose]),
        np.append(high[rows:], above[loose]),
        float(data["r"].item()),
        n,
    )


def collection(file: Path) -> Iterator[tuple[str, Program]]:
    """Yield the programs of the source distribution by their names."""
    with tarfile.open(file) as archive:
        members = [m for m in archive.getmembers() if m.name.endswith(".mat")]
        for member in sorted(members, key=lambda m: m.name):
            content = archive.extractfile(member)
            program = read(content.read()) if "maros_meszaros" in member.name and content else None
            if program is not None:
                yield Path(member.name).stem, program


def keep(file: Path) -> None:
    """Write some programs for the tests, ``NAME_field`` each."""
    programs = [(name, p) for name, p in collection(file) if name in KEPT]
    arrays = {f"{name}_{key}": value for name, p in programs for key, value in p._asdict().items()}
    np.savez_compressed(TABLES, **arrays)


def by_clarabel(p: Program) -> float | None:
    """Return the optimal value by Clarabel at its default tolerance, if it calls it solved."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    N, eye = p.q.size, np.eye(p.q.size)
    up, low = np.isfinite(p.upper), np.isfinite(p.lower)
    rows = np.vstack([p.A, eye[up], -eye[low]])
    sides = np.concatenate([p.b, p.upper[up], -p.lower[low]])
    cones = [clarabel.ZeroConeT(p.b.size), clarabel.NonnegativeConeT(sides.size - p.b.size)]
    P, A = sparse.csc_matrix(np.triu(p.P)), sparse.csc_matrix(rows.reshape(-1, N))
    solution = clarabel.DefaultSolver(P, p.q, A, sides, cones, settings).solve()
    return solution.obj_val + p.constant if str(solution.status) == "Solved" else None


def row(name: str, p: Program) -> dict[str, Any]:
    """Solve a program; return what came of it."""
    found: dict[str, Any] = {"name": name, "variables": p.n, "rows": p.b.size}

    def run() -> None:
        try:
            result = solve_qp(p.P, p.q, p.A, p.b, lower=p.lower, upper=p.upper)
        except ValueError as error:
            found["outcome"] = f"refused: {error}"
        else:
            found["outcome"] = "proved" if result.certificate.ok else "flagged"
            found["objective"] = result.objective + p.constant
            found["worst_residual"] = result.certificate.worst

    found["seconds"] = cpu_seconds(run)
    if "objective" in found and not missing(["clarabel"]):
        theirs = by_clarabel(p)
        if theirs is not None:
            found["from_clarabel"] = abs(found["objective"] - theirs) / max(abs(theirs), 1.0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, help="the source distribution of proxsuite")
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    if arguments.file is None:
        print(
            "skipped: the collection is in the source distribution of proxsuite; name it with --file"
        )
        return
    if arguments.keep:
        keep(arguments.file)
        return
    warnings.simplefilter("ignore")
    rows = []
    for name, program in collection(arguments.file):
        rows.append(row(name, program))
        told = {key: value for key, value in rows[-1].items() if key != "name"}
        print(
            f"{name:10}",
            *(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in told.items()),
        )
    proved = sum(r["outcome"] == "proved" for r in rows)
    print(
        f"{proved} of {len(rows)} proved, the slowest in {max(r['seconds'] for r in rows):.1f} s of processor time"
    )
    if arguments.store:
        store("maros_meszaros", rows)


if __name__ == "__main__":
    main()
