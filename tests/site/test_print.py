"""The PDF and the offline zip are made from the built site."""

from __future__ import annotations

import zipfile
from pathlib import Path

from playwright.sync_api import Browser
from pypdf import PdfReader

from tests.site.site import SITE
from tools.offline import pack
from tools.pdf import print_pages

CHAPTER = ["notebooks/admm/dual-ascent", "notebooks/admm/method-of-multipliers"]


def bookmarks(items: list) -> list[str]:
    found: list[str] = []
    for item in items:
        found += bookmarks(item) if isinstance(item, list) else [item.title]
    return found


def test_pages_print_to_one_document(browser: Browser, server: str, tmp_path: Path) -> None:
    target = tmp_path / "two.pdf"
    print_pages(browser, f"{server}/", CHAPTER).write(target)
    document = PdfReader(target)
    titles = bookmarks(document.outline)
    assert titles == ["Chapter 16: ADMM", "Dual ascent", "The method of multipliers"]
    text = "\n".join(sheet.extract_text() for sheet in document.pages)
    assert "Further reading" in text
    assert "Solution" in text, "solutions are open"
    actions = [
        note.get_object()["/A"]
        for sheet in document.pages
        for note in sheet.get("/Annots", [])
        if "/A" in note.get_object()
    ]
    assert any(action["/S"] == "/GoTo" for action in actions), "links lead to the other page"
    assert not any(str(action.get("/URI", "")).startswith(server) for action in actions)


def test_the_zip_holds_the_site(built_site: None, tmp_path: Path) -> None:
    target = tmp_path / "site.zip"
    count = pack(SITE, target)
    with zipfile.ZipFile(target) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
    assert len(names) == count
    assert "companion/index.html" in names
    assert not any(".doctrees" in name for name in names)
    missing = [
        page
        for page in SITE.rglob("*.html")
        if f"companion/{page.relative_to(SITE).as_posix()}" not in names
    ]
    assert missing == []
