"""Print the built site to one PDF: title, contents, bookmarks, page numbers, links between the pages, solutions open.

``make pdf`` builds the site first. Chromium prints. A slider shows the picture that it starts with, unless that picture
stands before it already; the folded code of pictures stays away.

Jupyter Book's builder ``pdfhtml`` prints one long page without bookmarks, sheet numbers or contents that have them, and
its LaTeX builder knows neither our boxes nor sliders; pypdf joins sheets, but leaves links between them and pictures
as they are.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import io
import re
import shutil
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import Browser, Page, Playwright, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    ByteStringObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NullObject,
    NumberObject,
)  # fmt: skip

from tools.toc import ROOT, listed, pages_in_order, project, render

SITE = ROOT / "build/_build/html"
TARGET = ROOT / "build/companion.pdf"
TITLE = "Optimization for Machine Learning: an Executable Companion"
# The first that is installed. The shell has no window and none of a window's own pages to draw: it is twice as fast.
BROWSERS = (
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
)  # fmt: skip
WIDTH = 673  # px: the 178 mm of A4 between the margins

TEMPLATES = Path(__file__).parent / "templates"
STYLE, SCRIPT = ((TEMPLATES / f"print.{end}").read_text("utf-8") for end in ("css", "js"))
# the outlines of formulas, to 0.03 mm: a fifth of the file
LONG = re.compile(rb"(\d\d\.\d)\d+|(\d\.\d\d\d)\d+")
# what only a screen needs, or the project: links into the package and into the tests, files to load
SCREEN = re.compile(
    r"book/(api\b.*|concordance|downloads|contributing|template|jupyter-book-2|status)|genindex"
)


class Printed(NamedTuple):
    """One page of the site on paper: its title, its sections (anchor, title), its sheets, the place of each anchor."""

    name: str
    title: str
    sections: list[tuple[str, str]]
    sheets: PdfReader
    places: dict[str, tuple[int, float]]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serve files without a log."""

    log_message = staticmethod(lambda *_: None)  # type: ignore[assignment]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder; give its address, without a slash at its end."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def launch(playwright: Playwright, *flags: str) -> Browser:
    """Start the first browser that is installed."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox", *flags])


def wait_until_drawn(page: Page) -> None:
    """Wait for formulas and sliders."""
    page.wait_for_load_state("load")
    page.evaluate("async () => { await window.MathJax?.startup?.promise; }")
    if page.locator("script[type='application/vnd.jupyter.widget-view+json']").count():
        page.wait_for_selector(".companion-flipbook img", state="attached", timeout=300_000)


def places_in(sheets: PdfReader) -> dict[str, tuple[int, float]]:
    """Return the sheet and the height of each anchor that Chromium kept."""
    found = {}
    for name, place in sheets.named_destinations.items():
        number = sheets.get_destination_page_number(place)
        if number is not None:
            found[unquote(name.lstrip("/"))] = (number, float(place.top or 842))
    return found


def print_page(window: Page, base: str, name: str) -> Printed:
    """Print one page of the site."""
    window.goto(f"{base}{name}.html")
    wait_until_drawn(window)
    sections = window.locator(".bd-article section > h2").evaluate_all(
        "all => all.map(h => [h.parentElement.id, h.firstChild.textContent.trim()])"
    )
    window.add_script_tag(content=SCRIPT)
    window.evaluate("openAll()")
    window.add_style_tag(content=STYLE)
    window.wait_for_timeout(100)
    window.evaluate("fit")
    sheets = PdfReader(io.BytesIO(window.pdf(prefer_css_page_size=True, print_background=True)))
    title = window.title().split(" — ")[0]
    return Printed(name, title, [tuple(s) for s in sections], sheets, places_in(sheets))


def target_of(note: DictionaryObject, home: str, base: str) -> tuple[str, str] | None:
    """Return the page and the anchor that a link inside the book leads to."""
    if "/Dest" in note:  # an anchor of the page itself
        return home, unquote(str(note["/Dest"]).lstrip("/"))
    uri = str(note.get("/A", DictionaryObject()).get_object().get("/URI", ""))
    if not uri.startswith(base):
        return None
    parts = urlsplit(uri)
    return parts.path.lstrip("/").removesuffix(".html"), unquote(parts.fragment)


def link_inside(
    writer: PdfWriter, printed: dict[str, Printed], starts: dict[str, int], base: str
) -> int:
    """Turn the links between the site's pages into links inside the document; return how many."""
    count = 0
    homes = {
        starts[name] + i: name for name in printed for i in range(len(printed[name].sheets.pages))
    }
    for number, sheet in enumerate(writer.pages):
        for reference in sheet.get("/Annots", ArrayObject()):
            note = reference.get_object()
            goal = target_of(note, homes.get(number, ""), base)
            if goal is None:
                continue
            for key in ("/Dest", "/A"):
                if key in note:
                    del note[key]
            name, anchor = goal
            if name not in printed:  # a file of the site that is no page: no link
                continue
            page, top = printed[name].places.get(anchor, (0, 842.0))
            place = writer.pages[starts[name] + page].indirect_reference
            spot = [place, NameObject("/XYZ"), NullObject(), FloatObject(top), NullObject()]
            go = {NameObject("/S"): NameObject("/GoTo"), NameObject("/D"): ArrayObject(spot)}
            note[NameObject("/A")] = DictionaryObject(go)
            count += 1
    return count


