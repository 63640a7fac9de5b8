"""axe-core finds no serious or critical violation, in light and in dark mode."""

from __future__ import annotations

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.site.site import PAGES, Count, Reader

GRAVE = ("serious", "critical")


# What matters of formulas is checked in test_formulas_can_be_read_out. Here they are words among words, and the page
# gets a moment to find out what scrolls now.
WORDS = """
() => {
  document.querySelectorAll('mjx-container').forEach(f => f.replaceChildren(f.textContent));
  window.dispatchEvent(new Event('resize'));
  return new Promise(done => setTimeout(done, 250));
}
"""

# axe measures the contrast of every element, a minute on a long page. Elements of one kind have the same colours, so
# three of each kind stay; an element that holds one that stays, stays.
THIN = """
(most) => {
  const top = document.querySelector('article.bd-article') ?? document.body;
  const style = e => `${e.tagName}.${e.className}#${e.getAttribute('style')}`;
  const kind = e => e === top ? '' : `${kind(e.parentElement)} > ${style(e)}`;
  const seen = {};
  for (const e of [...top.querySelectorAll('*')].reverse()) {
    if (e.closest('svg')) continue;
    const name = kind(e);
    seen[name] = (seen[name] ?? 0) + 1;
    if (seen[name] > most && !e.firstElementChild) e.remove();
  }
}
"""

COLOURS = ["color-contrast", "link-in-text-block"]
STRUCTURE = {rule: {"enabled": False} for rule in COLOURS}


# What all pages share (header, sidebars, footer) is looked at on these; elsewhere the article is enough.
WHOLE = (PAGES[0], "search.html")


def violations(page: Page, options: dict, *, whole: bool) -> list[str]:
    """Return the grave violations, each with its first elements."""
    context = {"include": ["html" if whole else "article.bd-article"]}
    options = {**options, "resultTypes": ["violations"]}
    found = page.evaluate(
        "([context, options]) => axe.run(context, options).then(seen => seen.violations)",
        [context, options],
    )
    return [
        f"{v['id']} ({v['impact']}): {v['help']}\n    "
        + "\n    ".join(f"{n['html'][:200]} :: {n['failureSummary'][:300]}" for n in v["nodes"][:4])
        for v in found
        if v["impact"] in GRAVE
    ]


@pytest.mark.parametrize("name", [*PAGES, "search.html"])
def test_axe(reader: Reader, name: str, count: Count) -> None:
    page, whole = reader.open(name), name in WHOLE
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.evaluate(AXE_SCRIPT)
    page.evaluate(WORDS)
    structure = violations(page, {"rules": STRUCTURE}, whole=whole)
    page.evaluate(THIN, 3)
    light = violations(page, {"runOnly": COLOURS}, whole=whole)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    page.wait_for_timeout(300)  # colours fade
    dark = violations(page, {"runOnly": COLOURS}, whole=whole)
    reader.close()
    count("grave violations", len(structure) + len(light) + len(dark))
    assert not structure, "\n".join(structure)
    assert not light, "light mode:\n" + "\n".join(light)
    assert not dark, "dark mode:\n" + "\n".join(dark)
