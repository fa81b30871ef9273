"""Both pages in Firefox, whose engine is another than Chromium's: numbers, an edit, and the kernel bit for bit."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

import loynes
from explore.live import EVIL, MODEL, TEXT, Page, Served
from firefox import FIREFOX, Firefox
from loynes.cli.app import app
from loynes.explore import offline
from loynes.explore.offline_known import known_of
from loynes.results.table import shown

pytestmark = pytest.mark.skipif(FIREFOX is None, reason="no firefox-esr or firefox on PATH")

MEAN = "document.querySelector('#waits tbody tr').cells[2].innerText"


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Firefox]:
    found = Firefox(tmp_path / "firefox")
    yield found
    found.close()


def test_the_live_page_and_the_page_by_itself(
    firefox: Firefox, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(firefox)
    page.open(served.address)
    shows_the_command_lines_numbers(page, 1.0)
    assert EVIL in page.run(TEXT)  # markup in a name is text
    before = page.run(MEAN)
    page.choose("rate", 1.25)
    page.wait(f"{MEAN} !== {json.dumps(before)}")
    shows_the_command_lines_numbers(page, 1.25)
    assert firefox.problems == []

    monkeypatch.setattr(offline, "known_of", partial(known_of, loads=(0.5,), precision=0.3))
    model, written = tmp_path / "mine.json", tmp_path / "page.html"
    model.write_text(json.dumps(MODEL))
    done = CliRunner().invoke(app, ["explore", str(model), "-o", str(written)])
    assert done.exit_code == 0, done.output
    firefox.go(written.as_uri())
    page.wait("document.documentElement.dataset.ready === 'yes'")
    checked = page.run("document.querySelector('#checked').textContent")
    assert checked.startswith("Compared in this browser: the waits of the first 640 jobs")
    assert "bit for bit" in checked
    page.wait("/estimate/.test(document.querySelector('#standing').innerText)")
    assert firefox.problems == []
    # Had a script failed, it would have been seen.
    page.run("new Promise((done) => { setTimeout(() => { done(); throw new Error('on purpose'); }); })")
    until = time.monotonic() + 10
    while not any("on purpose" in problem for problem in firefox.problems):
        assert time.monotonic() < until
        time.sleep(0.05)


def shows_the_command_lines_numbers(page: Page, rate: float) -> None:
    """Threshold and waits of every class, with the precision that the page comes to in the end."""
    page.wait("document.querySelector('#trust').dataset.precision === '0.01'")
    page.settled()
    threshold = page.run("document.querySelector('#threshold').innerText")
    assert threshold.startswith(f"Threshold {shown(loynes.stability(MODEL).threshold)}: ")
    text, precision = page.answered("certified")
    answer = loynes.evaluate(loynes.load(MODEL), rate=rate, precision=precision)
    assert text == shown(answer.overall.wait.mean)
    for name, of_class in answer.classes.items():
        assert page.cell(name, 2) == shown(of_class.wait.mean)
