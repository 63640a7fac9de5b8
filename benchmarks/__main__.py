"""Run every benchmark of this folder in turn, each in a process of its own: ``python -m benchmarks [NAME ...]``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(names: list[str]) -> None:
    known = {path.stem: path for path in sorted(HERE.glob("[a-z]*.py"))}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(unknown)}; there are: {', '.join(known)}")
    single = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in names or known:
        print(f"== {name} ==", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        subprocess.run(command, env=single, check=True, cwd=HERE.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
