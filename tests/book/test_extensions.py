"""The book's own Sphinx extensions, on a tiny book: headings of boxes, index, heads of pages, pictures, buttons."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, writes
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from tools.notebooks import METADATA
from tools.toc import BOOK, ROOT, pages_in_order, text_of

sys.path.insert(0, str(BOOK / "_ext"))

import companion_boxes
import companion_pages

SLACK = """# Slack

The price $\\nu$ of a unit of slack says how much of it there is, $w^\\top x$.

```{toctree}
page
```
"""
HINT = "```{hint}\n:class: dropdown\nLook up.\n```"


def box(kind: str, label: str, title: str = "", text: str = "It is so.") -> str:
    return f"```{{{kind}}} {title}\n:label: {label}\n{text}\n```\n"


STATEMENTS = [
    "# Statements",
    box("prf:theorem", "thm-16-1", "Theorem 16.1: Convergence of ADMM"),
    box("prf:proposition", "prop-20-3", "Proposition 20.3", ":nonumber:\nA bound."),
    box("prf:algorithm", "alg-dual", "Dual ascent"),
    box("prf:definition", "def-p", r"Program (P$_\text{admm}$)"),
    box("prf:lemma", "lem-bare"),
    box("prf:lemma", "lem-nu", "ν as a fraction"),
    "See [](#prop-20-3), [](#thm-16-1), [](#alg-dual), [the program](#def-p), [](#exr-a).",
    box("exercise", "exr-a"),
    box("exercise", "exr-b"),
    "```{solution} exr-b\nDone.\n```\n",
    "## Problem 16.3: indicators",
    box("exercise", "exr-16-3"),
    "```{solution} exr-16-3\nDone.\n```\n",
]


def build(folder: Path, pages: dict[str, str], extensions: list[str], **options: object) -> Path:
    """Build a book of a few pages with warnings as errors; return the folder with the site."""
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    settings = {"extensions": extensions, "nb_execution_mode": "off", "numfig": True, **options}
    settings["myst_enable_extensions"] = ["dollarmath", "colon_fence"]
    places = [str(folder / name) for name in ("html", "doctrees")]
    more = dict(confoverrides=settings, status=None, warningiserror=True, freshenv=True)  # noqa: C408
    with docutils_namespace():  # each book registers its nodes anew
        app = Sphinx(str(folder), None, *places, "html", **more)
        app.build()
        assert app.statuscode == 0
    return folder / "html"


def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def words(tag: object) -> str:
    return " ".join(tag.get_text().split()).removesuffix("#")


@pytest.fixture(scope="module")
def statements(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wanted = ["myst_nb", "sphinx_proof", "sphinx_exercise", "companion_boxes", "companion_links"]
    folder, text = tmp_path_factory.mktemp("boxes"), "\n".join(STATEMENTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(companion_boxes, "text_of", lambda _: text)
        return build(folder, {"index.md": text}, wanted, proof_title_format="%t")


def test_a_box_is_headed_by_the_number_of_its_source_and_links_say_so(statements: Path) -> None:
    page = soup(statements / "index.html")
    boxes = page.select(".proof")
    heads = {box["id"]: words(box.select_one("p.admonition-title")) for box in boxes}
    assert heads.pop("def-p").startswith("Definition: Program (P")
    assert heads == {
        "thm-16-1": "Theorem 16.1: Convergence of ADMM",
        "prop-20-3": "Proposition 20.3",
        "alg-dual": "Algorithm: Dual ascent",
        "lem-bare": "Lemma",
        "lem-nu": "Lemma: ν as a fraction",
    }
    assert page.select_one("#def-p .admonition-title .math"), "the formula in the heading is set"
    texts = {a["href"]: words(a) for a in page.select("article a.reference, .body a.reference")}
    shown = {"#prop-20-3": "Proposition 20.3", "#thm-16-1": "Theorem 16.1", "#exr-a": "Exercise 1"}
    shown |= {"#exr-b": "Exercise 2", "#exr-16-3": "Problem 16.3"}
    assert texts == shown | {"#alg-dual": "Dual ascent", "#def-p": "the program"}


def test_exercises_count_within_the_page_and_problems_keep_their_number(statements: Path) -> None:
    heads = [words(tag) for tag in soup(statements / "index.html").select(".admonition-title")]
    heads = [head for head in heads if re.match("Exercise|Problem|Solution", head)]
    solutions = ["Solution to Exercise 2", "Solution to Problem 16.3"]
    assert heads == ["Exercise 1", "Exercise 2", solutions[0], "Problem 16.3", solutions[1]]


def test_boxes_are_in_the_index_and_greek_letters_under_their_names(statements: Path) -> None:
    index = soup(statements / "genindex.html")
    entries = {words(a): a["href"] for a in index.select("table a")}
    assert entries["convergence of ADMM"] == entries["Theorem 16.1"] == "index.html#thm-16-1"
    assert entries["dual ascent"] == "index.html#alg-dual"
    assert index.find("a", string="ν as a fraction").find_previous("h2").text == "N"


def test_what_an_earlier_build_made_is_removed(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes((BOOK / "_static/part-16.png").read_bytes())
    for name in ("_downloads/0/b.zip", "_images/b.png", "book/b.html"):
        (tmp_path / "html" / name).parent.mkdir(parents=True)
        (tmp_path / "html" / name).touch()
    pages = {"index.md": "# A\n\n![A](a.png), {download}`a.png`"}
    site = build(tmp_path, pages, ["myst_nb", "companion_offline"])
    assert [path.name for path in site.rglob("[ab].*")] == ["a.png", "a.png"]


def with_addresses() -> dict:
    """Return what pyproject.toml says where who publishes the book fills it in: with the lines in comments."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    text = re.sub(r"^# (?=\[project\.urls|Repository|Documentation)", "", text, flags=re.MULTILINE)
    return tomllib.loads(text)["project"]


