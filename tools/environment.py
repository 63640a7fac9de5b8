"""Write environment.yml (conda, Binder) with the pins of requirements.lock.

conda brings Python and pip; every package comes with the version that the lock file names, so that both ways of
installing give the same environment. A test compares the two files.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = "3.11"


def pins(lock: str) -> list[str]:
    """The requirements of a lock file without their hashes, for example ``numpy==2.4.6``."""
    lines = (line.strip().removesuffix("\\").strip() for line in lock.splitlines())
    return [line for line in lines if re.match(r"[A-Za-z0-9]", line)]


def environment(lock: str) -> str:
    packages = "\n".join(f'      - "{pin}"' for pin in pins(lock))
    return (
        "# Made by tools/environment.py from requirements.lock: change that file, not this one.\n"
        "name: companion\n"
        "channels:\n"
        "  - conda-forge\n"
        "dependencies:\n"
        f"  - python={PYTHON}\n"
        "  - pip\n"
        "  - pip:\n"
        f"{packages}\n"
        "      - -e .\n"
    )


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    text = environment((ROOT / "requirements.lock").read_text())
    (ROOT / "environment.yml").write_text(text)
