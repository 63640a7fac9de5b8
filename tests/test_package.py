"""The package: its parts come when they are asked for; it installs into an empty environment and needs nothing else.

The pins are the same everywhere, and nothing in the repository points to a package registry.
"""

import doctest
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import companion
from tools.editions import build_package
from tools.toc import ROOT

FEW_PARTS = """
import sys, companion
assert "companion.svm" not in sys.modules and "numpy" not in sys.modules
companion.admm.lasso([[1.0]], [1.0], 0.1)
assert "sklearn" not in sys.modules
companion.svm.SVMs2()
assert "companion.svr" not in sys.modules
"""
# What needs an extra stays away: pictures and boards (notebook).
IMPORT_ALL = """
import importlib, pkgutil, sys, companion
for module in pkgutil.walk_packages(companion.__path__, "companion."):
    if not {"figures", "boards"} & set(module.name.split(".")):
        importlib.import_module(module.name)
assert not {"matplotlib", "IPython", "ipywidgets", "PIL"} & set(sys.modules)
print(companion.__version__)
"""
EXAMPLE = re.compile(r"```python\n(import numpy.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def test_parts_come_when_they_are_asked_for() -> None:
    subprocess.run([sys.executable, "-c", FEW_PARTS], check=True)


def test_the_list_of_parts_is_complete() -> None:
    assert {"admm", "kernels", "svm", "regression", "svr", "results"} <= set(dir(companion))
    assert all(getattr(companion, name) is not None for name in dir(companion))
    with pytest.raises(AttributeError, match=r"companion.* has no attribute 'svms'"):
        _ = companion.svms


def first_example(page: str) -> tuple[str, str]:
    """Return the code of a page's first example, and what it prints."""
    code, printed = EXAMPLE.search((ROOT / page).read_text(encoding="utf-8")).groups()
    return code, printed


def test_the_first_example_is_the_same_everywhere() -> None:
    """And it is a doctest of `solve_qp`."""
    found = first_example("README.md")
    assert found == first_example("book/api.md")
    examples = doctest.DocTestParser().get_examples(companion.admm.solve_qp.__doc__)[:5]
    code, printed = ("".join(getattr(e, part) for e in examples) for part in ("source", "want"))
    assert (code, printed) == (found[0].replace("\n\n", "\n"), found[1])


def needed(name: str) -> set[str]:
    """Return all that a distribution needs here without its extras, itself included."""
    found, waiting = set(), [name]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            for text in metadata.requires(name) or []:
                requirement = Requirement(text)
                if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                    waiting.append(requirement.name.lower())
    return found


def test_the_wheel_needs_no_more_than_it_says(tmp_path: Path) -> None:
    """It alone, beside the libraries that it declares, is imported and solves the first example."""
    libraries = needed("optimization-companion") - {"optimization-companion"}
    assert len(libraries) < 10
    assert not {"matplotlib", "ipython", "ipywidgets"} & libraries
    for name in libraries:
        for top in {file.parts[0] for file in metadata.files(name) or []} - {"..", "__pycache__"}:
            path = metadata.distribution(name).locate_file(top)
            (tmp_path / top).symlink_to(path)
    _, wheel = build_package()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "wheel")
    code, printed = first_example("README.md")
    paths = f"import sys; sys.path += [{str(tmp_path / 'wheel')!r}, {str(tmp_path)!r}]\n"
    run = [sys.executable, "-I", "-S", "-c", paths + IMPORT_ALL + code]
    told = subprocess.run(run, check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    assert told.split("\n", 1) == ["0.1.0", printed]


def test_the_sdist_has_tests_that_find_all_they_need(tmp_path: Path) -> None:
    """Collected here; ``make test-all`` runs them, and installs from the index."""
    folder = unpacked_sdist(tmp_path)
    collect = [sys.executable, "-m", "pytest", "-q", "-p", "no:nbval", "--collect-only", "tests"]
    told = subprocess.run(collect, cwd=folder, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout[-2000:]
    assert int(re.search(r"(\d+)(?:/\d+)? tests collected", told.stdout)[1]) > 5000
    assert {"CHANGELOG.md", "CITATION.cff", "LICENSE"} <= {p.name for p in folder.iterdir()}


def unpacked_sdist(folder: Path) -> Path:
    sdist, _ = build_package()
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "sdist", filter="data")
    (inside,) = (folder / "sdist").iterdir()  # beside it may be an environment
    return inside


@pytest.mark.slow
def test_it_runs_in_an_empty_environment(tmp_path: Path) -> None:
    """The wheel from an index's libraries; and the sdist, with the tests that it brings."""
    code, printed = first_example("README.md")
    venv.create(tmp_path / "env", with_pip=True)
    python = next((tmp_path / "env").glob("[bS]*/python*"))  # bin, or Scripts
    _, wheel = build_package()
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True, cwd=tmp_path)
    run = [python, "-I", "-c", IMPORT_ALL + code]
    told = subprocess.run(run, check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    assert told.split("\n", 1) == ["0.1.0", printed]
    for path in (ROOT / "companion/boards/browser").iterdir():
        assert list((tmp_path / "env").rglob(f"companion/boards/browser/{path.name}")), path
    folder = unpacked_sdist(tmp_path)
    tests = "-m pytest -q -n 2 -p no:nbval tests companion"
    subprocess.run([sys.executable, *tests.split()], cwd=folder, check=True)


LOCK = (ROOT / "requirements.lock").read_text()


def pins(lock: str) -> list[str]:
    """Return the requirements of a lock file without their hashes, for example ``numpy==2.4.6``."""
    return re.findall(r"^[a-z0-9]\S+.*?(?= \\$)", lock, flags=re.MULTILINE)


def versions(lock: str) -> dict[str, str]:
    """Return the version of each distribution, whatever its extras and markers."""
    return dict(re.match(r"([\w.-]+).*?==(\S+)", pin).groups() for pin in pins(lock))


def test_conda_and_binder_install_what_the_lock_names() -> None:
    pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"][-1]["pip"]
    assert pip == ["-r notebooks/requirements.txt"]
    assert "pip install --no-deps" in (ROOT / "postBuild").read_text()
    assert (ROOT / "postBuild").stat().st_mode & 0o100
    few = versions((ROOT / "notebooks/requirements.txt").read_text())
    assert few.items() < versions(LOCK).items(), "run make lock"
    assert not {"sphinx", "playwright", "mypy"} & set(few)


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
        if requirement.startswith(project["name"]):  # one extra names another
            continue
        name = re.split(r"[\[<>=; ]", requirement)[0].lower()
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
