"""One server, one Chromium and one Firefox for all tests that leave them as they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from browser import CHROMIUM, Browser
from explore.live import Driver, Page, Served
from firefox import FIREFOX, Firefox


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


@pytest.fixture(scope="session")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    if FIREFOX is None:
        pytest.skip("no firefox-esr or firefox on PATH")
    found = Firefox(tmp_path_factory.mktemp("firefox"))
    yield found
    found.close()


@pytest.fixture(params=["browser", "firefox"])
def driver(request: pytest.FixtureRequest) -> Driver:
    """Chromium, and in another run of the test Firefox, whose engine is another."""
    found: Driver = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def pages(served: Served, driver: Driver) -> Page:
    """The page as it begins, in both browsers."""
    return begun(driver, served)


@pytest.fixture
def page(served: Served, browser: Browser) -> Page:
    """The page as it begins, in Chromium alone: for what does not hang on the browser, or what Firefox cannot do."""
    return begun(browser, served)


def begun(driver: Driver, served: Served) -> Page:
    driver.problems.clear()
    if isinstance(driver, Browser):
        driver.requests.clear()
    opened = Page(driver)
    opened.open(served.address)
    return opened
