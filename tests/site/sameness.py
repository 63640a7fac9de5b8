"""What the cells of a page say in the browser, beside what the page shows: the comparison and its exceptions.

test_live.py runs the pages in Chromium. What it finds is kept in build/live for the page on the state of the build;
``python -m tests.site.sameness`` stores it, so that the page has the table where no test ran before.
"""

from __future__ import annotations

import argparse
import json
from types import SimpleNamespace
from typing import Any

import nbformat

from tools import status

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


def keep(page: str, cells: int, differing: dict[str, str]) -> None:
    """Remember what a run of a page in the browser gave."""
    status.IN_BROWSER.mkdir(parents=True, exist_ok=True)
    why = {EXCEPTIONS.get(page, {}).get(cell, "not known") for cell in differing}
    told = {
        "page": page,
        "state": status.state(page),
        "cells": cells,
        "differing": sorted(differing),
    }
    told["why"] = "; ".join(sorted(why))
    (status.IN_BROWSER / f"{page.replace('/', '-')}.json").write_text(
        json.dumps(told), encoding="utf-8"
    )


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    text = json.dumps(status.in_browser(), indent=1) + "\n"
    (status.MEASURED / "live.json").write_text(text, encoding="utf-8")
