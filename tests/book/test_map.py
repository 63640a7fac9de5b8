"""The map of the book is what the pages say of themselves."""

import re
from xml.etree import ElementTree

from tools import pages as book_map
from tools.toc import BOOK, pages_in_order, parts, read_yaml

SHOWN = book_map.pages_on_the_map()
PART = {page: part for part, (_, pages) in enumerate(parts()) for page in pages}
PAGE = book_map.map_page()
RAW = re.findall(r"^```\{raw\} html\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
TREE = ElementTree.fromstring(f"<page>{''.join(RAW)}</page>")
SVG = "{http://www.w3.org/2000/svg}"


def needed_by(page: str) -> set[str]:
    """All pages before a page, by the links of the pages themselves."""
    needs = set(SHOWN[page]["needs"])
    return needs.union(*map(needed_by, needs))


def reduced(needs: dict[int, set[int]]) -> dict[int, set[int]]:
    """Without the needs that follow from others."""

    def above(part: int) -> set[int]:
        return needs[part].union(*map(above, needs[part]))

    return {part: mine - set().union(*map(above, mine)) for part, mine in needs.items()}


def test_every_chapter_page_is_on_the_map_and_says_what_it_needs() -> None:
    """Pages before it: so none needs itself through others."""
    chapters = [p for p in pages_in_order() if p.startswith("notebooks/") and "/about/" not in p]
    assert list(SHOWN) == chapters
    for place, page in enumerate(SHOWN.values()):
        assert page["takes"]
        assert set(page["needs"]) <= set(chapters[:place]), page["path"]
    # read relative to the page
    assert "notebooks/admm/dual-ascent" in SHOWN["notebooks/admm/method-of-multipliers"]["needs"]


def test_the_drawing_of_the_chapters_has_every_part_below_what_it_needs() -> None:
    """An arrow that follows from others is left out; it is solid where most pages of a part need the other."""
    columns = {path: {PART[n] for n in needed_by(path)} for path in SHOWN}
    pages = {c: [p for p in SHOWN if PART[p] == c] for c in range(len(parts()))}
    needs = {c: set().union(*(columns[p] for p in mine)) - {c} for c, mine in pages.items()}
    wanted, drawn, tops = set(), set(), []
    for end, starts in reduced(needs).items():
        saying = [columns[p] for p in pages[end] if SHOWN[p]["needs"]]
        shares = {start: sum(start in each for each in saying) / len(saying) for start in starts}
        wanted |= {
            (start, end, "most" if share > 0.5 else "some") for start, share in shares.items()
        }
    for i, box in enumerate(TREE.iter(f"{SVG}a")):
        title = re.split("[:;] ", parts()[i][0])
        assert (box.attrib["href"], [*box.itertext()]) == (f"#map-{i}", title)
        tops.append(int(box.find(f"{SVG}rect").attrib["y"]))
    for path in TREE.iterfind(".//*[@data-parts]"):
        start, end = map(int, path.attrib["data-parts"].split())
        drawn.add((start, end, path.attrib["class"]))
        points = re.findall(r"\d+", path.attrib["d"])
        assert [int(points[1]), int(points[-1])] == [tops[start] + 44, tops[end] - 5]
        assert tops[start] < tops[end]
    assert drawn == wanted


def test_the_tables_hold_every_page_once_and_every_need() -> None:
    rows = dict(
        re.findall(r"^\| \[.*?\]\(\.\./(\S+)\.ipynb\) \| (.*) \| .* \|$", PAGE, re.MULTILINE)
    )
    assert list(rows) == list(SHOWN)
    for path, row in rows.items():
        assert re.findall(r"\(\.\./(\S+?)\.ipynb\)", row) == list(SHOWN[path]["needs"])
        assert row or not SHOWN[path]["words"]
    assert re.findall(r"^\(map-(\d)\)=", PAGE, re.M) == [str(i) for i in range(len(parts()))]


def test_paths_follow_the_arrows_and_give_the_sum_of_the_minutes() -> None:
    """No path visits a page after one that needs it."""
    for path in read_yaml(BOOK / "paths.yml").values():
        for i, stop in enumerate(path["stops"]):
            assert not any(stop in SHOWN[earlier]["needs"] for earlier in path["stops"][:i])
        minutes = sum(SHOWN[stop]["minutes"] for stop in path["stops"])
        assert f"About {minutes / 60:.1f} hours." in PAGE
