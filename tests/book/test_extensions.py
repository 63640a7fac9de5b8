"""The book's own Sphinx extensions, each on a tiny book: headings of boxes, index, buttons."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import yaml
from bs4 import BeautifulSoup, NavigableString
from PIL import Image
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from companion.figures.pictures import png
from tools.toc import BOOK, ROOT, pages_in_order, text_of

sys.path.insert(0, str(BOOK / "_ext"))

from companion_boxes import split_title
from companion_light import SLIDER, defer_images, offer_solutions, say_sizes, show_once
from companion_live import BINDER, COLAB, address, theme_options

CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
STATEMENTS = r"""
# Statements

```{prf:theorem} Convergence of ADMM (Theorem 16.1)
:label: thm-16-1
It converges.
```

```{prf:proposition} Proposition 20.3
:label: prop-20-3
:nonumber:
A bound.
```

```{prf:algorithm} Dual ascent
:label: alg-dual
Climb.
```

```{prf:definition} Program (P$_\text{admm}$)
:label: def-p
Minimise.
```

```{prf:lemma}
:label: lem-bare
Nothing to call it by.
```

```{prf:lemma} ν as a fraction
:label: lem-nu
A Greek letter begins it.
```

See [](#prop-20-3), {prf:ref}`thm-16-1`, [](#alg-dual), [the program](#def-p).

```{exercise}
:label: exr-a
One.
```

```{exercise}
:label: exr-b
Two.
```

```{solution} exr-b
:class: dropdown
Done.
```

## Problem 16.3: indicators

```{exercise}
:label: exr-16-3
Three.
```

```{solution} exr-16-3
Done. See [](#exr-a).
```
"""


def build(folder: Path, pages: dict[str, str], extensions: list[str], **options: object) -> Path:
    """Build a book of a few pages with warnings as errors; return the folder with the site."""
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    with docutils_namespace():  # each book registers its nodes anew
        app = Sphinx(
            str(folder),
            None,
            str(folder / "html"),
            str(folder / "doctrees"),
            "html",
            confoverrides={
                "extensions": extensions,
                "myst_enable_extensions": ["dollarmath", "colon_fence"],
                "nb_execution_mode": "off",
                "numfig": True,
                **options,
            },
            status=None,
            warningiserror=True,
            freshenv=True,
        )
        app.build()
        assert app.statuscode == 0
    return folder / "html"


def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def words(tag: object) -> str:
    return " ".join(tag.get_text().split()).removesuffix("#")


# --------------------------------------------------------------------------------------------- boxes


@pytest.fixture(scope="module")
def statements(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wanted = ["myst_nb", "sphinx_proof", "sphinx_exercise", "companion_boxes", "companion_links"]
    return build(
        tmp_path_factory.mktemp("boxes"),
        {"index.md": STATEMENTS},
        wanted,
        proof_title_format=CONFIG["sphinx"]["config"]["proof_title_format"],
    )


def test_a_box_is_headed_by_the_number_of_its_source(statements: Path) -> None:
    page = soup(statements / "index.html")
    heads = {
        box["id"]: words(box.select_one("p.admonition-title")) for box in page.select(".proof")
    }
    assert heads.pop("def-p").startswith("Definition: Program (P")
    assert heads == {
        "thm-16-1": "Theorem 16.1: Convergence of ADMM",
        "prop-20-3": "Proposition 20.3",
        "alg-dual": "Algorithm: Dual ascent",
        "lem-bare": "Lemma",
        "lem-nu": "Lemma: ν as a fraction",
    }
    assert page.select_one("#def-p .admonition-title .math"), "the formula in the heading is set"
    ids = [tag["id"] for tag in page.select("[id]")]
    assert len(ids) == len(set(ids))


def test_links_read_as_the_box_they_lead_to(statements: Path) -> None:
    page = soup(statements / "index.html")
    texts = {a["href"]: words(a) for a in page.select("article a.reference, .body a.reference")}
    assert texts["#prop-20-3"] == "Proposition 20.3"
    assert texts["#thm-16-1"] == "Theorem 16.1"
    assert texts["#alg-dual"] == "Dual ascent"
    assert texts["#def-p"] == "the program"
    assert texts["#exr-a"] == "Exercise 1"


def test_exercises_count_within_the_page_and_problems_keep_their_number(statements: Path) -> None:
    page = soup(statements / "index.html")
    heads = [words(tag) for tag in page.select(".exercise > .admonition-title")]
    assert heads == ["Exercise 1", "Exercise 2", "Problem 16.3"]
    solutions = [words(tag) for tag in page.select(".solution > .admonition-title")]
    assert solutions == ["Solution to Exercise 2", "Solution to Problem 16.3"]


def test_boxes_are_in_the_index(statements: Path) -> None:
    entries = {words(a): a["href"] for a in soup(statements / "genindex.html").select("table a")}
    assert entries["convergence of ADMM"] == entries["Theorem 16.1"] == "index.html#thm-16-1"
    assert entries["dual ascent"] == "index.html#alg-dual"


def test_the_index_has_greek_letters_under_their_names(statements: Path) -> None:
    letter = (
        soup(statements / "genindex.html").find("a", string="ν as a fraction").find_previous("h2")
    )
    assert letter.text == "N"


@pytest.mark.parametrize(
    ("kind", "title", "shown"),
    [
        ("lemma", "Danskin; YCG Lemma 2", ("YCG Lemma 2", "Danskin")),
        ("theorem", "SP, Theorem 1.6", ("SP Theorem 1.6", "")),
        ("theorem", "Theorem A.1 (Riesz-Fischer)", ("Theorem A.1", "Riesz-Fischer")),
        ("definition", "18.1: support vectors", ("Definition 18.1", "support vectors")),
        ("algorithm", "SMM (YCG Table 2, after Nesterov)", ("YCG Table 2", "SMM, after Nesterov")),
        ("definition", "RR6'", ("Definition", "RR6'")),
        ("proposition", "(SVM_s3) beside (SVM_s2)", ("Proposition", "(SVM_s3) beside (SVM_s2)")),
        ("proposition", "", ("Proposition", "")),
    ],
)
def test_titles_are_split(kind: str, title: str, shown: tuple[str, str]) -> None:
    assert split_title(kind, title) == shown


# ---------------------------------------------------------------------------------------------- head


def test_a_page_is_described_by_its_first_paragraph(tmp_path: Path) -> None:
    text = "# Slack\n\nThe price $\\nu$ of a unit of slack says how much of it there is, $w^\\top x$.\n\nMore.\n"
    site = build(
        tmp_path,
        {"index.md": text},
        ["myst_nb", "sphinx_book_theme", "companion_head"],
        html_theme="sphinx_book_theme",
    )
    page = soup(site / "index.html")
    (description,) = page.select("meta[name=description]")
    assert description["content"] == (
        "The price ν of a unit of slack says how much of it there is, wᵀ x."
    )
    loose = [
        t for t in page.head.find_all(string=True, recursive=False) if type(t) is NavigableString
    ]
    assert "".join(loose).strip() == ""
    assert len(soup(site / "search.html").select("meta[name=description]")) == 1


CELLS = {
    "picture": '<div class="cell docutils"><div class="cell_output"><img src="a.png"></div></div>',
    "slider": f'<div class="cell docutils"><div class="cell_output"><script type="{SLIDER}"></script></div></div>',
    "words": '<div class="cell docutils"><div class="cell_output">1.0</div></div>',
}


@pytest.mark.parametrize(
    ("body", "hidden"),
    [
        ("{picture}<p>Move it.</p>{slider}", 1),
        ("{picture}{picture}{slider}{picture}{slider}", 2),
        ("{picture}<h2>Next</h2>{slider}", 0),
        ("{picture}{words}{slider}", 0),
        ("{slider}{picture}", 0),
    ],
)
def test_a_slider_takes_the_place_of_the_picture_before_it(body: str, hidden: int) -> None:
    marked = BeautifulSoup(show_once(body.format(**CELLS)), "html.parser")
    found = marked.select(".cell.in-slider > .cell_output img[loading=lazy]")
    assert len(found) == len(marked.select(".in-slider")) == hidden
    for picture in found:
        cell = picture.find_parent(class_="cell").find_next_sibling(class_="cell")  # type: ignore[union-attr]
        assert cell is not None
        assert cell.script is not None


def test_pictures_say_their_size(tmp_path: Path) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(
        b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (7).to_bytes(4, "big") + (5).to_bytes(4, "big")
    )
    body = '<img alt="a dot" src="dot.png" /><img src="none.png" /><img width="3" src="dot.png" />'
    assert say_sizes(body, tmp_path) == (
        '<img width="7" height="5" alt="a dot" src="dot.png" /><img src="none.png" />'
        '<img width="3" src="dot.png" />'
    )
    figure, _ = plt.subplots(1, 2, figsize=(4, 2), layout="constrained")
    picture.write_bytes(png(figure))
    with Image.open(picture) as image:
        columns = image.info["panels"].removesuffix(";")
    assert f'data-panels="{columns}" ' in say_sizes(body, tmp_path)
    first, second = defer_images("<img src='a'><img src='b'>").split("><")
    assert "lazy" not in first
    assert "lazy" in second


# ------------------------------------------------------------------------------------------- buttons

NOTEBOOK = json.dumps(
    {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}},
        "cells": [{"cell_type": "markdown", "id": "c1", "metadata": {}, "source": "# A page"}],
    }
)


def links_of(folder: Path, repository: dict[str, str]) -> list[str]:
    """Build a page with this entry in _config.yml; return the addresses on other hosts that it links."""
    (folder / "_config.yml").write_text(yaml.safe_dump({"repository": repository}))
    site = build(
        folder,
        {"index.ipynb": NOTEBOOK},
        ["myst_nb", "sphinx_book_theme", "companion_live"],
        html_theme="sphinx_book_theme",
        # what Jupyter Book sets by itself
        html_theme_options={
            "repository_url": "https://github.com/executablebooks/jupyter-book",
            "launch_buttons": {"binderhub_url": BINDER},
        },
    )
    links = [a["href"] for a in soup(site / "index.html").select("a[href^=http]")]
    return [link for link in links if "sphinx" not in link and "pydata" not in link]


def test_without_an_address_there_is_no_button(tmp_path: Path) -> None:
    links = links_of(tmp_path, {"url": "", "branch": "main"})
    assert not any(BINDER in link or COLAB in link or "github.com" in link for link in links)


def test_with_an_address_the_buttons_lead_to_this_page(tmp_path: Path) -> None:
    links = links_of(tmp_path, {"url": "https://github.com/someone/companion", "branch": "main"})
    assert f"{BINDER}/v2/gh/someone/companion/main?urlpath=lab/tree/index.ipynb" in links
    assert f"{COLAB}/github/someone/companion/blob/main/index.ipynb" in links


def test_colab_reads_github_only() -> None:
    options = theme_options({"url": "https://gitlab.com/someone/companion"})["launch_buttons"]
    assert options["binderhub_url"] == BINDER
    assert "colab_url" not in options


@pytest.mark.parametrize(
    "url",
    ["github.com/a/b", "https://example.org/a/b", "https://github.com/a", "git@github.com:a/b"],
)
def test_an_address_that_no_button_can_use_is_an_error(url: str) -> None:
    with pytest.raises(ValueError, match=r"repository\.url"):
        address({"url": url})


def test_the_configuration_has_a_place_for_the_address() -> None:
    assert set(CONFIG["repository"]) == {"url", "branch"}
    assert "companion_live" in CONFIG["sphinx"]["config"]["extensions"]


@pytest.mark.parametrize("page", [page for page in pages_in_order() if "{prf:" in text_of(page)])
def test_boxes_of_the_notebooks_have_no_second_number(page: str) -> None:
    """JupyterLab would count them; links are written in the way that both understand."""
    text = text_of(page)
    counted = re.findall(
        r"^(?:`{3,}|:{3,})\{prf:(?!proof)\w+\}([^\n]*)\n(?!(?::[\w-]+:[^\n]*\n)*:nonumber:)",
        text,
        re.M,
    )
    assert counted == [], "write :nonumber: below the label"
    assert "{prf:ref}" not in text


def test_a_page_with_several_solutions_offers_all_of_them() -> None:
    solution = '<div class="solution dropdown admonition" id="a">'
    title = "<h1>Title</h1><h1>Not the title</h1>"
    assert offer_solutions(title + solution) == title + solution
    offered = offer_solutions(title + 2 * solution)
    assert offered.startswith('<h1>Title</h1><div class="page-tools"><button')
    assert offered.count("Show all 2 solutions</button>") == 1
