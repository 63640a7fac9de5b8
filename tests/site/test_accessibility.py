"""axe-core finds no serious or critical violation, in light and in dark mode."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.site.site import PAGES, Reader

GRAVE = ("serious", "critical")


def violations(page: Page, options: dict) -> list[str]:
    """Return the grave violations, each with its first elements."""
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{v['id']} ({v['impact']}): {v['help']}\n    "
        + "\n    ".join(f"{n['html'][:200]} :: {n['failureSummary'][:300]}" for n in v["nodes"][:4])
        for v in found
        if v["impact"] in GRAVE
    ]


@pytest.mark.parametrize("name", [*PAGES, "search.html"])
def test_axe(reader: Reader, name: str) -> None:
    page = reader.open(name)
    try:
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        light = violations(page, {"resultTypes": ["violations"]})
        page.emulate_media(color_scheme="dark")
        page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        page.wait_for_timeout(300)  # colours fade
        only_colours = {
            "runOnly": ["color-contrast", "link-in-text-block"],
            "resultTypes": ["violations"],
        }
        dark = violations(page, only_colours)
    finally:
        page.close()
    assert not light, "light mode:\n" + "\n".join(light)
    assert not dark, "dark mode:\n" + "\n".join(dark)
