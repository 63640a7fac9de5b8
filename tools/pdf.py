"""Print the built site to one PDF: title, contents, bookmarks, page numbers, links between the pages, solutions open.

``make pdf`` builds the site first. Chromium prints. A slider shows the picture that it starts with, unless that picture
stands before it already; the folded code of pictures stays away.

Jupyter Book's builder ``pdfhtml`` prints one long page without bookmarks, sheet numbers or contents that have them, and
its LaTeX builder knows neither our boxes nor sliders; pypdf joins sheets, but leaves links between them and pictures
as they are.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import shutil
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from PIL import Image
from playwright.sync_api import Browser, Page, Playwright, sync_playwright
from pypdf import PdfReader, PdfWriter, generic
from pypdf.generic import NameObject

from tools.editions import PDF, SITE
from tools.toc import listed, pages_in_order, project, render, title

TITLE = "Optimization for Machine Learning: an Executable Companion"
# The first that is installed. The shell has no window and none of a window's own pages to draw: it is twice as fast.
BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"]
WIDTH = 673  # px: the 178 mm of A4 between the margins
TEMPLATES = Path(__file__).parent / "templates"
STYLE, SCRIPT = ((TEMPLATES / f"print.{end}").read_text("utf-8") for end in ("css", "js"))
# the outlines of formulas, to 0.03 mm: a fifth of the file
LONG = re.compile(rb"(\d\d\.\d)\d+|(\d\.\d\d\d)\d+")
# what only a screen needs, or the project: links into the package and into the tests, files to load
SCREEN = re.compile(
    r"book/(api\b.*|concordance|downloads|contributing|template|jupyter-book-2|status)|genindex"
)


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


def to_pdf(window: Page) -> PdfReader:
    """Print what a window shows."""
    return PdfReader(io.BytesIO(window.pdf(prefer_css_page_size=True, print_background=True)))


def print_template(window: Page, name: str, **data: Any) -> PdfReader:
    """Print a page that is made here."""
    window.set_content(render(f"print-{name}.html", **data))
    return to_pdf(window)


def print_page(window: Page, address: str, name: str, before: int) -> tuple[PdfReader, list]:
    """Print a page of the site, and number it behind the sheets before; return its sections, too (anchor, title)."""
    window.goto(address)
    wait_until_drawn(window)
    sections = window.locator(".bd-article section > h2").evaluate_all(
        "all => all.map(h => [h.parentElement.id, h.firstChild.textContent.trim()])"
    )
    window.add_script_tag(content=SCRIPT)
    window.evaluate("openAll()")
    foot = f"@page {{ @bottom-left {{ content: {json.dumps(name, ensure_ascii=False)} }} }}"
    window.add_style_tag(content=f"{STYLE}{foot} html {{ counter-reset: page {before} }}")
    window.wait_for_timeout(100)
    window.evaluate("fit")
    return to_pdf(window), sections


def places_in(sheets: PdfReader, address: str, start: int) -> dict[str, tuple[int, float]]:
    """Return the sheet and the height of a page and of each of its anchors that Chromium kept."""
    found = {address: (start, 842.0)}
    for name, place in sheets.named_destinations.items():
        number = sheets.get_destination_page_number(place) or 0
        found[f"{address}#{unquote(name.lstrip('/'))}"] = start + number, float(place.top or 842)
    return found


def link_inside(writer: PdfWriter, base: str, places: dict[str, tuple[int, float]]) -> None:
    """Turn the links between the site's pages into links inside the document; a file that is no page has none."""
    for reference in (note for sheet in writer.pages for note in sheet.get("/Annots", ())):
        note = reference.get_object()
        address = unquote(str(note.get("/A", {}).get("/URI", ""))).replace("?#", "#")
        if address.startswith(base):
            number, top = places.get(address) or places.get(address.split("#")[0]) or (None, 0)
            del note["/A"]
            if number is not None:
                sheet = writer.pages[number].indirect_reference
                note[NameObject("/Dest")] = generic.Destination(
                    "", sheet, generic.Fit.xyz(top=top)
                ).dest_array


def shrink(writer: PdfWriter) -> None:
    """Round the outlines of formulas, and store pictures by few colours where nobody sees it: Chromium stores all."""
    done: set[int] = set()
    for sheet in writer.pages:
        content = sheet.get_contents()
        content.set_data(LONG.sub(lambda m: m[1] or m[2], content.get_data()))
        sheet[NameObject("/Contents")] = content.flate_encode(9)
        for picture in sheet.images:
            data = picture.indirect_reference.get_object()
            if picture.indirect_reference.idnum in done or "/SMask" in data:
                continue
            done.add(picture.indirect_reference.idnum)
            few = picture.image.convert("RGB").quantize(64, dither=Image.Dither.NONE)
            table = bytes(few.getpalette())
            space = [NameObject("/Indexed"), NameObject("/DeviceRGB")]
            space += [generic.NumberObject(len(table) // 3 - 1), generic.ByteStringObject(table)]
            data[NameObject("/ColorSpace")] = generic.ArrayObject(space)
            data[NameObject("/Filter")] = NameObject("/FlateDecode")
            data.pop("/DecodeParms", None)
            data._data = zlib.compress(few.tobytes(), 9)


def print_pages(browser: Browser, base: str, pages: list[str]) -> PdfWriter:
    """Print pages of a site at the address ``base`` (with a slash at its end) into one document."""
    window = browser.new_page(viewport={"width": WIDTH, "height": 950})
    window.emulate_media(media="print", color_scheme="light")
    parts = {part["chapters"][0]["file"]: part["caption"] for part in listed()["parts"]}
    addresses = {f"{base}{page}.html": page for page in pages}
    names = {page: title(page) or page.rpartition("/")[2].title() for page in pages}
    data = {"pages": addresses, "names": names, "parts": parts}
    front = print_template(window, "title", project=project() | {"title": TITLE})
    table = print_template(window, "contents", **data, starts=dict.fromkeys(pages, 0))
    at = len(front.pages) + len(table.pages)
    starts, printed, sections, places = {}, [], {}, {}
    for address, page in addresses.items():
        starts[page] = at
        sheets, sections[address] = print_page(window, address, names[page], at)
        places |= places_in(sheets, address, at)
        printed.append(sheets)
        at += len(sheets.pages)

    writer, part = PdfWriter(), None
    for sheets in (front, print_template(window, "contents", **data, starts=starts), *printed):
        for sheet in sheets.pages:
            writer.add_page(sheet)
    window.close()
    link_inside(writer, base, places)
    for address, page in addresses.items():
        if page in parts:
            part = writer.add_outline_item(title=parts[page], page_number=starts[page])
        at = {"page_number": starts[page], "parent": part}
        mark = writer.add_outline_item(title=names[page], is_open=False, **at)
        for anchor, heading in sections[address]:
            if place := places.get(f"{address}#{anchor}"):
                writer.add_outline_item(title=heading, page_number=place[0], parent=mark)
    writer.add_metadata({"/Title": TITLE})
    shrink(writer)
    writer.compress_identical_objects()
    whole = io.BytesIO()
    writer.write(whole)
    return PdfWriter(clone_from=whole)  # without what nothing refers to any more: four fifths


def main() -> None:
    """Print the whole book."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        pages = [name for name in pages_in_order() if not SCREEN.fullmatch(name)]
        document = print_pages(browser, f"{SITE.as_uri()}/", pages)
        browser.close()
    document.write(PDF)
    print(f"{PDF.name}: {len(document.pages)} sheets, {PDF.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
