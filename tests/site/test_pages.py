"""Every page in a browser: no error, nothing from elsewhere, formulas, pictures, questions, sliders, width, axe.

A page is opened once, and all checks look at it, one after the other.
"""

import re
from collections.abc import Callable

import matplotlib.pyplot as plt
import pytest
from playwright.sync_api import Browser

from companion.figures.pictures import frames
from tests.site.questions import ASKING, check_questions
from tests.site.site import (
    EXTRA,
    PAGES,
    PATIENCE,
    PHONE,
    Reader,
    Visit,
    flipbooks,
    resize,
    source,
    tree,
)
from tests.site.test_accessibility import WHOLE, grave_violations
from tests.site.test_files import links_lead_somewhere_and_ids_are_unique
from tests.site.test_flipbooks import INTERACTIVE, check_flipbooks

# One page of each kind: sliders, questions, wide tables, a drawing, the reference.
KINDS = [
    "book/intro.html",
    "notebooks/svm/nu-svm.html",
    "book/concordance.html",
    "book/map.html",
    "book/api/admm.html",
]
# Lighthouse calls a shift of 0.1 good and 0.25 poor; a line of TeX that becomes shorter when set moves the rest up.
STILL, POOR = 0.15, 0.25
# Bytes that a browser with an empty cache fetches before the reader scrolls.
PLAIN, WITH_SLIDERS = 3e6, 6e6
FILE_NAME = re.compile(r"[\w./-]+\.(png|svg|jpe?g|gif|webp)", re.IGNORECASE)


# What is wider than the window and cannot be scrolled to. Text for screen readers is out of sight on purpose.
TOO_WIDE = """
() => {
  const limit = document.documentElement.clientWidth + 1;
  const hidden = 'mjx-assistive-mml, .visually-hidden, .sr-only, .skip-link, #pst-skip-link, '
    + '.bd-sidebar-primary, .bd-sidebar-secondary, .panels .view img';
  const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
  const bad = [];
  for (const e of document.querySelectorAll('body *:not(svg *)')) {
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

# What screen readers say for each picture that is more than decoration.
TOLD = """
() => [...document.images].filter(i => !i.closest('.navbar-brand, [aria-hidden=true]')).map(i => i.alt.trim())
"""

# Formulas without MathML for screen readers, and formulas in another colour than the text around them.
UNREADABLE = """
() => [...document.querySelectorAll('mjx-container')].filter(c => {
  const math = c.querySelector('mjx-assistive-mml math'), svg = c.querySelector(':scope > svg');
  return !math?.textContent.trim() || svg.getAttribute('aria-hidden') !== 'true'
    || getComputedStyle(svg).color !== getComputedStyle(c.parentElement).color;
}).map(c => c.parentElement.outerHTML.slice(0, 200))
"""

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


# How many windows above the first picture, slider or board, and which it is; nothing in a closed box counts.
FIRST = """
() => [...document.querySelectorAll('.cell_output img, .companion-flipbook, .companion-board')]
  .map(e => [(e.getBoundingClientRect().top + scrollY) / innerHeight, e.alt || e.className, e.offsetHeight])
  .filter(([, , height]) => height > 60).sort(([a], [b]) => a - b)[0] || [Infinity, 'no picture']
