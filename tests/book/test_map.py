"""The map of the book is what the pages say of themselves."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tools.map import (
    HEIGHT,
    PATHS,
    WIDTH,
    corner,
    drawing,
    lines_of,
    map_page,
    needs_of,
    pages_on_the_map,
)
from tools.toc import pages_in_order

SHOWN = pages_on_the_map()


def test_every_chapter_page_is_on_the_map() -> None:
    chapter_pages = [
        p for p in pages_in_order() if p.startswith("notebooks/") and "/about/" not in p
    ]
    assert list(SHOWN) == chapter_pages


@pytest.mark.parametrize("page", SHOWN.values(), ids=lambda page: page.path)
def test_pages_say_what_they_need_and_how_long_they_take(page: object) -> None:
    assert page.takes
    for need in page.needs:
        assert need in SHOWN, f"{page.path} needs {need}, which is not in the book"
        assert need != page.path


def test_no_page_needs_itself_through_others() -> None:
    def reaches(start: str, goal: str, seen: set[str]) -> bool:
        return any(
            need == goal or (need not in seen and reaches(need, goal, seen | {need}))
            for need in SHOWN[start].needs
        )

    assert [page for page in SHOWN if reaches(page, page, set())] == []


def test_needs_are_read_relative_to_the_page() -> None:
    assert "notebooks/admm/dual-ascent" in needs_of("notebooks/admm/method-of-multipliers")
    assert "notebooks/admm/quadratic-programs" in needs_of("notebooks/regression/elastic-net")


def test_the_drawing_has_a_box_and_a_link_for_every_page() -> None:
    tree = ElementTree.fromstring(drawing())
    svg = "{http://www.w3.org/2000/svg}"
    links = [a.attrib["href"] for a in tree.iter(f"{svg}a")]
    assert links == [f"../{path}.html" for path in SHOWN]
    arrows = [p for g in tree.iter(f"{svg}g") for p in g.iter(f"{svg}path")]
    assert len(arrows) == sum(len(page.needs) for page in SHOWN.values())
    picture = next(tree.iter(f"{svg}svg")).attrib
    for page in SHOWN.values():
        x, y = corner(page)
        assert 0 <= x <= float(picture["width"]) - WIDTH
        assert 0 <= y <= float(picture["height"]) - HEIGHT


def test_titles_are_broken_into_two_lines_that_fit() -> None:
    assert lines_of("Ridge regression with an intercept") == [
        "Ridge regression with an",
        "intercept",
    ]
    assert all(len(line) <= 28 for line in lines_of("A very long title of a page " * 4))


def test_paths_follow_the_arrows() -> None:
    """No path visits a page after one that needs it."""
    for _, stops in PATHS.values():
        seen: list[str] = []
        for stop in (f"notebooks/{s}" for s in stops):
            if stop in SHOWN:
                assert not any(stop in SHOWN[earlier].needs for earlier in seen)
                seen.append(stop)


def test_the_page_gives_the_sum_of_the_minutes() -> None:
    _, stops = PATHS["ADMM in an evening"]
    minutes = sum(SHOWN[f"notebooks/{stop}"].minutes for stop in stops)
    assert f"About {minutes / 60:.1f} hours." in map_page()
