"""Print the built site to one PDF: a bookmark for each page, links between the pages, solutions open.

``make pdf`` builds the site first. Chromium prints; sliders show the picture that they start with.
"""

from __future__ import annotations

import functools
import http.server
import io
import shutil
import sys
import threading
from urllib.parse import urlsplit

import yaml
from playwright.sync_api import Browser, Page, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject

from tools.toc import BOOK, ROOT, pages_in_order

SITE = ROOT / "build/_build/html"
TARGET = ROOT / "build/companion.pdf"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# For reading, not for the screen: open what is folded, show the reasons under the questions, drop the controls.
OPEN = """
() => {
  document.documentElement.dataset.theme = 'light';
  document.querySelectorAll('details').forEach(d => { d.open = true; });
  document.querySelectorAll('.toggle-hidden').forEach(e => e.classList.remove('toggle-hidden'));
  document.querySelectorAll('.question-reason').forEach(e => { e.hidden = false; });
  document.querySelectorAll('img[loading=lazy]').forEach(i => { i.loading = 'eager'; });
  return Promise.all([...document.images].map(i => i.decode().catch(() => null)));
}
"""
PRINT = """
@page { size: A4; margin: 18mm 16mm 20mm; }
.all-solutions, .table-filter, .headerlink, .copybtn, button.toggle-button, .widget-slider,
.prev-next-footer, .bd-footer-content, .article-header-buttons { display: none !important; }
.bd-article { padding: 0 !important; }
div.cell, .admonition, figure, table.stacked tr { break-inside: avoid-page; }
div.cell:has(pre) { break-inside: auto; }
h1, h2, h3 { break-after: avoid-page; }
pre { white-space: pre-wrap !important; overflow-wrap: anywhere; }
"""
FOOTER = (
    '<div style="font-size:8px;width:100%;padding:0 16mm;color:#555;display:flex;justify-content:space-between">'
    '<span class="title"></span><span><span class="pageNumber"></span> / <span class="totalPages"></span></span></div>'
)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serve files without a log."""

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def wait_until_drawn(page: Page) -> None:
    """Wait for formulas and sliders."""
    page.wait_for_load_state("load")
    page.evaluate("async () => { await window.MathJax?.startup?.promise; }")
    if page.locator("script[type='application/vnd.jupyter.widget-view+json']").count():
        page.wait_for_selector(".companion-flipbook img", timeout=30_000)


def print_page(page: Page, address: str) -> bytes:
    """Return one page of the site as a PDF."""
    page.goto(address)
    wait_until_drawn(page)
    page.evaluate(OPEN)
    page.add_style_tag(content=PRINT)
    page.wait_for_timeout(200)
    return page.pdf(
        prefer_css_page_size=True,
        print_background=True,
        display_header_footer=True,
        header_template="<span></span>",
        footer_template=FOOTER,
        outline=True,
    )


def link_inside(writer: PdfWriter, starts: dict[str, int], base: str) -> int:
    """Turn links to other pages of the site into links inside the document; return how many."""
    count = 0
    for sheet in writer.pages:
        for reference in sheet.get("/Annots", ArrayObject()):
            note = reference.get_object()
            action = note.get("/A", DictionaryObject()).get_object()
            target = str(action.get("/URI", ""))
            if not target.startswith(base):
                continue
            path = urlsplit(target).path.lstrip("/").removesuffix(".html")
            if path in starts:
                note[NameObject("/A")] = DictionaryObject(
                    {
                        NameObject("/S"): NameObject("/GoTo"),
                        NameObject("/D"): ArrayObject(
                            [writer.pages[starts[path]].indirect_reference, NameObject("/Fit")]
                        ),
                    }
                )
                count += 1
            else:  # a file of the site that is no page: no link
                del note["/A"]
    return count


def captions() -> dict[str, str]:
    """Return, for the first page of each part, the part's caption."""
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    return {part["chapters"][0]["file"]: part["caption"] for part in toc["parts"]}


def print_pages(browser: Browser, base: str, pages: list[str]) -> PdfWriter:
    """Print pages of a site that is served under ``base`` (with a slash at its end) into one document."""
    writer, starts, parts, part = PdfWriter(), {}, captions(), None
    window = browser.new_page(viewport={"width": 820, "height": 1100})
    for name in pages:
        sheets = PdfReader(io.BytesIO(print_page(window, f"{base}{name}.html")))
        starts[name] = len(writer.pages)
        for sheet in sheets.pages:
            writer.add_page(sheet)
        if name in parts:
            part = writer.add_outline_item(title=parts[name], page_number=starts[name])
        heading = window.title().split(" — ")[0]
        writer.add_outline_item(title=heading, page_number=starts[name], parent=part)
    window.close()
    link_inside(writer, starts, base)
    writer.add_metadata({"/Title": "Optimization for Machine Learning: an Executable Companion"})
    writer.compress_identical_objects()
    return writer


def main() -> None:
    """Print the whole book."""
    if not (SITE / "index.html").exists():
        sys.exit("the site is not built: run make book first")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    handler = functools.partial(Quiet, directory=str(SITE))
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        sync_playwright() as playwright,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        document = print_pages(browser, f"http://127.0.0.1:{server.server_port}/", pages_in_order())
        browser.close()
        server.shutdown()
    document.write(TARGET)
    size = TARGET.stat().st_size / 1e6
    print(f"{TARGET.relative_to(ROOT)}: {len(document.pages)} sheets, {size:.1f} MB")


if __name__ == "__main__":
    main()
