"""The built site, a server for it and a browser.

Nothing is built here: ``make book`` comes first, and ``COMPANION_SITE`` names another built site. Without the site or
without Chromium the tests are skipped with a message, and in CI (variable ``CI``) they fail.
"""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error, expect, sync_playwright

from tests.site.site import PATIENCE, SITE, Reader, served
from tools.pdf import launch


def give_up(reason: str) -> None:
    """Skip for a user, fail in CI."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session", autouse=True)
def built_site() -> None:
    if not (SITE / "index.html").exists():
        give_up(f"the site is not built ({SITE}): run make book first")


@pytest.fixture(scope="session")
def server(built_site: None) -> Iterator[str]:
    """Address of a local server of the site, without a trailing slash."""
    with served(SITE) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        try:
            # A page's scripts run once: to optimise them takes longer than they do.
            chromium = launch(playwright, "--disable-gpu", "--js-flags=--no-turbofan")
        except Error as error:
            give_up(
                "the site tests need Chromium: install it, or run "
                f"python -m playwright install chromium ({str(error).splitlines()[0]})"
            )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def reader(browser: Browser, server: str) -> Iterator[Reader]:
    """Opens pages from the server."""
    with Reader(browser, server) as opened:
        yield opened
