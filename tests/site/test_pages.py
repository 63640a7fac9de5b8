"""Every page, opened once in a browser: no error, nothing from elsewhere, formulas, pictures, width."""

from __future__ import annotations

import json
import re

import pytest

from tests.site.site import EXTRA, PAGES, PHONE, ROOT, SITE, Reader, flipbooks, soup

FILE_NAME = re.compile(r"[\w./-]+\.(png|svg|jpe?g|gif|webp)", re.IGNORECASE)


def stored_figures(page: str) -> int:
    """How many pictures the notebook of a page holds."""
    path = (ROOT / page).with_suffix(".ipynb")
    if not path.exists():
        return 0
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    shown = [cell for cell in cells if "remove-cell" not in cell["metadata"].get("tags", [])]
    outputs = [output for cell in shown for output in cell.get("outputs", [])]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def has_figures(page: str) -> bool:
    return stored_figures(page) > 0


def test_every_listed_page_was_built() -> None:
    missing = [page for page in PAGES if not (SITE / page).exists()]
    assert not missing, "the built site is older than book/_toc.yml: run make book first"


@pytest.mark.parametrize("page", PAGES + EXTRA)
def test_opens_without_errors_and_without_other_hosts(reader: Reader, page: str) -> None:
    seen = reader.visit(page)
    assert seen.console == []
    assert seen.failed == []
    assert seen.foreign == []


@pytest.mark.parametrize("page", PAGES)
def test_no_address_of_another_host_waits_in_a_script_or_style(page: str) -> None:
    tree = soup(page)
    sources = [
        tag.get("src") or tag.get("href")
        for tag in tree.select("script[src], link[href], img[src]")
    ]
    outside = [url for url in sources if re.match(r"(https?:)?//", url)]
    inline = "\n".join(tag.text for tag in tree.select("script:not([src]):not([type]), style"))
    assert outside == []
    assert "thebe" not in inline
    assert not re.search(r"https?://(?!www\.w3\.org/)", inline)


@pytest.mark.parametrize("page", PAGES)
def test_pictures_are_described(reader: Reader, page: str) -> None:
    for image in reader.visit(page).images:
        if image["decorative"]:
            continue
        alt = (image["alt"] or "").strip()
        assert len(alt.split()) >= 3, image
        assert not FILE_NAME.fullmatch(alt), image


@pytest.mark.parametrize("page", [page for page in PAGES if has_figures(page)])
def test_figures_of_the_notebook_are_on_the_page(page: str) -> None:
    assert len(soup(page).select("div.cell_output img")) == stored_figures(page)


@pytest.mark.parametrize("page", PAGES)
def test_formulas_are_set(reader: Reader, page: str) -> None:
    written = len(soup(page).select("article .math, article .math-wrapper"))
    seen = reader.visit(page)
    assert seen.formula_errors == []
    assert seen.formulas >= written
    assert (seen.formulas > 0) == (written > 0)


@pytest.mark.parametrize("page", PAGES)
def test_flipbooks_are_drawn(reader: Reader, page: str) -> None:
    assert reader.visit(page).flipbooks == flipbooks(page)


@pytest.mark.parametrize("page", PAGES)
def test_fits_a_phone(reader: Reader, page: str) -> None:
    seen = reader.visit(page)
    assert seen.scroll_width <= PHONE["width"]
    assert seen.too_wide == []


def test_the_front_door_leads_to_the_first_page(reader: Reader) -> None:
    page = reader.context.new_page()
    page.goto(f"{reader.base}/index.html")
    page.wait_for_url(f"**/{PAGES[0]}")
    page.close()


def test_one_search_box(reader: Reader) -> None:
    page = reader.open(PAGES[0])
    assert (
        page.locator("button.search-button-field:visible, button.search-button:visible").count()
        == 1
    )
    page.close()


def test_search_finds_a_page(reader: Reader) -> None:
    page = reader.open("search.html?q=dual+ascent")
    page.wait_for_selector("#search-results li a")
    hits = page.locator("#search-results li a").evaluate_all("links => links.map(a => a.pathname)")
    assert any(path.endswith("dual-ascent.html") for path in hits), hits
    page.close()
