"""Prose types no computed number: the cell beside it prints it, and nbval guards it there.

A number of three or more significant digits is allowed when it is an input (it stands in the page's code, or is the
size of a data set), a year, the number of an item of the sources, or their own figure, in a line that says so.
"""

import re

import pytest

from tools.toc import code_of, pages_in_order, text_of

PAGES = [page for page in pages_in_order() if page.startswith("notebooks/")]
NUMBER = re.compile(r"(?<![\w.\-])\d(?:[\d,]*\d)?(?:\.\d+)?(?![\w-])")
KNOWN = re.compile(r"(16|17|18|19|20|23)\.\d{1,2}|(1[789]|20)\d\d")  # an item, a year
OF_THE_SOURCES = re.compile(r"(?i)\b(the text|printed|print|prints|ZM|YCG|SP|reports?|caption)\b")
SIZES = {"442", "569", "150", "178", "1797", "365"}  # diabetes, cancer, iris, wine, digits, 3, 5


def prose(text: str) -> str:
    """Return a page's text without formulas, code, targets of links, directives and labels."""
    formulas = (r"^```\{math\}.*?^```", r"\$\$.*?\$\$", r"(?<!\\)\$.*?(?<!\\)\$")
    for pattern in (*formulas, r"^```(?:python|text|shell|bash)?$.*?^```$", r"`[^`\n]*`"):
        text = re.sub(pattern, " ", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "] ", text)
    return re.sub(r"^(:[\w-]+:.*|\([\w.-]+\)=|[`:]{3,}\{.*)$", "", text, flags=re.MULTILINE)


def typed(line: str, inputs: set[str]) -> list[str]:
    """Return the numbers of a line of prose that look computed."""

    def is_allowed(number: str) -> bool:
        significant = len(number.replace(".", "").lstrip("0"))
        return significant < 3 or bool(KNOWN.fullmatch(number)) or number in inputs

    found = [] if OF_THE_SOURCES.search(line) else NUMBER.findall(line)
    return [number for number in found if not is_allowed(number.replace(",", ""))]


def own(text: str) -> list[str]:
    """Return the lines of a text without the tables that the line before them says to be the sources' own."""
    kept, before = [], ""
    for line in text.splitlines():
        if not line.startswith("|"):
            before = line if line.strip() else before
        elif OF_THE_SOURCES.search(before):
            continue
        kept.append(line)
    return kept


@pytest.mark.parametrize("page", PAGES)
def test_no_computed_number_in_prose(page: str) -> None:
    inputs = SIZES | set(re.findall(r"\d+(?:\.\d+)?", code_of(page).replace("_", "")))
    found = [(n, line.strip()) for line in own(prose(text_of(page))) for n in typed(line, inputs)]
    assert found == []
