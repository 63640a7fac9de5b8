"""The concordance names only what exists, and leaves out nothing that the sources number."""

import ast
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tools import concordance
from tools.editions import LABEL, home_of_labels
from tools.toc import BOOK, ROOT, pages_in_order, read_yaml, text_of

KINDS = (
    "Example ex Figure fig Theorem thm Proposition prop Corollary cor Definition def Problem prob "
)
LABELS = dict(re.findall(r"(\w+) (\w+)", KINDS + "Lemma lem Algorithm alg Table tab"))
CHAPTERS = concordance.load_concordance()
ITEMS = [item for chapter in CHAPTERS for item in chapter["items"]]
of_each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter["title"])
HERE = Path(__file__).relative_to(ROOT).as_posix()


@cache
def functions_of(path: str) -> frozenset[str]:
    """The tests of a file: ``test_name``, ``TestClass::test_name`` and ``test_name = refusals(...)``."""
    nodes = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    classes = {"": nodes} | {f"{n.name}::": n.body for n in nodes if isinstance(n, ast.ClassDef)}
    every = ((prefix, node) for prefix, body in classes.items() for node in body)
    made = {f"{prefix}{n.name}" for prefix, n in every if isinstance(n, ast.FunctionDef)}
    return frozenset(made | {ast.unparse(n.targets[0]) for n in nodes if isinstance(n, ast.Assign)})


def wrong(item: dict[str, Any]) -> Iterator[str]:
    """Yield what an entry names and is not there: its anchor, its public functions, its tests or the page's cells."""
    page, label = item["at"].split("#")
    if home_of_labels().get(label) != page:
        yield item["at"]
    for name in item.get("code", []):
        package, attribute = name.rsplit(".", 1)
        module = importlib.import_module(package)
        if attribute not in module.__all__ or not callable(getattr(module, attribute)):
            yield name
    if not item.get("tests"):
        yield "no test"
    for test in item.get("tests", []):
        path, _, name = test.partition("::")
        if not (ROOT / path).exists() or (name and name not in functions_of(path)):
            yield test
        if not name and path != f"{page}.ipynb":
            yield f"the cells of another page: {test}"


def test_the_files_have_the_shape_of_the_schema() -> None:
    validator = jsonschema.Draft202012Validator(read_yaml(BOOK / "concordance.schema.yml"))
    for file in concordance.FILES.glob("*.yml"):
        validator.validate(read_yaml(file))


@of_each_chapter
def test_all_that_an_entry_names_exists(chapter: dict[str, Any]) -> None:
    found = {item["item"]: list(wrong(item)) for item in chapter["items"]}
    assert {item: names for item, names in found.items() if names} == {}


def test_a_missing_name_is_noticed() -> None:
    for change in (
        {"at": ITEMS[0]["at"] + "-no-such-label"},
        {"code": ["companion.admm.no_such_function"]},
        {"tests": [f"{HERE}::test_no_such_test"]},
        {"tests": ["notebooks/svm/problems.ipynb"]},
        {"tests": []},
    ):
        assert len(list(wrong({**ITEMS[0], **change}))) == 1


@of_each_chapter
def test_every_numbered_item_is_listed_once_in_order_with_its_number(chapter: dict) -> None:
    numbers, names = concordance.numbers(chapter), [item["item"] for item in chapter["items"]]
    assert len(names) == len(set(names))
    assert numbers, "say how many items the source numbers"
    for kind in LABELS:
        listed = [name for name in names if re.fullmatch(rf"{kind} [\w.]+", name)]
        assert listed == numbers.get(kind, [])
    have, known, further = concordance.covered(chapter)
    assert have == known == len(names) - further
    for item in chapter["items"] if chapter["source"] == "text" else ():
        if match := re.fullmatch(r"(\w+) (\w+)\.(\d+)", item["item"]):
            kind, number, index = match.groups()
            assert item["at"].endswith(f"#{LABELS[kind]}-{number.lower()}-{index}"), item


def test_the_page_links_every_item() -> None:
    page = concordance.concordance_page(CHAPTERS)
    assert [item for item in ITEMS if f"(#{item['at'].split('#')[1]})" not in page] == []


def test_labels_differ_between_pages() -> None:
    labels = (set(LABEL.findall(text_of(page))) for page in pages_in_order())
    found = Counter(a or b for mine in labels for a, b in mine)
    assert [label for label, count in found.items() if count > 1] == []
