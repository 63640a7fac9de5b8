"""A step of a make target is quiet when it is well, and tells all when it is not."""

import subprocess
import sys

from tools.toc import ROOT


def step(script: str) -> tuple[int, str]:
    command = [sys.executable, "tools/step.py", "Unit tests", sys.executable, "-c", script]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout


def test_one_line_when_all_is_well_and_what_was_skipped() -> None:
    said = "SKIPPED [1] no browser\\n= 7 passed =\\nWARNING: Location\\n\\x1b[92m=====\\x1b[0m"
    code, told = step(f"for i in range(99): print(i)\nprint('{said}')")
    first, skipped = told.splitlines()
    assert (code, skipped.strip()) == (0, "SKIPPED [1] no browser")
    assert first.startswith("✓ Unit tests: 7 passed (")


def test_everything_when_not() -> None:
    script = "import sys\nfor i in range(99): print(i)\nprint('why', file=sys.stderr)\nexit(3)"
    code, told = step(script)
    assert code == 3
    assert {*map(str, range(99)), "why"} <= set(told.splitlines())
