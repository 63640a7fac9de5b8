"""The search: names before chapters before lists, excerpts from the text."""

import re

from playwright.sync_api import Browser, Page

from tests.site.site import PAGES, PATIENCE, PHONE, SITE, Reader, tree
from tests.site.test_files import anchors
from tools.items import entries, errata, items, plain, sections, words

DONE = "() => document.querySelector('.search-summary')?.textContent.includes('found')"
EXCERPTS = "#search-results ul:not(.named) .context"
FIRST = """
queries => queries.map(query => {
  const first = Search.named(query)[0];
  const there = first && new URL(first.href, 'http://site/');
  return there ? there.pathname.slice(1) + decodeURIComponent(there.hash) : '';
})
"""


def search(reader: Reader, words: str) -> Page:
    page = reader.open(f"search.html?q={words.replace(' ', '+')}")
    page.wait_for_function(DONE)
    return page


def test_an_excerpt_is_text_of_the_article_without_tex(reader: Reader) -> None:
    page = search(reader, "ridge")
    excerpts = page.locator(EXCERPTS)
    excerpts.first.wait_for()
    told = excerpts.first.inner_text()
    assert "ridge" in told.lower()
    assert not re.search(r"\.pdf|Contents", told)
    formulas = [text for text in excerpts.all_inner_texts() if re.search(r"\\[(\[A-Za-z]", text)]
    assert formulas == []
    page = reader.open("search.html?q=ridge", PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def first_hits(reader: Reader, queries: list[str]) -> dict[str, str]:
    """Return the first hit of each query as page#anchor; it must exist."""
    found = dict(zip(queries, search(reader, "ridge").evaluate(FIRST, queries), strict=True))
    for query, hit in found.items():
        name, _, anchor = hit.partition("#")
        assert name in PAGES, (query, hit)
        assert not anchor or anchor in anchors(name), (query, hit)
    return found


WORDS_OF_STUDENTS = {  # and the page that must come first
    "RBF": "book/glossary.html",
    "RBF kernel": "book/glossary.html",
    "KKT": "book/glossary.html",
    "kkt conditions": "book/glossary.html",
    "strong duality": "book/glossary.html",
    "Mercer": "book/glossary.html",
    "Mercer's theorem": "book/glossary.html",
    "SMO": "book/glossary.html",
    "overfitting": "book/glossary.html",
    "stopping": "book/glossary.html",
    "ADMM stopping": "book/glossary.html",
    "support vector type 1": "notebooks/svm/nu-svm.html",
    "what is a kernel": "book/glossary.html",
    "What is the duality gap?": "book/glossary.html",
    "Lagrange multiplier": "book/glossary.html",
    "QP": "book/glossary.html",
    "support vector machine": "notebooks/svm/hyperplanes-and-margins.html",
    "SVR": "notebooks/svr/nu-svr.html",
    "PCA": "notebooks/kernels/kernel-pca.html",
    "soft thresholding": "notebooks/admm/proximal-operators.html",
    "gradient descent": "book/glossary.html",
    "regularization": "notebooks/regression/ridge.html",
    "feature selection": "notebooks/regression/lasso.html",
    "grid search": "book/glossary.html",
    "maximum margin classifier": "book/glossary.html",
    "slack variables": "book/glossary.html",
    "dual problem": "book/glossary.html",
    "ridge regrssion": "notebooks/regression/ridge.html",  # a letter is missing
    "elastic nett": "notebooks/regression/elastic-net.html",
    "proximal oparators": "notebooks/admm/proximal-operators.html",
    "lagrnagian": "book/glossary.html",
    "kernel pac": "notebooks/kernels/kernel-pca.html",
    "representer theroem": "book/glossary.html",
}


def test_words_of_students_lead_to_what_they_mean(reader: Reader) -> None:
    found = first_hits(reader, list(WORDS_OF_STUDENTS))
    assert {query: hit.partition("#")[0] for query, hit in found.items()} == WORDS_OF_STUDENTS


def test_a_mark_goes_when_the_page_is_left(reader: Reader) -> None:
    """It stands in the text, not in the bars."""
    page = reader.open("notebooks/regression/ridge.html?highlight=ridge")
    page.locator("article span.highlighted").first.wait_for(state="attached")
    assert page.locator(":is(.bd-sidebar-secondary, .bd-sidebar-primary) .highlighted").count() == 0
    page.evaluate("() => window.dispatchEvent(new PageTransitionEvent('pagehide'))")
    assert page.locator("span.highlighted").count() == 0


def spelled(name: str) -> str:
    """A name as it is compared: without its article and the difference of small and capital letters."""
    return re.sub(r"^(the|an?) ", "", plain(name).lower().replace("’", "'"))


def places() -> dict[str, set[str]]:
    """Where what is called so is found: items, errata, sections, pages, words of the glossary."""
    found: dict[str, set[str]] = {}
    for names, href, _ in entries():
        for name in names:
            found.setdefault(spelled(name), set()).add(href)
    for term in tree("book/glossary.html").cssselect("dl.glossary > dt"):
        name = spelled("".join(term.itertext()).rstrip("#¶ \n"))
        found.setdefault(name, set()).add(f"book/glossary.html#{term.get('id')}")
    return found


def test_every_number_program_and_word_of_the_glossary_is_found(reader: Reader) -> None:
    """A word leads to the page of that title, or else to the glossary."""
    numbered = [n for names, _, _ in (*items(), *errata(), *sections()) for n in names]
    terms = [term for names, _, _ in words() for term in names]
    found = first_hits(reader, list(dict.fromkeys(numbered + terms)))
    assert len(found) > 700
    wanted = places()
    assert {n: h for n, h in found.items() if h not in wanted[spelled(n)]} == {}
    assert all("#term-" in found[term] or "#" not in found[term] for term in terms)


def test_every_public_name_is_found(reader: Reader) -> None:
    """By its path, and by its own name unless something else has that."""
    api = [page for page in PAGES if page.startswith("book/api/")]
    paths = [a for page in api for a in anchors(page) if a.startswith("companion.")]
    assert len(paths) > 200
    found = first_hits(reader, paths)
    assert {n: h for n, h in found.items() if h.partition("#")[2] != n} == {}
    called = first_hits(reader, list({path.rpartition(".")[2] for path in paths}))
    others = {name.replace(" ", ""): where for name, where in places().items()}  # L1 penalty
    wrong = {n: h for n, h in called.items() if h.rpartition(".")[2] != n}
    assert {n: h for n, h in wrong.items() if h not in others.get(spelled(n), ())} == {}


def test_from_the_disk_results_are_told(browser: Browser) -> None:
    with browser.new_page() as page:
        page.set_default_timeout(PATIENCE)
        page.goto(f"{(SITE / 'search.html').as_uri()}?q=Problem+18.7")
        page.wait_for_function(DONE)
        first = page.locator("#search-results li").first
        assert "prob-18-7" in str(first.locator("a").evaluate("a => a.href"))
        assert first.locator(".context").inner_text()
        page.goto(f"{(SITE / 'search.html').as_uri()}?q=Lipschitz+gradient")
        page.wait_for_function(DONE)
        told = page.locator(EXCERPTS)
        told.first.wait_for()
        assert all("gradient" in text.lower() for text in told.all_inner_texts()[:3])
