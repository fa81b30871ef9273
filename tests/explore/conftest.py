"""One server and one browser for all tests that leave them as they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from browser import CHROMIUM, Browser
from explore.live import Page, Served


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("served"))
    yield server
    server.end()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on PATH")
    found = Browser(tmp_path_factory.mktemp("browser") / "profile")
    found.resize(1200)
    yield found
    found.close()


@pytest.fixture
def page(served: Served, browser: Browser) -> Page:
    """The page as it begins; nothing may have gone wrong on it by the end of the test."""
    browser.problems.clear()
    browser.requests.clear()
    opened = Page(browser)
    opened.open(served.address)
    return opened
