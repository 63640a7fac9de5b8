"""axe-core finds no serious or critical violation, in light and in dark mode: how a page is looked at."""

from typing import Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.site.site import DESKTOP, PAGES, PHONE, Reader, resize

GRAVE = ("serious", "critical")


# What all pages share (header, sidebars, footer) is looked at on these; elsewhere the article is enough.
WHOLE = (PAGES[0], "search.html")


# Structure without colours: formulas are words among words (test_pages.py checks what matters of
# them), code is text without its colours. From here on colours change at once.
PLAIN = """
() => {
  document.head.insertAdjacentHTML('beforeend', '<style>*, ::before, ::after { transition: none !important }</style>');
  document.querySelectorAll('mjx-container').forEach(f => f.replaceChildren(f.textContent));
  window.coloured = [...document.querySelectorAll('pre')].map(pre => [pre, [...pre.childNodes]]);
  window.coloured.forEach(([pre]) => pre.replaceChildren(pre.textContent));
}
"""

# Colours: axe measures the contrast of every element, a minute on a long page. Contrast depends on how a text looks, on
# what is behind it and, for a link, on the text around it. Two elements of each look stay, and none of a look that was
# found good on another page; looks are compared in both modes.
NOTE_LOOKS = """
() => {
  window.coloured?.forEach(([pre, nodes]) => pre.replaceChildren(...nodes));
  window.coloured = undefined;
  const top = document.querySelector('article.bd-article') ?? document.body;
  const behind = new Map(), texts = new Map();
  for (const e of [top, ...top.querySelectorAll('*:not(svg *)')]) {
    const s = getComputedStyle(e);
    const back = `${s.backgroundColor} ${s.backgroundImage} ${s.opacity}`;
    const clear = back === 'rgba(0, 0, 0, 0) none 1';
    behind.set(e, (behind.get(e.parentElement) ?? '') + (clear ? '' : back));
    texts.set(e, `${s.color} ${s.fontSize} ${s.fontWeight} ${s.textDecorationLine} ${s.textShadow}`);
    if (e === top) continue;
    e.looks = `${e.looks ?? e.tagName} ${texts.get(e)} in ${texts.get(e.parentElement)} on ${behind.get(e)}`;
  }
}
"""
THIN = """
([most, good]) => {
  const seen = Object.fromEntries(good.map(looks => [looks, most]));
  for (const e of [...document.querySelectorAll('*')].reverse()) {
    if (e.localName === 'svg' && e.parentElement.looks) e.remove();  // a drawing has no text that axe can judge
    if (!e.looks || e.firstElementChild) continue;
    seen[e.looks] = (seen[e.looks] ?? 0) + 1;
    if (seen[e.looks] > most) e.remove();
  }
  return Object.keys(seen);
}
"""

COLOURS = ["color-contrast", "link-in-text-block"]
# All other rules, but for those that find nothing grave: a rule has the impact of all that it finds.
STRUCTURE = """
([colours, grave]) => ({rules: Object.fromEntries(axe._audit.rules
  .filter(rule => colours.includes(rule.id) || !grave.includes(rule.impact))
  .map(rule => [rule.id, {enabled: false}]))})
"""


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


def put_on(page: Page, scheme: Literal["light", "dark"]) -> None:
    """Change the mode, at once."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function("mode => document.documentElement.dataset.theme === mode", arg=scheme)


def grave_violations(page: Page, good: set[str], *, whole: bool) -> dict[str, list[str]]:
    """Look at a light page three times: at its structure, and at its colours in both modes. The page is spoilt.

    What all pages share is looked at as on a desktop, articles as on a phone, where more must scroll. Texts that look
    as in ``good`` are not measured; those that were and passed are added.
    """
    page.evaluate(AXE_SCRIPT)
    page.evaluate(PLAIN)
    resize(page, DESKTOP if whole else PHONE)
    structure = page.evaluate(STRUCTURE, [COLOURS, GRAVE])
    found = {"structure": violations(page, structure, whole=whole)}
    page.evaluate(NOTE_LOOKS)
    put_on(page, "dark")
    page.evaluate(NOTE_LOOKS)
    looks = page.evaluate(THIN, [2, list(good)])
    found["dark"] = violations(page, {"runOnly": COLOURS}, whole=whole)
    put_on(page, "light")
    found["light"] = violations(page, {"runOnly": COLOURS}, whole=whole)
    if not found["dark"] and not found["light"]:
        good.update(looks)
    return found


FLAWS = """
<style>.night { color: #555; background: #fff } html[data-theme=dark] .night { background: #444 }</style>
<p style="color: #888; background: #777">faint</p><p class="night">faint at night</p><button type="button"></button>
"""


SPOIL = """
flaws => document.querySelector('article.bd-article section').insertAdjacentHTML('beforeend', flaws)
"""


def test_axe_sees_what_is_wrong(reader: Reader) -> None:
    """Faint text, text that is faint in the dark only, a button without a name - on the second page as on the first."""
    good: set[str] = set()
    page = reader.open(PAGES[1])
    assert not any(grave_violations(page, good, whole=False).values())
    page = reader.open(PAGES[1])
    page.evaluate(SPOIL, FLAWS)
    found = grave_violations(page, good, whole=False)
    kinds = {part: [line.split()[0] for line in lines] for part, lines in found.items()}
    contrast = ["color-contrast"]
    assert kinds == {"structure": ["button-name"], "light": contrast, "dark": contrast}
    assert ["at night" in found[mode][0] for mode in ("light", "dark")] == [False, True]
