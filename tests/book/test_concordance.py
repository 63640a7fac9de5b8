"""The concordance names only what exists, and leaves out nothing that the sources number."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tools.concordance import (
    LABELS,
    SCHEMA,
    concordance_page,
    covered,
    label,
    load_concordance,
    numbers,
)
from tools.reference import resolve
from tools.toc import BOOK, ROOT, pages, text_of

CHAPTERS = load_concordance()
ITEMS = [
    pytest.param(item, id=f"{chapter['source']}-{item['section']}-{item['item']}".replace(" ", "_"))
    for chapter in CHAPTERS
    for item in chapter["items"]
]

LABEL = re.compile(
    r"^\((?P<target>[\w.-]+)\)=\s*$|^:(?:label|name):\s*(?P<option>\S+)\s*$", re.MULTILINE
)


@cache
def labels(page: str) -> frozenset[str]:
    """All labels that a page defines."""
    return frozenset(m["target"] or m["option"] for m in LABEL.finditer(text_of(page)))


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


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter["title"])
def test_every_numbered_item_is_listed_once_and_in_order(chapter: dict[str, Any]) -> None:
    names = [item["item"] for item in chapter["items"]]
    assert len(names) == len(set(names))
    assert numbers(chapter), "say how many items the source numbers"
    for kind, expected in numbers(chapter).items():
        assert [name for name in names if re.fullmatch(rf"{kind} [\w.]+", name)] == expected
    listed = {kind for kind in LABELS for name in names if re.fullmatch(rf"{kind} [\w.]+", name)}
    assert listed == set(numbers(chapter))


def test_coverage_is_counted() -> None:
    chapter = CHAPTERS[0]
    have, known, further = covered(chapter)
    assert have == known == sum(chapter["numbered"].values())
    assert have + further == len(chapter["items"])
    assert (
        covered(dict(chapter, items=chapter["items"][1:]))[0]
        + covered(dict(chapter, items=chapter["items"][1:]))[2]
        == len(chapter["items"]) - 1
    )


def test_numbers_agree_with_labels() -> None:
    for chapter in CHAPTERS:
        for item in chapter["items"]:
            if wanted := label(chapter, item["item"]):
                assert item["at"].endswith(f"#{wanted}"), item


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
    assert "errata.md" in ignored
    assert "api/*.md" in ignored


def test_a_missing_name_is_noticed() -> None:
    with pytest.raises(AttributeError):
        resolve("companion.admm.no_such_function")
    assert "no-such-label" not in labels("notebooks/admm/admm")
    assert "test_no_such_test" not in functions_of(Path(__file__).relative_to(ROOT).as_posix())
