"""Every page in a browser: no error, nothing from elsewhere, formulas, pictures, width."""

from __future__ import annotations

import json
import re

import matplotlib.pyplot as plt
import pytest

from companion.figures.pictures import frames
from tests.site.site import EXTRA, PAGES, PHONE, ROOT, SITE, Count, Reader, source, tree

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

IMAGES = (
    "() => [...document.images].map(i => ({alt: i.getAttribute('alt'), src: i.src.slice(0, 120), "
    + ("decorative: i.closest('.navbar-brand, [aria-hidden=true]') !== null}))")
)

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
    if not path.exists():
        return 0
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    shown = [cell for cell in cells if "remove-cell" not in cell["metadata"].get("tags", [])]
    outputs = [output for cell in shown for output in cell.get("outputs", [])]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_every_listed_page_was_built() -> None:
    missing = [page for page in PAGES if not (SITE / page).exists()]
    assert not missing, "the built site is older than book/_toc.yml: run make book first"


@pytest.mark.parametrize("name", PAGES + EXTRA)
def test_opens_without_errors_and_without_other_hosts(
    reader: Reader, name: str, count: Count
) -> None:
    """The first look at a page, before any test touches it."""
    count("pages", 1)
    seen = reader.visit(name)
    assert [*seen.console, *seen.failed, *seen.foreign] == []


@pytest.mark.parametrize("name", PAGES)
def test_no_address_of_another_host_waits_in_a_script_or_style(name: str) -> None:
    page = tree(name)
    tags = page.cssselect("script[src], link[href], img[src]")
    sources = [tag.get("src") or tag.get("href") for tag in tags]
    outside = [url for url in sources if re.match(r"(https?:)?//", url)]
    inline = "\n".join(
        tag.text_content() for tag in page.cssselect("script:not([src]):not([type]), style")
    )
    assert outside == []
    assert "thebe" not in inline
    assert not re.search(r"https?://(?!www\.w3\.org/)", inline)


@pytest.mark.parametrize("name", PAGES)
def test_pictures_are_described(reader: Reader, name: str, count: Count) -> None:
    images = reader.open(name).evaluate(IMAGES)
    count("pictures", len(images))
    for image in images:
        if image["decorative"]:
            continue
        alt = (image["alt"] or "").strip()
        assert len(alt.split()) >= 3, image
        assert not FILE_NAME.fullmatch(alt), image


@pytest.mark.parametrize("name", [name for name in PAGES if stored_figures(name)])
def test_figures_of_the_notebook_are_on_the_page(name: str) -> None:
    assert len(tree(name).cssselect("div.cell_output img")) == stored_figures(name)


@pytest.mark.parametrize("name", PAGES)
def test_formulas_are_set_and_can_be_read_out(reader: Reader, name: str, count: Count) -> None:
    written = len(tree(name).cssselect("article .math, article .math-wrapper"))
    page = reader.open(name)
    assert page.locator("mjx-merror, [data-mjx-error]").all_text_contents() == []
    drawn = page.locator("mjx-container").count()
    count("formulas", drawn)
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
    width, beyond = page.evaluate("document.documentElement.scrollWidth"), page.evaluate(TOO_WIDE)
    scrolling = (
        page.evaluate(SCROLLING) if name.startswith("notebooks/") else []
    )  # docstrings are for wide screens
    assert width <= PHONE["width"]
    assert beyond == []
    assert scrolling == []
    assert page.evaluate(TINY_PANELS) == []


def test_many_pictures_have_panels_that_a_phone_shows_one_by_one() -> None:
    """So that the test above looks at something: pictures in the text, and those of sliders."""
    assert sum(source(name).count(" data-panels=") for name in PAGES) > 40
    figures = [plt.subplots(1, 2, figsize=(4, 2), layout="constrained")[0] for _ in range(2)]
    assert all(b"tEXtpanels\0" in frame[:192] for frame in frames(figures))  # flipbook.js reads it


def test_the_front_door_leads_to_the_first_page(reader: Reader) -> None:
    context = reader.context()
    page = context.new_page()
    page.goto(f"{reader.base}/index.html")
    page.wait_for_url(f"**/{PAGES[0]}")
    context.close()


def test_one_search_box(reader: Reader) -> None:
    boxes = "button.search-button-field:visible, button.search-button:visible"
    assert reader.open(PAGES[0]).locator(boxes).count() == 1
