"""What the cells of a page say in the browser, beside what the page shows: the comparison, the exceptions, the table.

tests/site/test_live.py runs the pages in Chromium. What it finds is kept in build/live for the page on the state of the
build; ``python -m tools.sameness`` stores it, so that the page has the table where no test ran before.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat

from tools.toc import ROOT, notebooks, read

FOUND = ROOT / "build" / "live"
STORED = ROOT / "benchmarks" / "results" / "live.json"
# As nbval: what is drawn is not compared, nor what is random.
SKIPPED = {
    "metadata", "traceback", "name", "output_type", "execution_count", "image/png", "widgets",
    "application/vnd.jupyter.widget-view+json",
}  # fmt: skip
# Cells that say something else in the browser, by page, each with the reason.
OTHERS = "the multipliers are not unique: without PIQP, ADMM ends in others"
EXCEPTIONS: dict[str, dict[str, str]] = {
    "notebooks/admm/quadratic-programs": {"c023": OTHERS, "c024": OTHERS},
    "notebooks/svm/hyperplanes-and-margins": {"c024": OTHERS, "c026": OTHERS},
}


def pages() -> list[str]:
    """Return the pages that run where they are read: those with code, without the two that show stored runs."""
    return [page for page in notebooks() if page != "book/intro" and "/about/" not in page]


def code_cells(page: str) -> list[nbformat.NotebookNode]:
    """Return the cells of a page that have code, with their stored outputs."""
    return [cell for cell in read(page).cells if cell.cell_type == "code"]


def difference(cell: nbformat.NotebookNode, seen: dict[str, Any]) -> str:
    """Return how the outputs of a cell differ from the stored ones, by nbval's rules; nothing where they do not."""
    if not seen["ok"]:
        return str([o["evalue"] for o in seen["outputs"] if o["output_type"] == "error"])
    if "nbval-ignore-output" in cell.metadata.get("tags", []):
        return ""
    from nbval.plugin import IPyNbCell, coalesce_streams, nocolors  # takes a second

    told: list[str] = []
    judge = SimpleNamespace(
        colors=nocolors,
        parent=SimpleNamespace(skip_compare=SKIPPED),
        sanitize=str,  # tests/notebooks/sanitize.cfg has no rule
        format_output_compare=lambda *each: told.append("\n".join(each)),
    )
    outputs = coalesce_streams([*map(nbformat.from_dict, seen["outputs"])])  # printed in pieces
    if IPyNbCell.compare_outputs(judge, outputs, cell.outputs):
        return ""
    return "\n".join(told + judge.comparison_traceback)


def state(page: str) -> str:
    """Return a fingerprint of a page's code."""
    return hashlib.sha256("\0".join(c.source for c in code_cells(page)).encode()).hexdigest()[:12]


def keep(page: str, cells: int, differing: dict[str, str]) -> None:
    """Remember what a run of a page in the browser gave."""
    FOUND.mkdir(parents=True, exist_ok=True)
    told = {"page": page, "state": state(page), "cells": cells, "differing": sorted(differing)}
    (FOUND / f"{page.replace('/', '-')}.json").write_text(json.dumps(told), encoding="utf-8")


def runs(folder: Path = FOUND, stored: Path = STORED) -> list[dict[str, Any]]:
    """Return what the last run of each page gave, in the order of the book: the stored one, or one since."""
    told = [*json.loads(stored.read_text(encoding="utf-8"))] if stored.exists() else []
    told += [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.json")]
    last = {each["page"]: each for each in told}
    return [last[page] for page in pages() if page in last]


def rows(folder: Path = FOUND, stored: Path = STORED) -> list[dict[str, Any]]:
    """Return these runs with the reasons for what differs, for the page on the state of the build."""
    read = runs(folder, stored)
    for each in read:
        known = EXCEPTIONS.get(each["page"], {})
        each["same"] = each["cells"] - len(each["differing"])
        reasons = dict.fromkeys(known.get(c, "not known") for c in each["differing"])
        changed = each.get("state") != state(each["page"])
        each["reasons"] = "; ".join([*reasons, *["changed since it ran"] * changed])
    return read


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    STORED.write_text(json.dumps(runs(), indent=1) + "\n", encoding="utf-8")
