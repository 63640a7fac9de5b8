"""The package: its parts come when they are asked for; it installs into an empty environment and needs nothing else.

The pins are the same everywhere, and nothing in the repository points to a package registry.
"""

import re
import shutil
import subprocess
import sys
import tomllib
import venv
from itertools import chain
from pathlib import Path

import pytest
import yaml

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


LOCK = (ROOT / "requirements.lock").read_text()


def pins(lock: str) -> list[str]:
    """Return the requirements of a lock file without their hashes, for example ``numpy==2.4.6``."""
    return re.findall(r"^[a-z0-9]\S+.*?(?= \\$)", lock, flags=re.MULTILINE)


def test_conda_and_binder_install_what_the_lock_names() -> None:
    pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"][-1]["pip"]
    assert pip == ["-r requirements.lock"]
    assert "pip install --no-deps" in (ROOT / "postBuild").read_text()
    assert (ROOT / "postBuild").stat().st_mode & 0o100
    assert len(pins(LOCK)) > 100


def test_actions_of_the_workflows_are_pinned_by_commit() -> None:
    """A tag can be moved to another commit; behind the commit stands the tag that a person reads."""
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        used = re.findall(r"uses: (.+)", path.read_text())
        assert used
        for action in used:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} +# v[\d.]+", action), action


def test_every_pin_is_exact_and_hashed() -> None:
    for block in re.split(r"\n(?=\S)", LOCK.strip()):
        assert re.match(r"[a-z0-9.-]+(\[[a-z, -]+\])?==\S+", block), block
        assert "--hash=sha256:" in block, block


def test_the_lock_covers_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    kept = [extras[extra] for extra in extras if extra not in ("bench", "mutants")]
    locked = {re.split(r"[=\[]", pin)[0] for pin in pins(LOCK)}
    for requirement in chain(project["dependencies"], *kept):
        name = re.split(r"[\[<>= ]", requirement)[0].lower()
        assert name in locked, f"{requirement}: run make lock"


def test_no_registry_host_in_any_file() -> None:
    command = ["git", "ls-files", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    if not names:
        pytest.skip("not a git checkout")
    # in two words each: this file names none
    hosts = "files.python hosted.org, registry.npm js.org, py pi.org/simple, deb.deb ian.org"
    found = re.compile(hosts.replace(" ", "").replace(",", "|").replace(".", r"\.").encode())
    for path in (ROOT / name for name in names.split("\0")):
        if path.is_file() and "vendor" not in path.parts:
            assert not found.search(path.read_bytes()), path


def test_scripts_explain_themselves() -> None:
    """A script that is asked for help, or given a word that it does not know, does nothing else."""
    texts = {path.name: path.read_text() for path in (ROOT / "tools").glob("*.py")}
    scripts = {name: text for name, text in texts.items() if '__name__ == "__main__"' in text}
    assert len(scripts) > 5
    assert [name for name, text in scripts.items() if "ArgumentParser(" not in text] == []
