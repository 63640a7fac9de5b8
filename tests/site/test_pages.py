"""Every page in a browser: no error, nothing from elsewhere, formulas, pictures, width."""

from __future__ import annotations

import re

import matplotlib.pyplot as plt
import nbformat
import pytest
from playwright.sync_api import Browser

from companion.figures.pictures import frames
from tests.site.site import EXTRA, PAGES, PHONE, ROOT, SITE, Reader, source, tree

FILE_NAME = re.compile(r"[\w./-]+\.(png|svg|jpe?g|gif|webp)", re.IGNORECASE)


# What is wider than the window and cannot be scrolled to. Text for screen readers is out of sight on purpose.
TOO_WIDE = """
() => {
  const limit = document.documentElement.clientWidth + 1;
  const hidden = 'mjx-assistive-mml, .visually-hidden, .sr-only, .skip-link, #pst-skip-link, '
    + '.bd-sidebar-primary, .bd-sidebar-secondary, .panels .view img';
  const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    const box = e.getBoundingClientRect();
    if (box.width === 0 || box.right <= limit || e.closest(hidden)) continue;
    let p = e.parentElement;
    while (p && p !== document.body && !scrolls(p)) p = p.parentElement;
    if (p === document.body) bad.push(`${e.tagName}.${e.className} ends at ${Math.round(box.right)}`);
  }
  return bad.slice(0, 5);
}
"""

# Displayed formulas that must be scrolled, or would with a font 2 % wider; those in closed boxes have no width.
SCROLLING = """
() => [...document.querySelectorAll('.bd-article mjx-container[display=true]')]
  .map(f => [1.02 * f.querySelector('svg').getBoundingClientRect().width, f.clientWidth, f])
  .filter(([width, room]) => room > 0 && width > room)
  .map(([width, room, f]) => `${width.toFixed()} > ${room}: ${f.textContent.slice(0, 80)}`)
"""

IMAGES = """
() => [...document.images].map(i => (
  {alt: i.getAttribute('alt'), decorative: i.closest('.navbar-brand, [aria-hidden=true]') !== null}))
"""

# Formulas without MathML for screen readers, and formulas in another colour than the text around them.
UNREADABLE = """
() => [...document.querySelectorAll('mjx-container')].filter(c => {
  const math = c.querySelector('mjx-assistive-mml math');
  const svg = c.querySelector(':scope > svg');
  return !math || !math.textContent.trim() || svg.getAttribute('aria-hidden') !== 'true';
}).map(c => c.outerHTML.slice(0, 200))
"""

STRAY_COLOURS = """
() => [...document.querySelectorAll('mjx-container')].filter(c => {
  const ours = getComputedStyle(c.querySelector(':scope > svg')).color;
  return ours !== getComputedStyle(c.parentElement).color;
}).map(c => c.parentElement.outerHTML.slice(0, 200))
"""


def stored_figures(page: str) -> int:
    """How many pictures the notebook of a page holds."""
    path = (ROOT / page).with_suffix(".ipynb")
    cells = nbformat.read(path, as_version=4).cells if path.exists() else []
    shown = [cell for cell in cells if "remove-cell" not in cell.metadata.get("tags", [])]
    outputs = [output for cell in shown for output in cell.get("outputs", [])]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_every_listed_page_was_built() -> None:
    missing = [page for page in PAGES if not (SITE / page).exists()]
    assert not missing, "the built site is older than book/_toc.yml: run make book first"


@pytest.mark.parametrize("name", PAGES + EXTRA)
def test_opens_without_errors_and_without_other_hosts(reader: Reader, name: str) -> None:
    """The first look at a page, before any test touches it."""
    seen = reader.visit(name)
    assert [*seen.console, *seen.failed, *seen.foreign] == []


@pytest.mark.parametrize("name", PAGES)
def test_no_address_of_another_host_waits_in_a_script_or_style(name: str) -> None:
    page = tree(name)
    tags = page.cssselect("script[src], link[href], img[src]")
    sources = [tag.get("src") or tag.get("href") for tag in tags]
    assert [url for url in sources if re.match(r"(https?:)?//", url)] == []
    own = page.cssselect("script:not([src]):not([type]), style")
    inline = "\n".join(tag.text_content() for tag in own)
    assert not re.search(r"thebe|https?://(?!www\.w3\.org/)", inline)


@pytest.mark.parametrize("name", PAGES)
def test_pictures_are_described(reader: Reader, name: str) -> None:
    images = reader.open(name).evaluate(IMAGES)
    told = [(image["alt"] or "").strip() for image in images if not image["decorative"]]
    assert [alt for alt in told if len(alt.split()) < 3 or FILE_NAME.fullmatch(alt)] == []


@pytest.mark.parametrize("name", [name for name in PAGES if stored_figures(name)])
def test_figures_of_the_notebook_are_on_the_page(name: str) -> None:
    assert len(tree(name).cssselect("div.cell_output img")) == stored_figures(name)


@pytest.mark.parametrize("name", PAGES)
def test_formulas_are_set_and_can_be_read_out(reader: Reader, name: str) -> None:
    written = len(tree(name).cssselect("article .math, article .math-wrapper"))
    page = reader.open(name)
    assert page.locator("mjx-merror, [data-mjx-error]").all_text_contents() == []
    drawn = page.locator("mjx-container").count()
    assert drawn >= written
    assert (drawn > 0) == (written > 0)
    assert page.evaluate(UNREADABLE) == []
    assert page.evaluate(STRAY_COLOURS) == []


# Pictures that should be cut and are not; panels much smaller than they were drawn, or not the right part.
TINY_PANELS = """
() => [...document.querySelectorAll('.bd-article img[data-panels]')].flatMap(image => {
  const view = image.closest('.panels .view')?.getBoundingClientRect();
  if (!view) return [image.alt || image.src.slice(-40)];
  if (view.width === 0) return [];  // in a closed box
  const shown = image.getBoundingClientRect();
  const scale = shown.width / Number(image.getAttribute('width'));
  const covers = shown.left <= view.left + 1 && shown.right >= view.right - 1
    && Math.abs(shown.height - view.height) < 2;
  return scale > 0.6 && covers ? [] : [`${scale.toFixed(2)}, ${covers}: ${image.alt}`];
})
"""


@pytest.mark.parametrize("name", PAGES)
def test_fits_a_phone(reader: Reader, name: str) -> None:
    page = reader.open(name, PHONE)
    page.wait_for_timeout(150)  # the page adapts to the new width
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate(TINY_PANELS) == []
    if name.startswith("notebooks/"):  # docstrings are for wide screens
        assert page.evaluate(SCROLLING) == []


def test_many_pictures_have_panels_that_a_phone_shows_one_by_one() -> None:
    """So that the test above looks at something: pictures in the text, and those of sliders."""
    assert sum(source(name).count(" data-panels=") for name in PAGES) > 40
    figures = [plt.subplots(1, 2, figsize=(4, 2), layout="constrained")[0] for _ in range(2)]
    assert all(b"tEXtpanels\0" in frame[:192] for frame in frames(figures))  # flipbook.js reads it


def test_the_front_door_leads_to_the_first_page_with_one_search_box(
    browser: Browser, server: str
) -> None:
    page = browser.new_page()
    page.goto(f"{server}/index.html")
    page.wait_for_url(f"**/{PAGES[0]}")
    boxes = "button.search-button-field:visible, button.search-button:visible"
    assert page.locator(boxes).count() == 1
    page.close()


def test_the_state_of_the_build_knows_how_long_each_notebook_ran() -> None:
    assert "not known" not in source("book/status.html")
