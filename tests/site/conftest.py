"""The built site, a server for it and a browser.

Nothing is built here: ``make book`` comes first, and ``COMPANION_SITE`` names another built site. Without the site or
without Chromium the tests are skipped with a message, and in CI (variable ``CI``) they fail.
"""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error, sync_playwright

from tests.site.site import SITE, Reader
from tools.pdf import BROWSERS

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def give_up(reason: str) -> None:
    """Skip for a user, fail in CI."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def built_site() -> None:
    if not (SITE / "index.html").exists():
        give_up(f"the site is not built ({SITE}): run make book first")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serve files without a log."""

    def log_message(self, *args: object) -> None: ...


@pytest.fixture(scope="session")
def server(built_site: None) -> Iterator[str]:
    """Address of a local server of the site, without a trailing slash."""
    handler = functools.partial(QuietHandler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
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
