"""axe-core finds no serious or critical violation, in light and in dark mode."""

from __future__ import annotations

from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.site.site import PAGES, Count, Reader

GRAVE = ("serious", "critical")


# Structure without colours: formulas are words among words (what matters of them is checked in
# test_formulas_can_be_read_out), code is text without its colours, and the page gets a moment to find out what scrolls.
PLAIN = """
() => {
  document.querySelectorAll('mjx-container').forEach(f => f.replaceChildren(f.textContent));
  window.coloured = [...document.querySelectorAll('pre')].map(pre => [pre, [...pre.childNodes]]);
  window.coloured.forEach(([pre]) => pre.replaceChildren(pre.textContent));
  window.dispatchEvent(new Event('resize'));
  return new Promise(done => setTimeout(done, 150));
}
"""

# Colours: axe measures the contrast of every element, a minute on a long page. Elements of one kind have the same
# colours, or two that take turns in a table; so two of each kind stay. An element that holds one that stays, stays.
THIN = """
(most) => {
  window.coloured.forEach(([pre, nodes]) => pre.replaceChildren(...nodes));
  const top = document.querySelector('article.bd-article') ?? document.body;
  const style = e => `${e.tagName}.${e.className}#${e.getAttribute('style')}`;
  const names = new Map([[top, '']]);
  const seen = {};
  for (const e of top.querySelectorAll('*:not(svg *)')) names.set(e, `${names.get(e.parentElement)} > ${style(e)}`);
  for (const [e, name] of [...names].reverse()) {
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
    page.evaluate(PLAIN)
    structure = violations(page, {"rules": STRUCTURE}, whole=whole)
    page.evaluate(THIN, 2)
    page.add_style_tag(
        content="*, ::before, ::after { transition: none !important; }"
    )  # colours do not fade
    light = violations(page, {"runOnly": COLOURS}, whole=whole)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    dark = violations(page, {"runOnly": COLOURS}, whole=whole)
    reader.close()
    count("grave violations", len(structure) + len(light) + len(dark))
    assert not structure, "\n".join(structure)
    assert not light, "light mode:\n" + "\n".join(light)
    assert not dark, "dark mode:\n" + "\n".join(dark)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_sees_what_is_wrong(reader: Reader, scheme: Literal["light", "dark"]) -> None:
    """Faint text of a kind of its own, a button without a name: the two looks that `test_axe` takes find them."""
    page = reader.open(PAGES[1])
    page.evaluate(AXE_SCRIPT)
    page.evaluate(
        "document.querySelector('article.bd-article section').insertAdjacentHTML('beforeend',"
        """'<p style="color: #888; background: #777">faint</p><button type="button"></button>')"""
    )
    page.evaluate(PLAIN)
    structure = violations(page, {"rules": STRUCTURE}, whole=False)
    page.evaluate(THIN, 2)
    page.emulate_media(color_scheme=scheme)
    colours = violations(page, {"runOnly": COLOURS}, whole=False)
    reader.close()
    assert [line.split()[0] for line in structure] == ["button-name"]
    assert [line.split()[0] for line in colours] == ["color-contrast"]
