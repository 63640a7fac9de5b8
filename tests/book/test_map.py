"""The map of the book is what the pages say of themselves."""

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tools import map as book_map
from tools.toc import BOOK, pages_in_order, read_yaml

SHOWN = book_map.pages_on_the_map()
PAGE = book_map.map_page()
RAW = re.findall(r"^```\{raw\} html\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
TREE = ElementTree.fromstring(f"<page>{''.join(RAW)}</page>")
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
    """An arrow that follows from others is left out; it is solid where most pages of a part need the other."""
    columns = {path: {SHOWN[n].column for n in needed_by(path)} for path in SHOWN}
    pages = {c: [p for p in SHOWN if SHOWN[p].column == c] for c in range(len(book_map.parts()))}
    needs = {c: set().union(*(columns[p] for p in mine)) - {c} for c, mine in pages.items()}
    wanted, drawn, tops = set(), set(), []
    for end, starts in book_map.reduced(needs).items():
        saying = [columns[p] for p in pages[end] if SHOWN[p].needs]
        shares = {start: sum(start in each for each in saying) / len(saying) for start in starts}
        wanted |= {
            (start, end, "most" if share > 0.5 else "some") for start, share in shares.items()
        }
    for i, box in enumerate(TREE.iter(f"{SVG}a")):
        title = re.split("[:;] ", book_map.parts()[i][0])
        assert (box.attrib["href"], [*box.itertext()]) == (f"#lane-{i}", title)
        tops.append(int(box.find(f"{SVG}rect").attrib["y"]))
    for path in TREE.iterfind(".//*[@data-parts]"):
        start, end = map(int, path.attrib["data-parts"].split())
        drawn.add((start, end, path.attrib["class"]))
        points = re.findall(r"\d+", path.attrib["d"])
        assert [int(points[1]), int(points[-1])] == [tops[start] + 44, tops[end] - 5]
        assert tops[start] < tops[end]
    assert drawn == wanted


def test_the_lanes_hold_every_page_once_and_every_need() -> None:
    lanes = TREE.find("div[@class='lanes']")
    rows = list(lanes.iter("li"))
    assert [row.find("a").attrib["href"] for row in rows] == [f"../{path}.html" for path in SHOWN]
    assert len(list(lanes.iter("circle"))) == len(SHOWN)
    drawn = sum(path.attrib["d"].count("M") for path in lanes.iter("path"))
    named = sum(len(row.findall("small/a")) for row in rows)
    assert drawn + named == sum(map(len, book_map.essential(SHOWN).values()))
    ids = {lane.attrib.get("id") for lane in lanes.iter("div")}
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
    for path in read_yaml(BOOK / "paths.yml").values():
        for i, stop in enumerate(path["stops"]):
            assert not any(stop in SHOWN[earlier].needs for earlier in path["stops"][:i])
        minutes = sum(SHOWN[stop].minutes for stop in path["stops"])
        assert f"About {minutes / 60:.1f} hours." in PAGE
