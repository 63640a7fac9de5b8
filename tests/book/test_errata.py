"""Every erratum is reached from the place that it concerns, and stands in the list of all errata."""

import re

import pytest

from tools.concordance import HEADS, MEANING, errata_of, errata_page, errata_pages
from tools.toc import pages_in_order, text_of

PAGES = errata_pages()
ENTRIES = [entry for page in PAGES for entry in errata_of(page)]


def links_of(page: str) -> set[str]:
    """The errata that a page names."""
    return set(re.findall(r"\(#(err-[\w-]+)\)", text_of(page)))


def blocks(page: str) -> dict[str, str]:
    """The text of each entry of a page by its labels; labels that stand together share it."""
    text = re.sub(r"^\((err-[\w-]+)\)=\n(?=\(err-)", r"(\1)=,", text_of(page), flags=re.MULTILINE)
    parts = re.split(r"^(?=\(err-)", text, flags=re.MULTILINE)[1:]
    return {label: part for part in parts for label in re.findall(r"\((err-[\w-]+)\)=", part)}


def test_labels_are_unique_and_pages_link_to_each() -> None:
    labels = [entry.label for entry in ENTRIES]
    assert len(labels) > 100
    assert len(set(labels)) == len(labels)
    others = [page for page in pages_in_order() if not page.startswith("book/errata")]
    assert set(labels) == set().union(*map(links_of, others))


@pytest.mark.parametrize("page", PAGES)
def test_the_list_misses_no_label_and_an_entry_says_what_is_printed_and_right(page: str) -> None:
    """The list is read from headings and bold numbers: no entry may be written in another way."""
    labels = re.findall(r"^\((err-[\w-]+)\)=$", text_of(page), flags=re.MULTILINE)
    assert [entry.label for entry in errata_of(page)] == labels
    sections = re.findall(r"^## (.+)$", text_of(page), flags=re.MULTILINE)
    assert sections
    for section in sections:
        assert section.startswith((*HEADS, "Statements", "Proximal methods")), section
    for label, text in blocks(page).items():
        assert {"Printed", "Right"} <= set(re.findall(r"\w+", text)), label


def test_an_entry_leads_back_to_a_page_that_links_to_it() -> None:
    concerned: dict[str, set[str]] = {}  # labels of the pages that link to an erratum
    for page in pages_in_order():
        if page.startswith("notebooks/"):
            places = re.findall(
                r"^(?:\(|:label: )([\w-]+)(?:\)=)?$", text_of(page), flags=re.MULTILINE
            )
            for link in links_of(page):
                concerned.setdefault(link, set()).update(places)
    entries = {label: text for page in PAGES for label, text in blocks(page).items()}
    for label in entries.keys() & concerned:
        assert concerned[label] & set(re.findall(r"\(#([\w-]+)\)", entries[label])), label


def test_the_list_has_every_entry_once_with_its_kind() -> None:
    page = errata_page()
    for entry in ENTRIES:
        row = f"| [{entry.number}](#{entry.label}) | {entry.place} | {entry.kind} |"
        assert page.count(row) == 1, entry
    assert {entry.kind for entry in ENTRIES} <= set(MEANING)
