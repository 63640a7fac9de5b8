"""The PDF and the offline zip are made from the built site."""

import re
import zipfile
from pathlib import Path

from playwright.sync_api import Browser
from pypdf import PdfReader

from tests.site.site import SITE
from tools.editions import pack_site
from tools.pdf import print_pages

CHAPTER = [f"notebooks/admm/{name}" for name in ("duality", "dual-ascent", "method-of-multipliers")]


def bookmarks(items: list) -> list[str]:
    nested = (bookmarks(item) if isinstance(item, list) else [item.title] for item in items)
    return [title for titles in nested for title in titles]


def test_pages_print_to_one_document(browser: Browser, server: str, tmp_path: Path) -> None:
    target = tmp_path / "two.pdf"
    print_pages(browser, f"{server}/", CHAPTER).write(target)
    document = PdfReader(target)
    titles = bookmarks(document.outline)
    known = ["Chapter 16: ADMM", "Duality in one page", "Dual ascent", "The method of multipliers"]
    assert [title for title in titles if title in known] == known
    assert titles.count("Check yourself") == 3, "sections have bookmarks as well"
    sheets = [sheet.extract_text() for sheet in document.pages]
    text = "\n".join(sheets)
    assert "Further reading" in text
    assert "Solution" in text, "solutions are open"
    assert "Show code cell" not in text, "nothing says what to click"
    assert "= flipbook(" not in text, "the code of pictures is left out"
    for number, sheet in enumerate(sheets[1:], 2):  # the title has none
        assert re.search(rf"\A{number}(?!\d)|(?<!\d){number}\s*\Z", sheet), f"sheet {number}"
        assert len(sheet) > 40, f"sheet {number} is empty"
    notes = [note.get_object() for sheet in document.pages for note in sheet.get("/Annots", [])]
    actions = [note["/A"] for note in notes if "/A" in note]
    goals = [note["/Dest"] for note in notes if "/Dest" in note]
    assert goals, "links lead to the other page"
    assert any(goal[3] < 700 for goal in goals), "links to an anchor lead to its place on the sheet"
    assert not any(str(action.get("/URI", "")).startswith(server) for action in actions)


def test_the_zip_holds_the_site(built_site: None, tmp_path: Path) -> None:
    target = tmp_path / "site.zip"
    pack_site(SITE, target)
    assert target.stat().st_size < 60e6
    with zipfile.ZipFile(target) as archive:
        names = archive.namelist()
    assert not any(".doctrees" in name for name in names)
    pages = {f"companion/{page.relative_to(SITE).as_posix()}" for page in SITE.rglob("*.html")}
    assert pages <= set(names)
