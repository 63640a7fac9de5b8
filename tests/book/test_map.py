"""The map of the book is what the pages say of themselves."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tools import map as book_map
from tools.toc import pages_in_order

SHOWN = book_map.pages_on_the_map()
SVG = "{http://www.w3.org/2000/svg}"


def needed_by(page: str) -> set[str]:
    """All pages before a page, by the links of the pages themselves."""
    needs = set(SHOWN[page].needs)
    return needs.union(*map(needed_by, needs))


def test_every_chapter_page_is_on_the_map_and_says_what_it_needs() -> None:
    """Pages before it: so none needs itself through others."""
    chapters = [p for p in pages_in_order() if p.startswith("notebooks/") and "/about/" not in p]
    assert list(SHOWN) == chapters
    for place, page in enumerate(SHOWN.values()):
        assert page.takes
        assert set(page.needs) <= set(chapters[:place]), page.path
    # read relative to the page
    assert "notebooks/admm/dual-ascent" in SHOWN["notebooks/admm/method-of-multipliers"].needs


def test_the_drawing_of_the_chapters_has_every_part_below_what_it_needs() -> None:
    arrows = book_map.chapter_needs(SHOWN)
    places = book_map.places_of_chapters(arrows)
    assert sorted(places) == list(range(len(book_map.parts())))
    assert len(set(places.values())) == len(places)
    columns = {(SHOWN[n].column, SHOWN[p].column) for p in SHOWN for n in needed_by(p)}
    assert set(arrows) <= columns
    assert all(places[start][1] < places[end][1] for start, end in arrows)
    svg = next(ElementTree.fromstring(book_map.chapters()).iter(f"{SVG}svg"))
    assert [a.attrib["href"] for a in svg.iter(f"{SVG}a")] == [f"#lane-{c}" for c in places]
    assert float(svg.attrib["width"]) <= 350, "fits a phone"


def test_the_lanes_hold_every_page_once_and_every_need() -> None:
    tree = ElementTree.fromstring(book_map.lanes())
    rows = list(tree.iter("li"))
    assert [row.find("a").attrib["href"] for row in rows] == [f"../{path}.html" for path in SHOWN]
    assert len(list(tree.iter("circle"))) == len(SHOWN)
    drawn = sum(path.attrib["d"].count("M") for path in tree.iter("path"))
    named = sum(len(row.findall("small/a")) for row in rows)
    assert drawn + named == sum(map(len, book_map.essential(SHOWN).values()))
    ids = {lane.attrib.get("id") for lane in tree.iter("div")}
    assert {f"lane-{i}" for i in range(len(book_map.parts()))} <= ids


@given(st.lists(st.sets(st.integers(0, 8), max_size=3), min_size=1, max_size=9))
def test_no_line_runs_through_the_dot_of_another_page(wishes: list[set[int]]) -> None:
    pages = [f"p{i}" for i in range(len(wishes))]
    earlier = {f"p{i}": {f"p{j}" for j in wish if j < i} for i, wish in enumerate(wishes)}
    needs = book_map.reduced(earlier)
    track = book_map.tracks(pages, needs)
    for page, mine in needs.items():
        for need in mine:
            line = book_map.route(need, page, track)
            between = pages[pages.index(need) + 1 : pages.index(page)]
            assert line is None or line not in {track[p] for p in between}, (needs, track)
            assert line is not None or len(mine) > 1, "one need can always be drawn"


def test_paths_follow_the_arrows_and_give_the_sum_of_the_minutes() -> None:
    """No path visits a page after one that needs it."""
    for _, stops in book_map.PATHS.values():
        path = [f"notebooks/{stop}" for stop in stops]
        for i, stop in enumerate(path):
            assert not any(stop in SHOWN[earlier].needs for earlier in path[:i])
        minutes = sum(SHOWN[stop].minutes for stop in path)
        assert f"About {minutes / 60:.1f} hours." in book_map.map_page()
