"""Every erratum is reached from the place that it concerns."""

from __future__ import annotations

import json
import re

import pytest

from tools.notebooks import ROOT


def markdown(path: str) -> str:
    cells = json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


ERRATA = re.findall(r"^\((err-[\w-]+)\)=", markdown("book/errata.ipynb"), flags=re.MULTILINE)
LINKS = {
    link
    for path in (ROOT / "notebooks").rglob("*.ipynb")
    if ".ipynb_checkpoints" not in path.parts
    for link in re.findall(r"#(err-[\w-]+)\)", markdown(str(path.relative_to(ROOT))))
}


def test_labels_are_unique() -> None:
    assert len(ERRATA) > 100
    assert len(set(ERRATA)) == len(ERRATA)


@pytest.mark.parametrize("erratum", ERRATA)
def test_a_page_links_to_it(erratum: str) -> None:
    assert erratum in LINKS


def test_no_page_links_to_an_erratum_that_is_not_there() -> None:
    assert set(ERRATA) >= LINKS
