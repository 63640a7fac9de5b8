"""The concordance names only what exists, and leaves out nothing that the sources number."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import nbformat
import pytest
import yaml

from tools.pages import BOOK, ROOT, SCHEMA, concordance_page, load_concordance, pages, resolve

CHAPTERS = load_concordance()
ITEMS = [
    pytest.param(item, id=f"{chapter['source']}-{item['section']}-{item['item']}".replace(" ", "_"))
    for chapter in CHAPTERS
    for item in chapter["items"]
]

# How many items of each kind the sources number, by chapter.
NUMBERED = {
    ("text", 16): {"Definition": 1, "Theorem": 1, "Example": 12, "Figure": 6, "Problem": 7},
    ("text", 17): {
        "Definition": 4,
        "Proposition": 7,
        "Theorem": 1,
        "Corollary": 1,
        "Example": 7,
        "Figure": 1,
        "Problem": 5,
    },
    ("text", 19): {"Proposition": 2, "Example": 3, "Figure": 11, "Problem": 10},
    ("text", "A"): {"Definition": 4, "Proposition": 7, "Theorem": 1, "Figure": 2, "Problem": 2},
}

LABEL = re.compile(
    r"^\((?P<target>[\w.-]+)\)=\s*$|^:(?:label|name):\s*(?P<option>\S+)\s*$", re.MULTILINE
)


def source(page: str) -> str:
    """The text of a page, without the code of its cells."""
    notebook = ROOT / f"{page}.ipynb"
    if notebook.exists():
        cells = nbformat.read(notebook, as_version=4).cells
        return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return (ROOT / f"{page}.md").read_text(encoding="utf-8")


@cache
def labels(page: str) -> frozenset[str]:
    """All labels that a page defines."""
    return frozenset(m["target"] or m["option"] for m in LABEL.finditer(source(page)))


@cache
def functions_of(path: str) -> frozenset[str]:
    """The tests of a file: ``test_name`` and ``TestClass::test_name``."""
    names = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names.update(
                f"{node.name}::{f.name}" for f in node.body if isinstance(f, ast.FunctionDef)
            )
    return frozenset(names)


@pytest.mark.parametrize("item", ITEMS)
def test_anchor_exists(item: dict[str, Any]) -> None:
    page, label = item["at"].split("#")
    assert page in pages(), f"{page} is not in book/_toc.yml"
    assert label in labels(page), f"{page} has no label {label}"


@pytest.mark.parametrize("item", ITEMS)
def test_functions_exist_and_are_public(item: dict[str, Any]) -> None:
    for name in item.get("code", []):
        assert callable(resolve(name)), name
        package, attribute = name.rsplit(".", 1)
        public = getattr(__import__(package, fromlist=["x"]), "__all__", [])
        assert attribute in public, f"{attribute} is not in {package}.__all__"


@pytest.mark.parametrize("item", ITEMS)
def test_tests_exist(item: dict[str, Any]) -> None:
    assert item.get("tests"), "every item is checked by a test or by the cells of its page"
    for test in item["tests"]:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), f"no file {path}"
        if name:
            assert name in functions_of(path), f"no test {name} in {path}"
        else:
            assert path == item["at"].split("#")[0] + ".ipynb", (
                "the cells of another page are named"
            )


@pytest.mark.parametrize(("chapter", "kinds"), NUMBERED.items())
def test_every_numbered_item_is_listed_once_and_in_order(
    chapter: tuple[str, int | str], kinds: dict[str, int]
) -> None:
    names = [
        item["item"]
        for entry in CHAPTERS
        if (entry["source"], entry["chapter"]) == chapter
        for item in entry["items"]
    ]
    for kind, count in kinds.items():
        expected = [f"{kind} {chapter[1]}.{i}" for i in range(1, count + 1)]
        assert [
            name for name in names if re.fullmatch(rf"{kind} {chapter[1]}\.\d+", name)
        ] == expected
    assert len(names) == len(set(names))


def test_numbers_agree_with_labels() -> None:
    prefixes = {
        "Example": "ex",
        "Figure": "fig",
        "Theorem": "thm",
        "Proposition": "prop",
        "Corollary": "cor",
        "Definition": "def",
        "Problem": "prob",
    }
    for chapter in CHAPTERS:
        for item in chapter["items"]:
            match = re.fullmatch(r"(\w+) (\w+)\.(\d+)", item["item"])
            if match and chapter["source"] == "text":
                kind, number, index = match.groups()
                assert item["at"].endswith(f"#{prefixes[kind]}-{number.lower()}-{index}"), item


@pytest.mark.parametrize(
    "change",
    [
        {"at": "notebooks/admm/admm"},
        {"code": ["numpy.linalg.solve"]},
        {"tests": ["test_nothing"]},
        {"what": ""},
        {"colour": "red"},
    ],
)
def test_the_schema_refuses_wrong_entries(change: dict[str, Any]) -> None:
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    data = {"chapters": [dict(CHAPTERS[0], items=[dict(CHAPTERS[0]["items"][0], **change)])]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema, jsonschema.Draft202012Validator)


def test_the_page_links_every_item() -> None:
    page = concordance_page(CHAPTERS)
    assert "(to come)" not in page
    for chapter in CHAPTERS:
        for item in chapter["items"]:
            assert f"(#{item['at'].split('#')[1]})" in page


def test_labels_differ_between_pages() -> None:
    seen: dict[str, str] = {}
    for page in sorted(pages()):
        if (ROOT / f"{page}.ipynb").exists() or (ROOT / f"{page}.md").exists():
            for label in labels(page):
                assert seen.setdefault(label, page) == page, (
                    f"{label} is on {seen[label]} and on {page}"
                )


def test_generated_pages_are_not_committed() -> None:
    ignored = (BOOK / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "concordance.md" in ignored
    assert "api/*.md" in ignored


def linked_errata() -> dict[str, str]:
    """Every erratum that a page links, with one such page."""
    return {
        label: page
        for page in sorted(pages() - {"book/errata"})
        if (ROOT / f"{page}.ipynb").exists()
        for label in re.findall(r"\(#(err-[\w-]+)\)", source(page))
    }


def test_errata_with_a_proof_are_linked_from_the_pages() -> None:
    """An entry with a heading has an effect, so the page that it concerns links it."""
    errata = re.findall(r"^\((err-[\w-]+)\)=\n### ", source("book/errata"), flags=re.MULTILINE)
    assert errata
    assert sorted(set(errata) - set(linked_errata())) == []


def test_linked_errata_exist() -> None:
    missing = {e: page for e, page in linked_errata().items() if e not in labels("book/errata")}
    assert missing == {}


def test_a_missing_name_is_noticed() -> None:
    with pytest.raises(AttributeError):
        resolve("companion.admm.no_such_function")
    assert "no-such-label" not in labels("book/errata")
    assert "test_no_such_test" not in functions_of(Path(__file__).relative_to(ROOT).as_posix())
