"""The package: its parts come when they are asked for; it installs into an empty environment and needs nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import companion
from tools.editions import write_sdist
from tools.toc import ROOT

FEW_PARTS = """
import sys, companion
assert "companion.svm" not in sys.modules and "numpy" not in sys.modules
companion.svm.SVMs2()
assert "companion.svr" not in sys.modules
"""
# With dask left out, which is an extra, as companion.distributed is.
IMPORT_ALL = """
import importlib, pkgutil, companion
for module in pkgutil.walk_packages(companion.__path__, "companion."):
    if "distributed" not in module.name:
        importlib.import_module(module.name)
assert "site-packages" in companion.__file__, companion.__file__
"""


def test_parts_come_when_they_are_asked_for() -> None:
    subprocess.run([sys.executable, "-c", FEW_PARTS], check=True)


def test_the_list_of_parts_is_complete() -> None:
    assert {"admm", "kernels", "svm", "regression", "svr", "results"} <= set(dir(companion))
    assert all(getattr(companion, name) is not None for name in dir(companion))
    with pytest.raises(AttributeError, match=r"companion.* has no attribute 'svms'"):
        _ = companion.svms


@pytest.mark.slow
def test_it_runs_in_an_empty_environment(tmp_path: Path) -> None:
    """All that the package imports is declared, and all its files are in the package. This needs a network."""
    left_out = shutil.ignore_patterns(".*", "build", "*.egg-info")
    checkout = shutil.copytree(ROOT, tmp_path / "built", ignore=left_out)  # by setuptools
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    venv.create(tmp_path / "env", with_pip=True)
    python = next((tmp_path / "env").glob("[bS]*/python*"))  # bin, or Scripts
    for source in (write_sdist(), checkout):
        install = [python, "-m", "pip", "install", "--quiet", "--no-compile", source]
        subprocess.run(install, check=True, cwd=tmp_path)
        run = [python, "-I", "-c", IMPORT_ALL + example]
        told = subprocess.run(run, check=True, cwd=tmp_path, capture_output=True, text=True).stdout
        assert told.splitlines()[-1] == "True"
        for path in (ROOT / "companion/boards/browser").iterdir():
            assert list((tmp_path / "env").rglob(f"companion/boards/browser/{path.name}")), path
        remove = [python, "-m", "pip", "uninstall", "--quiet", "--yes", "companion"]
        subprocess.run(remove, check=True, cwd=tmp_path)
