"""The glossary: sorted, without doubles, complete, and each name in the code leads somewhere."""

import importlib
import pkgutil
import re
import unicodedata

from tools.toc import text_of

TEXT = text_of("book/glossary") + "\n"
BLOCK = re.compile(r"^## ([A-Z])\n\n```\{glossary\}\n(.*?)^```$", re.M | re.DOTALL)
GREEK = {"ν": "nu", "ε": "epsilon", "λ": "lambda", "δ": "delta", "ℓ": "l", "²": "2", "¹": "1"}
# Sections 16.9, 17.5 and A.3 list these.
OF_THE_TEXT = """
dual ascent; augmented Lagrangian; penalty parameter; method of multipliers; alternating direction method of
multipliers; x-update; z-update; λ-update; scaled form; residual; dual residual; stopping criterion; proximity
operator; proximal minimisation; quadratic program; KKT equations; soft threshold; shrinkage operator; least absolute
deviations; basis pursuit; loss with an ℓ¹ penalty; lasso; generalised lasso; group lasso;
feature map; feature embedding; feature space; kernel function; positive definite kernel; real positive definite
kernel; Gram matrix; Hadamard product; Schur product; Gaussian kernel; reproducing kernel Hilbert space; reproducing
property; intersection kernel; union complement kernel; agreement kernel; kernel PCA;
Hilbert space; orthogonal family; total orthogonal family; Hilbert basis; Fourier coefficients; Hamel basis; Schauder
basis; Fourier series; Cauchy family; summable family; Bessel's inequality; ℓ²(K); Parseval's identity; Zorn's lemma;
Riesz–Fischer theorem; Legendre polynomials
"""


def entries(body: str) -> list[tuple[list[str], str]]:
    """Terms and definition of each entry of a block."""
    lines = (entry.split("\n") for entry in body.strip("\n").split("\n\n"))
    return [(terms, definition) for *terms, definition in lines]


BLOCKS = {letter: entries(body) for letter, body in BLOCK.findall(TEXT)}
ENTRIES = [entry for block in BLOCKS.values() for entry in block]
TERMS = [term for terms, _ in ENTRIES for term in terms]


def sort_key(term: str) -> str:
    """How a dictionary would sort a term: without accents, Greek letters by their names."""
    for letter, name in GREEK.items():
        term = term.replace(letter, name)
    plain = unicodedata.normalize("NFKD", term).encode("ascii", "ignore").decode()
    return " ".join(re.findall(r"[a-z0-9]+", plain.casefold()))


def test_terms_are_sorted_once_and_under_their_letter() -> None:
    assert len(ENTRIES) >= 80
    assert list(BLOCKS) == sorted(BLOCKS)
    keys = [sort_key(terms[0]) for terms, _ in ENTRIES]
    assert keys == sorted(keys)
    for letter, block in BLOCKS.items():
        assert {sort_key(terms[0])[0].upper() for terms, _ in block} == {letter}
    assert len(set(map(sort_key, TERMS))) == len(TERMS)


def test_definitions_are_short_and_have_the_form_that_the_directive_reads() -> None:
    for terms, definition in ENTRIES:
        assert all(term == term.strip() and " : " not in term for term in terms), terms
        assert re.match(r"  \S.*[.)]$", definition), terms
        assert definition.count("$") % 2 == 0, terms
        prose = re.sub(r" In the code .*| \(\[.*?\)\)", "", definition)
        assert len(prose.split()) <= 50, terms


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
    names = set(re.findall(r"`(companion\.[\w.]+)`", TEXT))
    assert [name for name in sorted(names) if not known(name)] == []
    for wrong in ("admm.no_such_function", "admm.nothing_...", "regression.RidgePath.no_field"):
        assert not known(f"companion.{wrong}")


def test_the_lists_of_the_text_are_covered() -> None:
    listed = {term.strip() for term in " ".join(OF_THE_TEXT.split()).split(";")}
    assert len(listed) > 50
    assert listed - set(TERMS) == set()