def test_a_published_page_says_what_it_is_and_where_it_runs(tmp_path: Path, monkeypatch) -> None:
    """Without an address the pages are those of tests/site."""
    (tmp_path / "a.png").write_bytes((BOOK / "_static/part-16.png").read_bytes())
    monkeypatch.chdir(tmp_path)
    page = writes(new_notebook(cells=[new_markdown_cell("# A page")]))
    wanted = ["myst_nb", "sphinx_book_theme", "companion_pages"]
    theme = {"html_theme": "sphinx_book_theme"}
    monkeypatch.setattr(companion_pages, "project", with_addresses)
    site = build(tmp_path, {"index.md": SLACK + "![A](a.png)", "page.ipynb": page}, wanted, **theme)
    page = soup(site / "index.html")
    assert page.select_one("img[loading=lazy][width='480'][height='320']")
    (description,) = page.select("meta[name=description]")
    told = "The price ν of a unit of slack says how much of it there is, wᵀ x."
    assert description["content"] == told
    (report,) = page.select(".report a")
    assert "/OWNER/NAME/issues/new?title=" in report["href"]
    links = {a["href"] for a in soup(site / "page.html").select("a[href]")}
    assert "https://mybinder.org/v2/gh/OWNER/NAME/main?urlpath=lab/tree/page.ipynb" in links
    assert "https://colab.research.google.com/github/OWNER/NAME/blob/main/page.ipynb" in links


def test_the_edition_without_solutions_has_none(tmp_path: Path) -> None:
    """Nor the cells of checks, which know the answers, nor the sources of the pages; hints stay."""
    text = "# A page\n\n" + box("exercise", "exr-a", text="Why?") + "\n" + HINT
    cells = [new_markdown_cell(text)]
    cells.append(new_code_cell("wanted = 0.123", metadata={"tags": ["hide-cell", "check"]}))
    cells.append(new_markdown_cell("```{solution} exr-a\nBecause of Zorn.\n```"))
    cells.append(new_code_cell("zorn = 4711", metadata={"tags": ["hide-cell", "solution"]}))
    cells.append(new_markdown_cell("And lemma 0815.", metadata={"tags": ["solution"]}))
    page = {"index.ipynb": writes(new_notebook(cells=cells, metadata=METADATA))}
    wanted = ["myst_nb", "sphinx_exercise", "sphinx_book_theme", "companion_pages"]
    site = build(tmp_path, page, wanted, companion_solutions=False, html_theme="sphinx_book_theme")
    shown = (site / "index.html").read_text(encoding="utf-8")
    assert "Why?" in shown
    assert "Look up." in shown
    found = [f for f in site.rglob("*") if f.suffix in (".html", ".js", ".ipynb", ".txt")]
    text = "\n".join(f.read_text(encoding="utf-8").lower() for f in found)
    assert [word for word in ("zorn", "4711", "0815", "0.123") if word in text] == []


@pytest.mark.parametrize("page", [page for page in pages_in_order() if "{prf:" in text_of(page)])
def test_boxes_of_the_notebooks_have_no_second_number(page: str) -> None:
    """JupyterLab would count them; links are written in the way that both understand."""
    text = text_of(page)
    box, options = r"^(?:`{3,}|:{3,})\{prf:(?!proof)\w+\}([^\n]*)\n", r"(?::[\w-]+:[^\n]*\n)*"
    counted = re.findall(rf"{box}(?!{options}:nonumber:)", text, re.M)
    assert counted == [], "write :nonumber: below the label"
    late = re.findall(
        r"\{prf:\w+\} .*(?:Theorem|Lemma|Proposition|Definition|Corollary) [\w.]+\)$", text, re.M
    )
    assert late == [], "a number stands at the start of its title"
    assert "{prf:ref}" not in text