"""
CHAPTER = re.compile(r"notebooks/(?!about)\w+/(?!problems)")  # problems begin with their tasks


# Links and buttons smaller than 24 px, except within a line of text.
SMALL = """
() => [...document.querySelectorAll('a[href], button, input, select, summary')].filter(e => {
  const box = e.getBoundingClientRect();
  const style = getComputedStyle(e);
  if (!box.width || !box.height || style.visibility === 'hidden') return false;
  if (e.closest('.visually-hidden, .skip-link, #pst-skip-link, mjx-container, svg')) return false;
  if (e.closest('.bd-sidebar-primary, .bd-sidebar-secondary') && box.right <= 0) return false;
  const line = e.parentElement.closest('p, li, td, dd, dt, small, h1, h2, h3, h4, caption, div');
  const inText = style.display.startsWith('inline') && line.textContent.trim() !== e.textContent.trim();
  return !inText && (box.width < 23.5 || box.height < 23.5);
}).map(e => `${e.outerHTML.slice(0, 120)} ${JSON.stringify(e.getBoundingClientRect())}`)
"""

# Go down a page as a reader does, window by window; return how much moved until now.
SCROLL = """
async ([step, end]) => {
  const frame = () => new Promise(requestAnimationFrame);
  for (let y = 0; y < Math.min(end, document.body.scrollHeight); y += step) {
    window.scrollTo(0, y);
    await frame();
    await frame();
  }
  window.scrollTo(0, 0);
  await frame();
  return window.shifts.reduce((sum, shift) => sum + shift, 0);
}
"""


def opens_without_errors_and_without_other_hosts(seen: Visit) -> None:
    assert [*seen.console, *seen.failed, *seen.foreign] == []


def is_light_and_stands_still(seen: Visit) -> None:
    assert seen.moved <= (STILL if seen.name in KINDS else POOR)
    if seen.name in PAGES:  # the search loads its index
        assert seen.bytes <= (WITH_SLIDERS if flipbooks(seen.name) else PLAIN)


def pictures_are_described(seen: Visit) -> None:
    told = seen.page.evaluate(TOLD)
    assert [alt for alt in told if len(alt.split()) < 3 or FILE_NAME.fullmatch(alt)] == []


def formulas_are_set_and_can_be_read_out(seen: Visit) -> None:
    written = len(tree(seen.name).cssselect("article .math, article .math-wrapper"))
    assert seen.page.locator("mjx-merror, [data-mjx-error]").all_text_contents() == []
    drawn = seen.page.locator("mjx-container").count()
    assert drawn >= written
    assert (drawn > 0) == (written > 0)
    assert seen.page.evaluate(UNREADABLE) == []
    assert not seen.name.startswith("notebooks/") or seen.page.evaluate(SCROLLING) == []


def every_slider_changes_its_picture(seen: Visit) -> None:
    if seen.name in INTERACTIVE:
        check_flipbooks(seen.page, seen.name)


def a_choice_shows_its_reason(seen: Visit) -> None:
    if seen.name in ASKING:
        check_questions(seen.page, seen.name)


def a_board_takes_the_place_of_its_picture(seen: Visit) -> None:
    if "companion-board-static" in source(seen.name):
        output = seen.page.locator(".cell_output:has(.companion-board-static)")
        output.scroll_into_view_if_needed()
        output.locator(".board-controls").wait_for()
        assert output.locator("img").count() == 0


def the_picture_of_what_it_is_about_comes_early(seen: Visit) -> None:
    screens, what, *_ = seen.page.evaluate(FIRST)
    assert screens <= 2.0 or not CHAPTER.match(seen.name), what


def fits_a_phone(seen: Visit) -> None:
    resize(seen.page, PHONE)
    a_board_takes_the_place_of_its_picture(seen)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert seen.page.evaluate(TOO_WIDE) == []
    assert seen.page.evaluate(TINY_PANELS) == []
    assert not seen.name.startswith("notebooks/") or seen.page.evaluate(SCROLLING) == []


LOOKS: set[str] = set()  # of texts that axe measured on the pages before


def axe_finds_nothing_grave(seen: Visit) -> None:
    """The page is spoilt: this check is the last one."""
    assert seen.page.evaluate("document.documentElement.dataset.theme") == "light"
    found = grave_violations(seen.page, LOOKS, whole=seen.name in WHOLE)
    assert found == {"structure": [], "light": [], "dark": []}


CHECKS: list[Callable[[Visit], None]] = [
    opens_without_errors_and_without_other_hosts,
    is_light_and_stands_still,
    pictures_are_described,
    formulas_are_set_and_can_be_read_out,
    every_slider_changes_its_picture,
    a_choice_shows_its_reason,
    a_board_takes_the_place_of_its_picture,
    the_picture_of_what_it_is_about_comes_early,
    fits_a_phone,
    axe_finds_nothing_grave,
]
OF_EXTRA = {"genindex.html": CHECKS[:2], "search.html": [*CHECKS[:2], CHECKS[-1]]}


@pytest.mark.parametrize("name", PAGES + EXTRA)
def test_page(reader: Reader, name: str, subtests: pytest.Subtests) -> None:
    seen = reader.visit(name)
    for check in OF_EXTRA.get(name, CHECKS):
        with subtests.test(check.__name__):
            check(seen)


@pytest.mark.parametrize("name", KINDS)
def test_with_an_empty_cache_the_page_stands_still_while_it_is_read(
    browser: Browser, server: str, name: str
) -> None:
    with Reader(browser, server) as reader:
        assert reader.open(name).evaluate(SCROLL, [800, 12_000]) <= STILL


@pytest.mark.parametrize("name", KINDS)
def test_fingers_hit_what_they_aim_at(browser: Browser, server: str, name: str) -> None:
    with Reader(browser, server, has_touch=True) as reader:
        assert reader.open(name, PHONE).evaluate(SMALL) == []


def test_many_pictures_have_panels_that_a_phone_shows_one_by_one() -> None:
    """So that the check above looks at something: pictures in the text, and those of sliders."""
    assert sum(source(name).count(" data-panels=") for name in PAGES) > 40
    figures = [plt.subplots(1, 2, figsize=(4, 2), layout="constrained")[0] for _ in range(2)]
    assert all(b"tEXtpanels\0" in frame[:192] for frame in frames(figures))  # flipbook.js reads it


def test_the_front_door_leads_to_the_first_page_with_one_search_box(
    browser: Browser, server: str
) -> None:
    links_lead_somewhere_and_ids_are_unique("index.html")
    boxes = "button.search-button-field:visible, button.search-button:visible"
    with browser.new_page() as page:
        page.set_default_timeout(PATIENCE)
        page.goto(f"{server}/index.html")
        page.wait_for_url(f"**/{PAGES[0]}")
        assert page.locator(boxes).count() == 1


def test_no_tex_is_seen_while_mathjax_is_on_its_way(browser: Browser, server: str) -> None:
    """Where it does not come, the source of the formulas is better than nothing."""
    with Reader(browser, server) as reader:
        page, asked = reader.page, []
        page.route(re.compile(r"mathjax/startup\.js"), lambda route: asked.append(route))
        page.goto(f"{server}/notebooks/admm/duality.html", wait_until="commit")
        page.locator(".report").wait_for(state="attached")  # the end of the page
        assert "\\(" not in page.locator("body").inner_text()
        while not asked:
            page.wait_for_timeout(50)
        asked[0].abort()
        page.wait_for_function("() => document.documentElement.matches('.math-shown')")
        assert "\\(" in page.locator(".bd-article").inner_text()
