"""The book's own data: vendored scripts, table of contents, reference, bibliography, macros."""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
import sys
import tomllib

import pytest
import yaml

from tools.reference import (
    SHARED,
    chapter_packages,
    chapter_reference,
    notation_rows,
    shared_reference,
    used_in,
)
from tools.toc import BOOK, ROOT, pages, text_of, title

GENERATED = (BOOK / ".gitignore").read_text(encoding="utf-8").splitlines()
VENDOR = BOOK / "_static/vendor"
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
SPHINX = CONFIG["sphinx"]["config"]


# ------------------------------------------------------------------------------------- vendored scripts


def test_vendored_files_are_those_of_their_checksums() -> None:
    """And MathJax is the version that `make vendor` fetches."""
    lines = (VENDOR / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    listed = dict(reversed(line.split("  ")) for line in lines)
    present = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS"
    }
    assert present == listed
    version = re.search(r"^MATHJAX := (\S+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert f'"{version}"' in (VENDOR / "mathjax/core.js").read_text(encoding="utf-8")
    assert "Apache License" in (VENDOR / "mathjax/LICENSE").read_text(encoding="utf-8")


def test_the_configuration_names_vendored_files() -> None:
    own = [*SPHINX["nb_ipywidgets_js"], *SPHINX["html_js_files"]]
    for path in [SPHINX["mathjax_path"], *own]:
        assert any((ROOT / name / path).is_file() for name in SPHINX["html_static_path"]), path


def test_nothing_in_the_configuration_is_fetched() -> None:
    text = re.sub("#.*", "", (ROOT / "_config.yml").read_text(encoding="utf-8"))
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert addresses <= {"https://creativecommons.org/licenses/by/4.0/"}
    assert "sphinx_thebe" not in SPHINX["extensions"]
    assert "sphinx.ext.intersphinx" not in SPHINX["extensions"]


# ------------------------------------------------------------------------------------ pages and reference


def test_listed_pages_exist() -> None:
    for page in pages():
        made = f"{page.removeprefix('book/')}.md" in GENERATED or page.startswith("book/api/")
        assert made or text_of(page), f"{page} has no file"


def test_the_side_bar_shows_the_section_and_the_title() -> None:
    """Every number of a page's title there is one of its labels, or of its line "Follows"."""
    shown = re.findall(
        r"- file: (notebooks/\S+)\n +title: \"((?:ZM |YCG |SP )?[\dA.–]+(?:, A.4)?) (.+)\"",
        (BOOK / "_toc.yml").read_text(encoding="utf-8"),
    )
    assert {page for page, _, _ in shown} == {
        page for page in pages() if re.match("notebooks/(?!about)", page)
    }
    for page, numbers, name in shown:
        assert name == title(page)
        text = text_of(page)
        known = {"A"} | {
            label.replace("-", ".") for label in re.findall(r"\(sec-\w+?-([\d-]+)", text)
        }
        known |= set(re.findall(r"\d+\.\d+|A\.\d", re.search("Follows.*", text)[0]))
        assert set(re.findall(r"[A\d][\d.]*", numbers)) <= known | {"1", "4", "5"}, page


def test_every_chapter_package_has_its_reference_page() -> None:
    for package in chapter_packages():
        name = package.rsplit(".", 1)[-1]
        assert f"book/api/{name}" in pages()
        assert f"<api-{name}>" in text_of("book/api"), f"book/api.md does not link {package}"


@pytest.mark.parametrize("package", chapter_packages())
def test_the_reference_holds_every_public_name_in_markdown(package: str) -> None:
    """A class that two chapters share is there once. Roles of the docstrings are not read in headings."""
    reference = shared_reference() + "".join(map(chapter_reference, chapter_packages()))
    for name in importlib.import_module(package).__all__:
        full, constant = rf"(companion\.\w+)\.{name}", rf"{name}\n   :module: companion\.\w+"
        assert re.search(rf":: ({full}|{constant})$", reference, flags=re.MULTILINE), name
    headings = re.findall("^## .*$", chapter_reference(package), flags=re.MULTILINE)
    assert headings
    assert not [heading for heading in headings if re.search(r":\w+:`", heading)]


def test_the_reference_follows_the_chapters_and_names_their_pages() -> None:
    """What the first page needs stands first; what no page uses, last. All shared modules are there."""
    page = chapter_reference("companion.admm")
    names = ("dual_ascent", "solve_qp", "consensus", "LowRank")
    place = [page.index(f":: companion.admm.{name}\n") for name in names]
    assert place == sorted(place)
    assert "*Used in* " in page
    assert "notebooks/admm/admm" in used_in()["companion.admm.admm"]
    assert all(len(users) == len(set(users)) for users in used_in().values())
    modules = {path.stem for path in (ROOT / "companion").glob("*.py")}
    assert modules - {"__init__", "checks", "panels"} <= set(SHARED)


def test_text_cites_only_what_the_bibliography_holds() -> None:
    bib = (BOOK / "references.bib").read_text(encoding="utf-8")
    keys = re.findall(r"^@(?!comment)\w+\{([^,]+),", bib, flags=re.MULTILINE)
    assert len(keys) == len(set(keys))
    for page in pages():
        for group in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", text_of(page)):
            assert {key.strip() for key in group.split(",")} <= set(keys), page


def test_notebooks_use_no_macro_of_the_site() -> None:
    macros = "|".join(SPHINX["mathjax3_config"]["tex"]["macros"])
    for page in pages():
        if (ROOT / f"{page}.ipynb").exists():
            used = re.search(rf"\\({macros})(?![A-Za-z])", text_of(page))
            assert used is None, f"{page}: JupyterLab does not know {used and used[0]}"


def test_pages_name_no_workplace() -> None:
    for path in [*(f for kind in ("md", "yml", "ipynb") for f in BOOK.rglob(f"*.{kind}"))]:
        assert not re.search(r"/(home|root|tmp|Users)/", path.read_text(encoding="utf-8")), path


def test_notation_and_reference_lead_to_each_other() -> None:
    """Each chapter has its letters; what its table calls a public name is one, and says so in the reference."""
    text = text_of("book/notation")
    for package in chapter_packages():
        page = chapter_reference(package)
        linked = [name for name in notation_rows() if f".{name}\n" in page or f".{name} " in page]
        assert any(f":: {package}.{name}" in page for name in linked), package
    for number in range(16, 21):
        assert f"(notation-{number})=" in text
    assert notation_rows()["soft_threshold"] == [("$S_c(v)$", ":ref:`Chapter 16 <notation-16>`")]
    shown = "*Notation* :math:`S_c(v)` (:ref:`Chapter 16 <notation-16>`)"
    assert shown in chapter_reference("companion.admm")


def test_full_names_in_the_pages_are_public() -> None:
    for page in ("book/notation", "book/glossary"):
        for name in re.findall(r"`(companion\.\w+\.\w+)`", text_of(page)):
            module, attribute = name.rsplit(".", 1)
            assert attribute in importlib.import_module(module).__all__, name


def test_every_extension_and_every_tool_is_described() -> None:
    """Those of the folders, in the configuration and in the guide for contributors. There are few on purpose."""
    own = {path.stem for path in (BOOK / "_ext").glob("companion_*.py")}
    guide = set(re.findall(r"^\| `(companion_\w+)` \|", text_of("book/contributing"), re.MULTILINE))
    assert set(CONFIG["sphinx"]["local_extensions"]) == own == guide
    assert own <= set(SPHINX["extensions"])
    tools = {path.name for path in (ROOT / "tools").glob("*.py")} - {"__init__.py"}
    told = re.findall(r"^\| `(\w+\.py)` \| \S", text_of("book/contributing"), re.MULTILINE)
    assert sorted(told) == sorted(tools)
    assert len(own) <= 4
    assert len(tools) <= 12


def test_how_to_cite_says_what_the_citation_file_says() -> None:
    entry = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    for told in (f"{{{entry['version']}}}", entry["license"], "Gallier"):
        assert told in text_of("book/citing")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    is_released = f"## {entry['version']} (unreleased)" not in changes
    assert f"## {entry['version']} " in changes
    assert is_released == ("date-released" in entry)
    assert f'version = "{entry["version"]}"' in (ROOT / "pyproject.toml").read_text()


DISTRIBUTIONS = {"PIL": "pillow", "sklearn": "scikit-learn", "mpl_toolkits": "matplotlib"}


def test_the_package_declares_all_that_it_imports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["distributed"]]
    declared = {re.split(r"[\[>=<]", requirement)[0] for requirement in wanted}
    imported = set()
    for path in (ROOT / "companion").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.split(".")[0])
    others = imported - sys.stdlib_module_names - {"companion"}
    assert {DISTRIBUTIONS.get(name, name).lower() for name in others} <= declared


def test_the_page_for_contributors_has_every_command() -> None:
    commands = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    page = text_of("book/contributing")
    assert len(commands) > 10
    assert [name for name in commands if f"`make {name}`" not in page] == []


@pytest.mark.parametrize("path", ["README.md", "book/api.md"])
def test_the_examples_of_the_package_run(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        exec(block, names)
    told = capsys.readouterr().out.splitlines()
    assert told
    for line in told:
        if "residual" in line:
            assert "every residual <= 1e-09" in line
