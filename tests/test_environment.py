"""The pins are the same everywhere, and nothing in the repository points to a package registry."""

from __future__ import annotations

import re
import subprocess
import tomllib

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
    extras = [
        names
        for extra, names in project["optional-dependencies"].items()
        if extra not in ("bench", "mutants")
    ]
    wanted = [*project["dependencies"], *(name for extra in extras for name in extra)]
    locked = {re.split(r"[=\[]", pin)[0] for pin in pins(LOCK)}
    for requirement in wanted:
        name = re.split(r"[\[<>= ]", requirement)[0].lower()
        assert name in locked, f"{requirement}: run make lock"


def test_no_registry_host_in_any_file() -> None:
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    if names == [""]:
        pytest.skip("not a git checkout")
    hosts = re.compile(
        rb"files\.python"
        rb"hosted\.org|registry\.npm"
        rb"js\.org|py"
        rb"pi\.org/simple|deb\.deb"
        rb"ian\.org"
    )
    for name in filter(None, names):
        path = ROOT / name
        if path.is_file() and "vendor" not in path.parts:
            assert not hosts.search(path.read_bytes()), name


def test_scripts_explain_themselves() -> None:
    """A script that is asked for help, or given a word that it does not know, does nothing else."""
    scripts = [
        p for p in (ROOT / "tools").glob("*.py") if '__name__ == "__main__"' in p.read_text()
    ]
    mute = {p.name for p in scripts if "ArgumentParser(" not in p.read_text()}
    assert len(scripts) > 5
    assert mute == set()
