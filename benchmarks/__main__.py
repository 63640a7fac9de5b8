"""Run benchmarks of this folder in turn, each in a process of its own: ``python -m benchmarks [NAME ...] [--store]``.

Without a name all run. Options go to each benchmark: with ``--store`` the book's pages show the new figures.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> None:
    known = {path.stem: path for path in sorted(HERE.glob("[a-z]*.py"))}
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--store", action="store_true", help="write the figures to results/")
    given, options = parser.parse_known_args(arguments)
    unknown = [name for name in given.names if name not in known]
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(unknown)}; there are: {', '.join(known)}")
    if given.store:
        options.append("--store")
    single = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in given.names or known:
        print(f"== {name} ==", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}", *options]
        subprocess.run(command, env=single, check=True, cwd=HERE.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
