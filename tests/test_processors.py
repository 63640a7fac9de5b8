"""The digits that a reader sees do not depend on the processor.

OpenBLAS picks the kernels of the processor that it finds, and they sum in different orders. OPENBLAS_CORETYPE picks
others. Here every example of the package is run with the kernels of this processor and with the plainest ones, and what
it prints is compared. For the notebooks ``make test-processor`` does the same: nbval compares each stored output with
a run under other kernels.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest

PLAINEST = "Prescott"
SCRIPT = """
import doctest
import importlib
import json
import pkgutil
import warnings

import companion
from threadpoolctl import threadpool_info

warnings.simplefilter("ignore")
printed = {}


class Recorder(doctest.DocTestRunner):
    def report_success(self, out, test, example, got):
        printed[f"{test.name}:{example.lineno}"] = got if "..." not in example.want else example.want

    def report_failure(self, out, test, example, got):
        printed[f"{test.name}:{example.lineno}"] = got

    def report_unexpected_exception(self, out, test, example, exc_info):
        printed[f"{test.name}:{example.lineno}"] = repr(exc_info[1])


flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
finder, runner = doctest.DocTestFinder(exclude_empty=True), Recorder(verbose=False, optionflags=flags)
names = [module.name for module in pkgutil.walk_packages(companion.__path__, "companion.")]
for name in names:
    module = importlib.import_module(name)
    for test in finder.find(module, name):
        runner.run(test, out=lambda text: None)
kernels = sorted(str(p.get("architecture")) for p in threadpool_info() if p["user_api"] == "blas")
print(json.dumps({"kernels": kernels, "printed": printed}))
"""


def run(core: str | None) -> dict:
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    if core is not None:
        environment["OPENBLAS_CORETYPE"] = core
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64") or sys.platform == "darwin",
    reason="OPENBLAS_CORETYPE names kernels of x86-64, and Apple's NumPy has another BLAS",
)
def test_examples_print_the_same_with_the_plainest_kernels() -> None:
    here, there = run(None), run(PLAINEST)
    if here["kernels"] == there["kernels"]:
        pytest.skip(f"this NumPy has no other kernels than {here['kernels']}")
    assert len(here["printed"]) > 300
    differ = {
        name: (text, there["printed"].get(name))
        for name, text in here["printed"].items()
        if text.split() != there["printed"].get(name, "").split()
    }
    assert differ == {}
