"""Sliders answer the keyboard, on the server and from the disk."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator

from tests.site.site import NEXT_FRAME, PAGES, SITE, Count, Reader, flipbooks

INTERACTIVE = [page for page in PAGES if (SITE / page).exists() and flipbooks(page)]

VISIBLE_PICTURES = "f => [...f.querySelectorAll('img')].filter(i => i.offsetParent).map(i => i.src)"
VISIBLE_TEXTS = "f => [...f.querySelectorAll('img')].filter(i => i.offsetParent).map(i => i.alt)"


def press(flipbook: Locator, handle: Locator) -> tuple[list[str], list[str], str, str]:
    """Move a slider by one position with the keyboard; return pictures and values before and after."""
    before, value = flipbook.evaluate(VISIBLE_PICTURES), handle.get_attribute("aria-valuetext")
    handle.focus()
    at_end = handle.evaluate("slider => slider.value === slider.max")
    handle.press("ArrowLeft" if at_end else "ArrowRight")
    handle.page.evaluate(NEXT_FRAME)
    return (
        before,
        flipbook.evaluate(VISIBLE_PICTURES),
        value,
        handle.get_attribute("aria-valuetext"),
    )


def check_flipbooks(reader: Reader, name: str) -> None:
    page = reader.open(name)
    books = page.locator(".companion-flipbook")
    assert books.count() == flipbooks(name)
    for i in range(books.count()):
        book = books.nth(i)
        handles = book.locator("input[type=range]")
        assert handles.count() >= 1
        for j in range(handles.count()):
            before, after, value, new_value = press(book, handles.nth(j))
            assert len(before) == len(after) == 1, "one picture at a time"
            assert before != after, f"slider {j} of flipbook {i} does not change the picture"
            assert value != new_value, "a screen reader hears the same value"
            assert handles.nth(j).get_attribute("aria-label"), "the slider has no name"
        assert book.evaluate(VISIBLE_TEXTS)[0].strip()


def test_there_are_flipbooks() -> None:
    assert INTERACTIVE


@pytest.mark.parametrize("name", INTERACTIVE)
def test_slider_changes_the_picture(reader: Reader, name: str, count: Count) -> None:
    count("flipbooks", flipbooks(name))
    check_flipbooks(reader, name)


@pytest.fixture(scope="module")
def disk(browser: Browser, built_site: None) -> Iterator[Reader]:
    """Opens pages straight from the disk."""
    with Reader(browser, SITE.as_uri()) as opened:
        yield opened


@pytest.mark.parametrize("name", [PAGES[0], *INTERACTIVE[:2]])
def test_works_from_the_disk(disk: Reader, name: str) -> None:
    seen = disk.visit(name)
    assert seen.console == []
    assert seen.failed == []
    assert seen.foreign == []
    fonts = seen.page.evaluate(
        "() => document.fonts.ready.then(f => [...f].filter(x => x.status === 'error').map(x => x.family))"
    )
    assert fonts == []
    check_flipbooks(disk, name)
