"""The filter above the tables of the concordance and of the errata."""

import pytest
from playwright.sync_api import expect

from tests.site.site import Reader

ROWS = "table.filterable tbody tr:not([hidden])"


@pytest.mark.parametrize("name", ["book/concordance.html", "book/errata.html"])
def test_the_filter_is_the_first_thing_on_the_page_and_rows_come_next(
    reader: Reader, name: str
) -> None:
    page = reader.open(name)
    first = "document.querySelector('article h1').nextElementSibling.className"
    assert page.evaluate(first) == "table-filter"
    all_rows = page.locator(ROWS).count()
    page.fill(".table-filter input", "18.7")
    found = page.locator(ROWS)
    assert 0 < found.count() < all_rows
    assert all("18.7" in text for text in found.all_inner_texts())
    expect(page.locator(".table-filter output")).to_have_text(f"{found.count()} of {all_rows} rows")
    box, bar = found.first.bounding_box(), page.locator(".table-filter").bounding_box()
    assert box["y"] - bar["y"] < 500, "what was found is seen without scrolling"
    page.fill(".table-filter input", "")
    page.locator(".table-filter select").first.select_option(index=1)
    chapter = page.locator("article section section:has(table.filterable) > h2").first
    assert page.locator("article section:not([hidden]) > h2:visible").count() == 1
    assert chapter.is_visible()


def test_errata_are_filtered_by_kind(reader: Reader) -> None:
    page = reader.open("book/errata.html")
    kinds = page.locator(".table-filter select").nth(1)
    told = kinds.locator("option").all_inner_texts()
    assert told == ["all", "statement", "formula", "slip", "program"]
    kinds.select_option("program")
    assert set(page.locator(f"{ROWS} td:last-child").all_inner_texts()) == {"program"}


def test_the_filter_of_an_only_table_stands_below_its_heading(reader: Reader) -> None:
    page = reader.open("book/instructors.html")
    assert page.locator("article h2 + .table-filter").count() == 1
    page.fill(".table-filter input", "lasso")
    assert 0 < page.locator(ROWS).count() < 20
