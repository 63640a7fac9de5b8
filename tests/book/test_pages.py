"""The book's own data: vendored scripts, side bar, reference, macros. What the builder warns of is not tested again."""

import hashlib
import importlib
import re
import tomllib

import pytest

from tools import reference
from tools.toc import BOOK, ROOT, notebooks, pages_in_order, read_yaml, text_of, title

VENDOR = BOOK / "_static/vendor"
CONFIG = read_yaml(ROOT / "_config.yml")
SPHINX = CONFIG["sphinx"]["config"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = [f"companion.{chapter}" for chapter in reference.CHAPTERS]


def test_vendored_files_are_those_of_their_checksums() -> None:
    """And MathJax is the version that `make vendor` fetches."""
    lines = (VENDOR / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    listed = dict(reversed(line.split("  ")) for line in lines)
    files = [path for path in VENDOR.rglob("*") if path.is_file() and path.name != "SHA256SUMS"]
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    assert listed == dict(zip([path.relative_to(VENDOR).as_posix() for path in files], sums))
    version = re.search(r"^MATHJAX := (\S+)", MAKEFILE, re.MULTILINE)[1]
    assert f'"{version}"' in (VENDOR / "mathjax/core.js").read_text(encoding="utf-8")
    assert "Apache License" in (VENDOR / "mathjax/LICENSE").read_text(encoding="utf-8")


def test_the_side_bar_shows_the_section_and_the_title() -> None:
    """Every number of a page's title there is one of its labels, or of its line "Follows"."""
    number = r"(?:ZM |YCG |SP )?[\dA.–]+(?:, A.4)?"
    entry = rf"- file: (notebooks/\S+)\n +title: \"(?:({number}) )?(.+)\""
    shown = re.findall(entry, (BOOK / "_toc.yml").read_text(encoding="utf-8"))
    chapters = {page for page in pages_in_order() if re.match("notebooks/(?!about)", page)}
    assert {page for page, _, _ in shown} == chapters
    for page, numbers, name in shown:
        assert name == title(page)
        text = text_of(page)
        labels = re.findall(r"\(sec-\w+?-([\d-]+)", text)
        known = {"A", "1", "4", "5"} | {label.replace("-", ".") for label in labels}
        follows = re.search("Follows.*", text)[0]
        known |= set(re.findall(r"\d+\.\d+|A\.\d", follows))
        assert numbers or "no section" in follows, page
        assert set(re.findall(r"[A\d][\d.]*", numbers)) <= known, page


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_of_a_chapter(package: str) -> None:
    """Every public name is in it, or in a chapter that shares it; letters of the notation lead to names."""
    name = package.rsplit(".", 1)[-1]
    assert f"book/api/{name}" in pages_in_order()
    assert f"<api-{name}>" in text_of("book/api"), f"book/api.md does not link {package}"
    everything = "".join(reference.reference_pages().values())
    for public in importlib.import_module(package).__all__:
        full = rf"(companion\.\w+)\.{public}"
        constant = rf"{public}\n   :module: companion\.\w+"
        assert re.search(rf":: ({full}|{constant})$", everything, re.MULTILINE), public
    page = reference.reference_pages()[name]
    headings = re.findall("^## .*$", page, flags=re.MULTILINE)
    assert headings
    assert not [told for told in headings if re.search(r":\w+:`", told)], "roles are not read there"
    assert any(f":: {package}.{linked}" in page for linked in reference.notation_rows())


def test_the_reference_names_the_pages_that_use_a_name() -> None:
    """All shared modules are there."""
    page = reference.reference_pages()["admm"]
    assert "*Used in* " in page
    apart = reference.reference_pages()["proximal"]
    assert "*Notation* :math:`S_c(v)` (:ref:`Chapter 16 <notation-16>`)" in apart
    used = reference.used_in()
    assert "notebooks/admm/admm" in used["companion.admm.admm"]
    assert all(len(users) == len(set(users)) for users in used.values())
    modules = {path.stem for path in (ROOT / "companion").glob("*.py")}
    told = {module.split(".")[1] for module in reference.SHARED}
    assert modules - {"__init__", "arguments", "arithmetic", "checks", "records"} <= told


def test_notebooks_use_no_macro_of_the_site() -> None:
    """JupyterLab does not know them."""
    macro = rf"\\({'|'.join(SPHINX['mathjax3_config']['tex']['macros'])})(?![A-Za-z])"
    for page in notebooks():
        assert re.findall(macro, text_of(page)) == [], page


def test_pages_name_no_workplace() -> None:
    for path in (f for kind in ("md", "yml", "ipynb") for f in BOOK.rglob(f"*.{kind}")):
        assert not re.search(r"/(home|root|tmp|Users)/", path.read_text(encoding="utf-8")), path


def test_full_names_in_the_notation_are_public() -> None:
    for name in re.findall(r"`(companion\.\w+\.\w+)`", text_of("book/notation")):
        module, attribute = name.rsplit(".", 1)
        assert attribute in importlib.import_module(module).__all__, name
    chapters = re.findall(r"\(notation-(\d+)\)=", text_of("book/notation"))
    assert {"16", "17", "18", "19", "20"} <= set(chapters)


def test_the_page_for_contributors_has_every_extension_tool_and_command() -> None:
    """There are few on purpose."""
    guide = text_of("book/contributing")
    own = {path.stem for path in (BOOK / "_ext").glob("companion_*.py")}
    assert set(CONFIG["sphinx"]["local_extensions"]) == own <= set(SPHINX["extensions"])
    assert set(re.findall(r"^\| `(companion_\w+)` \|", guide, re.MULTILINE)) == own
    tools = {path.name for path in (ROOT / "tools").glob("*.py")} - {"__init__.py"}
    assert sorted(re.findall(r"^\| `(\w+\.py)` \| \S", guide, re.MULTILINE)) == sorted(tools)
    assert len(own) <= 4
    assert len(tools) <= 16
    commands = re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.MULTILINE)
    assert len(commands) > 10
    assert [name for name in commands if f"`make {name}`" not in guide] == []


def test_how_to_cite_says_what_the_citation_file_says() -> None:
    entry = read_yaml(ROOT / "CITATION.cff")
    for told in (f"{{{entry['version']}}}", entry["license"], "Gallier"):
        assert told in text_of("book/citing")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {entry['version']} " in changes
    is_released = f"## {entry['version']} (unreleased)" not in changes
    assert is_released == ("date-released" in entry)
    assert entry["version"] == PROJECT["version"]


@pytest.mark.parametrize("path", ["README.md", "book/api.md"])
def test_the_examples_of_the_package_run(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        exec(block, names)
    told = capsys.readouterr().out.splitlines()
    assert told
    for line in told:
        assert "residual" not in line or "every residual <= 1e-09" in line
