"""The digits that a reader sees do not depend on the processor.

OpenBLAS picks the kernels of the processor that it finds, and they sum in different orders; OPENBLAS_CORETYPE picks
others. For the notebooks ``make test-processor`` does the same.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest

EXAMPLES = """
import doctest, importlib, json, pkgutil, warnings
import companion
from threadpoolctl import threadpool_info

warnings.simplefilter("ignore")
printed = []


class Recorder(doctest.OutputChecker):
    def check_output(self, want, got, flags):
        printed.append((test.name, (want if "..." in want else got).split()))
        return True


finder, runner = doctest.DocTestFinder(exclude_empty=True), doctest.DocTestRunner(Recorder())
for module in pkgutil.walk_packages(companion.__path__, "companion."):
    for test in finder.find(importlib.import_module(module.name), module.name):
        runner.run(test, out=lambda text: None)
kernels = sorted(str(p.get("architecture")) for p in threadpool_info() if p["user_api"] == "blas")
print(json.dumps({"kernels": kernels, "printed": printed}))
"""


def run(script: str, **environment: str) -> dict:
    inherited = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    command, env = [sys.executable, "-c", script], inherited | environment
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64") or sys.platform == "darwin",
    reason="OPENBLAS_CORETYPE names kernels of x86-64, and Apple's NumPy has another BLAS",
)
def test_examples_print_the_same_with_the_plainest_kernels() -> None:
    here, there = run(EXAMPLES), run(EXAMPLES, OPENBLAS_CORETYPE="Prescott")
    if here["kernels"] == there["kernels"]:
        pytest.skip(f"this NumPy has no other kernels than {here['kernels']}")
    assert len(here["printed"]) > 300
    assert here["printed"] == there["printed"]
