"""The live page in a real browser: what it shows is what the command line answers, and nothing is left when it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import loynes
from browser import CHROMIUM, Browser
from loynes.results.table import shown

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on PATH")
EVIL = "<img src=x onerror=alert(1)>"
MODEL = {
    "servers": 8,
    "arrivals": {"process": "poisson", "rate": 1.0},
    "classes": [
        {"name": EVIL, "need": 1, "probability": 0.75, "service": {"law": "exponential", "mean": 1.0}},
        {"name": "wide", "need": 6, "probability": 0.25, "service": {"law": "exponential", "mean": 1.0}},
    ],
}


class Served:
    """The page's server as a user starts it, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        (folder / "mine.json").write_text(json.dumps(MODEL))
        command = [sys.executable, "-m", "loynes", "explore", "mine.json", "--no-browser"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]

    def end(self) -> int:
        """As Ctrl-C does; gives the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


def wait_for(browser: Browser, script: str) -> Any:
    until = time.monotonic() + 90  # kernels may have to be compiled
    while not (found := browser.run(script)):
        assert time.monotonic() < until, f"{script}: {browser.problems}"
        time.sleep(0.05)
    return found


TEXT = "(document.body?.innerText ?? '')"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    server = Served(tmp_path)
    yield server
    server.end()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    found = Browser(tmp_path / "profile")
    yield found
    found.close()


def test_numbers_are_the_command_lines(served: Served, browser: Browser) -> None:
    browser.resize(1200)
    browser.call("Page.navigate", url=served.address)
    mean = json.dumps(shown(loynes.evaluate(loynes.load(MODEL), rate=1.0).overall.wait.mean))
    wait_for(browser, f"{TEXT}.includes({mean})")
    assert EVIL in browser.run(TEXT)  # markup in a name is text
    # A slider that is dragged: the last change is the one that is answered, and its command is shown.
    browser.run("""(async () => {
        const slider = document.querySelector("input[type=range]");
        for (let k = 0; k < 20; k++) {
            slider.value = 200 + 5 * k;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            slider.dispatchEvent(new Event("change", { bubbles: true }));
            await new Promise((done) => setTimeout(done, 20));
        }
    })()""")
    time.sleep(0.5)
    rate = float(browser.run("document.querySelector('#rate').value"))
    assert rate != 1.0
    dragged = json.dumps(shown(loynes.evaluate(loynes.load(MODEL), rate=rate).overall.wait.mean))
    wait_for(browser, f"{TEXT}.includes({dragged})")
    # The address holds the state.
    browser.call("Page.reload")
    time.sleep(0.5)
    wait_for(browser, f"{TEXT}.includes({dragged})")
    assert browser.problems == []
    assert all(asked.startswith((served.address.split("/#")[0], "data:")) for asked in browser.requests)


def test_nothing_is_left_after_an_interrupt(served: Served, browser: Browser) -> None:
    browser.call("Page.navigate", url=served.address)
    wait_for(browser, f"{TEXT}.includes('Threshold')")
    group = os.getpgid(served.process.pid)
    assert served.end() in (0, 130)
    until = time.monotonic() + 10
    while True:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            break
        assert time.monotonic() < until, "a worker is left"
        time.sleep(0.1)
