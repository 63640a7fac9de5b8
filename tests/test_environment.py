"""The pins are the same everywhere, and nothing in the repository points to a package registry."""

from __future__ import annotations

import re
import subprocess
import tomllib
from itertools import chain

import pytest
import yaml

from tools.toc import ROOT

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
