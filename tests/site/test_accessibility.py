"""axe-core finds no serious or critical violation, in light and in dark mode."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.site.site import PAGES, Reader

GRAVE = ("serious", "critical")


# axe measures the contrast of every element. A long page has thousands of strokes and of coloured words of code, all
# alike, and takes a minute. Before it runs, formulas lose their strokes, and each kind of coloured word stays three
# times. What matters of formulas is checked in test_formulas_can_be_read_out.
THIN = """
() => {
  document.querySelectorAll('mjx-container svg').forEach(svg => svg.replaceChildren());
  const seen = {};
  document.querySelectorAll('.highlight pre span[class], dt.sig span[class] span').forEach(word => {
    const ground = word.closest('.cell_input, .cell_output, .doctest, dt.sig, .highlight').className;
    const kind = `${word.className} on ${ground}`;
    seen[kind] = (seen[kind] ?? 0) + 1;
    if (seen[kind] > 3 && word.isConnected && !word.querySelector('[class]')) word.replaceWith(word.textContent);
  });
  document.querySelectorAll('.highlight pre').forEach(pre => pre.normalize());
}
"""


# What all pages share (header, sidebars, footer) is looked at on these; elsewhere the article is enough.
WHOLE = (PAGES[0], "search.html")


def violations(page: Page, options: dict, *, whole: bool) -> list[str]:
    """Return the grave violations, each with its first elements."""
    context = None if whole else {"include": [["article.bd-article"]]}
    found = Axe().run(page, context=context, options=options).response["violations"]
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
        page.evaluate(THIN)
        light = violations(page, {"resultTypes": ["violations"]}, whole=name in WHOLE)
        page.emulate_media(color_scheme="dark")
        page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        page.wait_for_timeout(300)  # colours fade
        only_colours = {
            "runOnly": ["color-contrast", "link-in-text-block"],
            "resultTypes": ["violations"],
        }
        dark = violations(page, only_colours, whole=name in WHOLE)
    finally:
        page.close()
    assert not light, "light mode:\n" + "\n".join(light)
    assert not dark, "dark mode:\n" + "\n".join(dark)


@pytest.mark.parametrize("name", PAGES)
def test_formulas_can_be_read_out(reader: Reader, name: str) -> None:
    assert reader.visit(name).unreadable == []
    assert reader.visit(name).stray_colours == []
