"""Sliders answer the keyboard, on the server and from the disk."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ElementHandle, Page

from tests.site.site import PAGES, SITE, Reader, flipbooks

INTERACTIVE = [page for page in PAGES if (SITE / page).exists() and flipbooks(page)]

HANDLE = "input[type=range], select"
# What a flipbook shows and what a slider of it says, read in one go.
STATE = """
handle => {
  const last = handle.options ? handle.options.length - 1 : Number(handle.max);
  const pictures = [...handle.closest('.companion-flipbook').querySelectorAll('img')];
  return {
    focused: document.activeElement === handle,
    atEnd: (handle.selectedIndex ?? Number(handle.value)) === last,
    name: handle.getAttribute('aria-label'),
    value: handle.options ? handle.value : handle.getAttribute('aria-valuetext'),
    shown: pictures.filter(picture => picture.offsetParent).map(picture => [picture.src, picture.alt.trim()]),
  };
}
"""
# The pictures just before a slider that say the same as its own.
TWICE = """
() => [...document.querySelectorAll('.companion-flipbook')].flatMap(flipbook => {
  const first = flipbook.querySelector('img').alt.trim();
  return [...document.querySelectorAll('.bd-article .cell_output > img, .bd-article .cell_output p img')]
    .filter(image => image.offsetParent && image.alt.trim() === first).map(image => image.alt);
})
"""
# One that goes on with a solution is behind its fold.
OPEN = """
flipbook => {
  for (let part = flipbook; part; part = part.parentElement) {
    part.classList.remove('toggle-hidden');
    if (part.tagName === 'DETAILS') part.open = true;
  }
}
"""
ANSWERED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def check_slider(page: Page, handle: ElementHandle) -> None:
    """Move one slider by one position with the keyboard."""
    handle.evaluate("handle => handle.focus()")
    before = handle.evaluate(STATE)
    assert before["focused"], "the slider cannot be reached with the keyboard"
    assert before["name"], "the slider has no name"
    page.keyboard.press("ArrowLeft" if before["atEnd"] else "ArrowRight")
    page.evaluate(ANSWERED)
    after = handle.evaluate(STATE)
    ((old, _),), ((new, text),) = before["shown"], after["shown"]  # one picture at a time
    assert old != new, "the slider does not change the picture"
    assert before["value"] != after["value"], "a screen reader hears the same value"
    assert text


def check_flipbooks(page: Page, name: str) -> None:
    """Each slider moves, and the picture that it begins with is not on the screen a second time, just above it."""
    assert page.evaluate(TWICE) == []
    books = page.query_selector_all(".companion-flipbook")
    assert len(books) == flipbooks(name)
    for book in books:
        book.evaluate(OPEN)
        handles = book.query_selector_all(HANDLE)
        assert handles
        for handle in handles:
            check_slider(page, handle)


@pytest.fixture(scope="module")
def disk(browser: Browser, built_site: None) -> Iterator[Reader]:
    """Opens pages straight from the disk, as after unpacking the zip: no page may read another."""
    with Reader(browser, SITE.as_uri()) as opened:
        yield opened


@pytest.mark.parametrize("name", INTERACTIVE[:2])
def test_works_from_the_disk(disk: Reader, name: str) -> None:
    seen = disk.visit(name)
    assert [*seen.console, *seen.failed, *seen.foreign] == []
    fonts = seen.page.evaluate(
        "() => document.fonts.ready.then(f => [...f].filter(x => x.status === 'error').map(x => x.family))"
    )
    assert fonts == []
    check_flipbooks(seen.page, name)
    seen.page.goto((SITE / "index.html").as_uri())
    seen.page.wait_for_url(f"**/{PAGES[0]}")
