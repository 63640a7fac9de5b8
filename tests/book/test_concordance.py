"""The concordance names only what exists, and leaves out nothing that the sources number."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
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
ITEMS = [item for chapter in CHAPTERS for item in chapter["items"]]
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
    nodes = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    classes = {"": nodes} | {f"{n.name}::": n.body for n in nodes if isinstance(n, ast.ClassDef)}
    return frozenset(
        f"{prefix}{node.name}"
        for prefix, body in classes.items()
        for node in body
        if isinstance(node, ast.FunctionDef)
    )


def wrong(item: dict[str, Any]) -> Iterator[str]:
    """Yield what an entry names and is not there: its anchor, its public functions, its tests or the page's cells."""
    page, label = item["at"].split("#")
    if page not in pages() or label not in labels(page):
        yield item["at"]
    for name in item.get("code", []):
        package, attribute = name.rsplit(".", 1)
        public = getattr(importlib.import_module(package), "__all__", [])
        if attribute not in public or not callable(resolve(name)):
            yield name
    if not item.get("tests"):
        yield "no test"
    for test in item.get("tests", []):
        path, _, name = test.partition("::")
        if not (ROOT / path).exists() or (name and name not in functions_of(path)):
            yield test
        if not name and path != f"{page}.ipynb":
            yield f"the cells of another page: {test}"


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter["title"])
def test_all_that_an_entry_names_exists(chapter: dict[str, Any]) -> None:
    found = {item["item"]: list(wrong(item)) for item in chapter["items"]}
    assert {item: names for item, names in found.items() if names} == {}


def test_a_missing_name_is_noticed() -> None:
    here = Path(__file__).relative_to(ROOT).as_posix()
    for change in (
        {"at": ITEMS[0]["at"] + "-no-such-label"},
        {"code": ["companion.admm.no_such_function"]},
        {"tests": [f"{here}::test_no_such_test"]},
        {"tests": ["notebooks/svm/problems.ipynb"]},
        {"tests": []},
    ):
        assert len(list(wrong({**ITEMS[0], **change}))) == 1, change


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter["title"])
def test_every_numbered_item_is_listed_once_and_in_order(chapter: dict[str, Any]) -> None:
    names = [item["item"] for item in chapter["items"]]
    assert len(names) == len(set(names))
    assert numbers(chapter), "say how many items the source numbers"
    for kind, expected in numbers(chapter).items():
        assert [name for name in names if re.fullmatch(rf"{kind} [\w.]+", name)] == expected
    listed = {kind for kind in LABELS for name in names if re.fullmatch(rf"{kind} [\w.]+", name)}
    assert listed == set(numbers(chapter))


def test_coverage_is_counted_and_labels_have_the_numbers() -> None:
    for chapter in CHAPTERS:
        have, known, further = covered(chapter)
        assert have == known == sum(map(len, numbers(chapter).values()))
        assert have + further == len(chapter["items"])
        fewer = covered(dict(chapter, items=chapter["items"][1:]))
        assert fewer[0] + fewer[2] == len(chapter["items"]) - 1
        for item in chapter["items"]:
            wanted = label(chapter, item["item"])
            assert wanted is None or item["at"].endswith(f"#{wanted}"), item


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
    assert [item for item in ITEMS if f"(#{item['at'].split('#')[1]})" not in page] == []


def test_labels_differ_between_pages() -> None:
    seen: dict[str, str] = {}
    for page in sorted(pages()):
        for name in labels(page):
            assert seen.setdefault(name, page) == page, f"{name} is on {seen[name]} and {page}"


def test_generated_pages_are_not_committed() -> None:
    ignored = (BOOK / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"concordance.md", "errata.md", "api/*.md"} <= set(ignored)
