"""The glossary: sorted, without doubles, and each link and each name in the code leads somewhere."""

from __future__ import annotations

import importlib
import pkgutil
import re
import unicodedata
from functools import cache

import pytest

from tools.toc import BOOK, ROOT, pages, pages_in_order, text_of

TEXT = (BOOK / "glossary.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"^## (?P<letter>[A-Z])\n\n```\{glossary\}\n(?P<body>.*?)^```$", re.M | re.DOTALL
)
LINK = re.compile(r"\[[^\]]+\]\(#(?P<label>[\w-]+)\)")
CODE = re.compile(r"`(?P<name>companion\.[\w.]+)`")
LABEL = re.compile(r"^\(([\w.-]+)\)=\s*$|^:(?:label|name):\s*(\S+)\s*$", re.MULTILINE)
GREEK = {"ν": "nu", "ε": "epsilon", "λ": "lambda", "δ": "delta", "ℓ": "l", "²": "2", "¹": "1"}


def entries(body: str) -> list[tuple[list[str], str]]:
    """Terms and definition of each entry of a block."""
    lines = (entry.split("\n") for entry in body.strip("\n").split("\n\n"))
    return [(terms, definition) for *terms, definition in lines]


BLOCKS = [(match["letter"], entries(match["body"])) for match in BLOCK.finditer(TEXT)]
ENTRIES = [entry for _, block in BLOCKS for entry in block]
TERMS = [term for terms, _ in ENTRIES for term in terms]


def sort_key(term: str) -> str:
    """How a dictionary would sort a term: without accents, Greek letters by their names."""
    for letter, name in GREEK.items():
        term = term.replace(letter, name)
    plain = unicodedata.normalize("NFKD", term).encode("ascii", "ignore").decode()
    return " ".join(re.findall(r"[a-z0-9]+", plain.casefold()))


@cache
def labels() -> frozenset[str]:
    """All labels of the pages that are not generated."""
    paths = [path for folder in ("notebooks", "book") for path in (ROOT / folder).rglob("*.ipynb")]
    names = {str(path.relative_to(ROOT).with_suffix("")) for path in paths} | pages()
    return frozenset(a or b for name in names for a, b in LABEL.findall(text_of(name)))


def test_there_are_terms_for_all_chapters() -> None:
    assert 80 <= len(ENTRIES) <= 130
    linked = {match["label"] for _, text in ENTRIES for match in LINK.finditer(text)}
    for number in (16, 17, 18, 20):
        assert any(re.search(rf"-{number}(-|$)", label) for label in linked), number
    assert {"def-ridge", "def-lasso1", "def-elastic-net", "def-orthogonal-family"} <= linked


def test_terms_are_sorted_once_and_under_their_letter() -> None:
    assert [letter for letter, _ in BLOCKS] == sorted(letter for letter, _ in BLOCKS)
    keys = [sort_key(terms[0]) for terms, _ in ENTRIES]
    assert keys == sorted(keys)
    for letter, block in BLOCKS:
        assert {sort_key(terms[0])[0].upper() for terms, _ in block} == {letter}
    keys = [sort_key(term) for term in TERMS]
    assert sorted(keys) == sorted(set(keys))


def test_definitions_are_short_and_have_the_form_that_the_directive_reads() -> None:
    for terms, definition in ENTRIES:
        assert all(term == term.strip() and " : " not in term for term in terms), terms
        assert re.match(r"  \S.*[.)]$", definition), terms
        assert definition.count("$") % 2 == 0, terms
        prose = re.sub(r" In the code .*| \(\[.*?\)\)", "", definition)
        assert len(prose.split()) <= 50, terms


def test_links_exist() -> None:
    assert {match["label"] for match in LINK.finditer(TEXT)} <= labels()
    assert {f"book/{name}" for name in re.findall(r"\]\(([\w-]+)\.md\)", TEXT)} <= pages()


def known(name: str) -> bool:
    """Whether a dotted name leads to a function, a class, a member or a field, or begins some (``prox_...``)."""
    path = name.split(".")
    if name.endswith("_..."):
        module, stem = importlib.import_module(".".join(path[:2])), path[2]
        return any(public.startswith(stem) for public in module.__all__)
    *owner, last = path
    found = pkgutil.resolve_name(".".join(owner))
    return hasattr(found, last) or last in getattr(found, "__dataclass_fields__", {})


def test_names_in_the_code_exist() -> None:
    names = {match["name"] for match in CODE.finditer(TEXT)}
    assert [name for name in sorted(names) if not known(name)] == []
    for wrong in ("admm.no_such_function", "admm.nothing_...", "regression.RidgePath.no_field"):
        assert not known(f"companion.{wrong}")


OF_THE_TEXT = {
    "Section 16.9": """
        dual ascent; augmented Lagrangian; penalty parameter; method of multipliers; alternating
        direction method of multipliers; x-update; z-update; λ-update; scaled form; residual; dual
        residual; stopping criterion; proximity operator; proximal minimisation; quadratic
        program; KKT equations; soft threshold; shrinkage operator; least absolute deviations;
        basis pursuit; loss with an ℓ¹ penalty; lasso; generalised lasso; group lasso""",
    "Section 17.5": """
        feature map; feature embedding; feature space; kernel function; positive definite kernel;
        real positive definite kernel; Gram matrix; Hadamard product; Schur product; Gaussian
        kernel; reproducing kernel Hilbert space; reproducing property; intersection kernel; union
        complement kernel; agreement kernel; kernel PCA""",
    "Section A.3": """
        Hilbert space; orthogonal family; total orthogonal family; Hilbert basis; Fourier
        coefficients; Hamel basis; Schauder basis; Fourier series; Cauchy family; summable family;
        Bessel's inequality; ℓ²(K); Parseval's identity; Zorn's lemma; Riesz–Fischer theorem;
        Legendre polynomials""",
}


@pytest.mark.parametrize("section", OF_THE_TEXT)
def test_the_lists_of_the_text_are_covered(section: str) -> None:
    listed = [term.strip() for term in " ".join(OF_THE_TEXT[section].split()).split(";")]
    assert [term for term in listed if term not in TERMS] == []


def test_the_glossary_stands_before_the_notation() -> None:
    listed = pages_in_order()
    assert listed.index("book/glossary") + 1 == listed.index("book/notation")
