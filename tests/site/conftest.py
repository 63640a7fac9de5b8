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
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Error, sync_playwright

from tests.site.site import SITE, Count, Reader
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


LAST = "test_accessibility"  # it takes pages apart


def about(item: pytest.Item) -> str:
    """The page that a test looks at, or its file's name."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    name = parameters.get("name")
    # Without a site lists of pages are empty, and a name is a mark of pytest's own.
    return name if isinstance(name, str) else item.path.stem


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring the tests of a page together, in one worker: it opens the page once. Other tests, the longest, go first."""
    places = [i for i, item in enumerate(items) if "tests/site" in item.path.as_posix()]
    ours = [items[i] for i in places]
    first = {}
    for item in ours:
        item.add_marker("site")
        item.add_marker(pytest.mark.xdist_group(about(item)))
        first.setdefault(about(item), len(first))
    ours.sort(
        key=lambda item: (
            about(item).endswith(".html"),
            first[about(item)],
            item.path.stem == LAST,
        )
    )
    for i, item in zip(places, ours):
        items[i] = item


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


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> Count:
    """Add to a sum that the report at the end prints: ``count("links", 12)``."""
    return lambda name, number: record_property(f"site: {name}", number)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was looked at, summed over all pages and all workers."""
    sums: dict[str, float] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, number in report.user_properties:
                    if name.startswith("site: "):
                        sums[name[6:]] = sums.get(name[6:], 0) + number
    if sums:
        parts = ", ".join(f"{round(number):,} {name}" for name, number in sums.items())
        terminalreporter.write_line(f"The site: {parts}")