def print_template(window: Page, name: str, **data: Any) -> PdfReader:
    """Print a page that is made here."""
    window.set_content(render(f"print-{name}.html", **data))
    return PdfReader(io.BytesIO(window.pdf(prefer_css_page_size=True, print_background=True)))


def number_sheets(writer: PdfWriter, window: Page, titles: list[str]) -> None:
    """Write the page's title and the number at the foot of every sheet."""
    for sheet, foot in zip(writer.pages, print_template(window, "feet", titles=titles).pages):
        sheet.merge_page(foot)
        content = sheet.get_contents()
        content.set_data(LONG.sub(lambda m: m[1] or m[2], content.get_data()))
        sheet[NameObject("/Contents")] = content.flate_encode(9)


def start_of_each(printed: dict[str, Printed], at: int) -> dict[str, int]:
    """Return the number of each page's first sheet, where ``at`` sheets stand before them."""
    starts = {}
    for name, page in printed.items():
        starts[name] = at
        at += len(page.sheets.pages)
    return starts


def shrink_pictures(writer: PdfWriter) -> None:
    """Store each picture by few colours, where nobody sees the difference: Chromium stores three bytes a pixel."""
    done: set[int] = set()
    for sheet in writer.pages:
        for picture in sheet.images:
            data = picture.indirect_reference.get_object()
            if picture.indirect_reference.idnum in done or "/SMask" in data:
                continue
            done.add(picture.indirect_reference.idnum)
            whole = picture.image.convert("RGB")
            for colours in (64, 256):
                few = whole.quantize(colours, dither=Image.Dither.NONE)
                difference = ImageChops.difference(whole, few.convert("RGB"))
                if max(ImageStat.Stat(difference).mean) < 1:
                    break
            else:
                continue
            table = bytes(few.getpalette())
            space = [NameObject("/Indexed"), NameObject("/DeviceRGB")]
            space += [NumberObject(len(table) // 3 - 1), ByteStringObject(table)]
            data[NameObject("/ColorSpace")] = ArrayObject(space)
            data[NameObject("/Filter")] = NameObject("/FlateDecode")
            data.pop("/DecodeParms", None)
            data._data = zlib.compress(few.tobytes(), 9)


def print_pages(browser: Browser, base: str, pages: list[str]) -> PdfWriter:
    """Print pages of a site that is served under ``base`` (with a slash at its end) into one document."""
    window = browser.new_page(viewport={"width": WIDTH, "height": 950})
    window.emulate_media(media="print", color_scheme="light")
    printed = {name: print_page(window, base, name) for name in pages}
    parts = {part["chapters"][0]["file"]: part["caption"] for part in listed()["parts"]}
    front = print_template(window, "title", project=project() | {"title": TITLE})
    data = {"pages": printed.values(), "parts": parts, "base": base}
    starts = start_of_each(printed, 2)
    table = print_template(window, "contents", **data, starts=starts)  # for its length
    starts = start_of_each(printed, len(front.pages) + len(table.pages))
    table = print_template(window, "contents", **data, starts=starts)

    writer, titles = PdfWriter(), []
    before = [(front, ""), (table, "Contents")]
    for sheets, name in [*before, *((page.sheets, page.title) for page in printed.values())]:
        for sheet in sheets.pages:
            writer.add_page(sheet)
            titles.append(name)
    link_inside(writer, printed, starts, base)
    number_sheets(writer, window, titles)
    window.close()

    part = None
    for name, page in printed.items():
        if name in parts:
            part = writer.add_outline_item(title=parts[name], page_number=starts[name])
        mark = writer.add_outline_item(
            title=page.title, page_number=starts[name], parent=part, is_open=False
        )
        for anchor, heading in page.sections:
            if anchor in page.places:
                at = starts[name] + page.places[anchor][0]
                writer.add_outline_item(title=heading, page_number=at, parent=mark)
    writer.add_metadata({"/Title": TITLE})
    shrink_pictures(writer)
    writer.compress_identical_objects()
    whole = io.BytesIO()
    writer.write(whole)
    return PdfWriter(clone_from=whole)  # without what nothing refers to any more: four fifths


def main() -> None:
    """Print the whole book."""
    if not (SITE / "index.html").exists():
        sys.exit("the site is not built: run make book first")
    with served(SITE) as address, sync_playwright() as playwright:
        browser = launch(playwright)
        pages = [name for name in pages_in_order() if not SCREEN.fullmatch(name)]
        document = print_pages(browser, f"{address}/", pages)
        browser.close()
    document.write(TARGET)
    size = TARGET.stat().st_size / 1e6
    print(f"{TARGET.relative_to(ROOT)}: {len(document.pages)} sheets, {size:.1f} MB")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
