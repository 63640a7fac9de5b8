"""Exercises that answer in the page: numbers are judged without Python, hints come one by one, what is done is kept."""

from playwright.sync_api import Page, expect

from tests.site.site import Reader

PAGE = "notebooks/svm/nu-svm.html"
PANEL = ".exercise-panel[data-label='exr-nu-svm-count']"


def answer(page: Page, **texts: str) -> str:
    """Type these answers, check, and return the verdict."""
    panel = page.locator(PANEL)
    for name, text in texts.items():
        panel.locator(f"input[name={name}]").fill(text)
    panel.get_by_role("button", name="Check").click()
    return panel.locator(".exercise-verdict").inner_text()


def test_numbers_are_judged_and_the_right_ones_are_remembered(reader: Reader) -> None:
    page = reader.open(PAGE)
    page.evaluate("localStorage.removeItem('companion-done')")
    assert "has no value yet" in answer(page)
    assert "one number" in answer(page, largest="all of them")
    assert "factor 2 is missing" in answer(page, largest="0.4", failures="12", positive="13")
    assert "too small" in answer(page, largest="0.7")
    assert "round down" in answer(page, largest="4/5", failures="13")
    assert page.locator(f"{PANEL} .exercise-verdict.wrong").count() == 1
    assert answer(page, failures="12").startswith("Right.")
    expect(page.locator(".exercises-done")).to_contain_text("1 of ")
    page.goto(page.url.split("/notebooks/")[0] + "/book/map.html")
    expect(page.locator(".exercise-memory")).to_be_visible()
    page.evaluate(  # a page opened by a test begins with an empty memory
        "() => { localStorage.setItem('companion-done', JSON.stringify({'exr-nu-svm-count': 1}));"
        " document.dispatchEvent(new Event('exercises-done')); }"
    )
    expect(page.locator(".page-done")).to_have_count(1)
    page.get_by_role("button", name="Forget").click()
    expect(page.locator(".page-done")).to_have_count(0)


def test_hints_come_one_by_one(reader: Reader) -> None:
    page = reader.open(PAGE)
    panel, hints = page.locator(PANEL), page.locator(f".admonition.hint:has(~ {PANEL})")
    assert hints.last.is_hidden()
    more = panel.get_by_role("button", name="Hint")
    more.click()
    mine = page.locator(f"{PANEL}").evaluate_handle(
        "p => p.previousElementSibling.previousElementSibling"
    )
    assert mine.evaluate("hint => hint.matches('.hint:not([hidden]):not(.toggle-hidden)')")
    assert hints.last.is_hidden()
    more.click()
    assert hints.last.is_visible()
    expect(panel.get_by_role("button", name="No more hints")).to_be_disabled()


def test_what_needs_python_says_so(reader: Reader) -> None:
    page = reader.open("notebooks/admm/proximal-operators.html")
    panel = page.locator(".exercise-panel[data-label='exr-prox-hinge']")
    panel.get_by_role("button", name="Check").click()
    expect(panel.locator(".exercise-verdict")).to_contain_text("runs Python")
