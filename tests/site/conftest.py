"""The built site, a server for it and a browser.

Nothing is built here: ``make book`` comes first, and ``COMPANION_SITE`` names another built site. Without the site or
without Chromium the tests are skipped with a message, and in CI (variable ``CI``) they fail.
"""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

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
    "--js-flags=--no-opt",  # compiling scripts well costs more than it gains on pages that live for seconds
]


def give_up(reason: str) -> None:
    """Skip for a user, fail in CI."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


# One leaves the window small, the other takes the page apart.
LAST = ["test_fits_a_phone", "test_axe"]


def about(nodeid: str) -> str:
    """The page that a test looks at, or its file's name."""
    file, _, test = nodeid.partition("::")
    page = re.search(r"\[([\w/-]+\.html)", test)
    return page[1] if page else Path(file).name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring the tests of a page together. Other tests, the longest, go first."""
    places = [i for i, item in enumerate(items) if Path(__file__).parent in item.path.parents]
    ours = [items[i] for i in places]
    first: dict[str, int] = {}
    for item in ours:
        item.add_marker("site")
        first.setdefault(about(item.nodeid), len(first))

    def place(item: pytest.Item) -> tuple[bool, int, int]:
        subject, test = about(item.nodeid), item.nodeid.partition("::")[2].partition("[")[0]
        late = LAST.index(test) + 1 if test in LAST else 0
        return subject.endswith(".html"), first[subject], late

    for i, item in zip(places, sorted(ours, key=place)):
        items[i] = item


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give all tests of a page to one worker, which opens it once.

    Groups (``--dist loadgroup``) do nothing, and say nothing, with pytest-xdist 3.8 under pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByPage(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return about(nodeid)

    config.option.loadscopereorder = False
    return ByPage(config, log)


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
