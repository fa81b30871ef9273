"""The page within a notebook: its module runs by itself, and the kernel's side answers its messages."""

from __future__ import annotations

import importlib.util
import json
import time
from pathlib import Path
from typing import Any

import pytest

import loynes
from browser import CHROMIUM, Browser
from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.explore.asked import Asking, facts_of
from loynes.explore.pages import bundled
from loynes.explore.service import Recorded, Service
from loynes.explore.state import first_state
from loynes.explore.told import shown
from loynes.explore.work import Workers
from loynes.model import load
from loynes.questions.asking.ask import ask

MODEL = {
    "name": "small",
    "servers": 8,
    "arrivals": {"rate": 1.0},
    "classes": [
        {"name": "</script><b>", "need": 1, "probability": 0.75, "service": {"law": "exponential", "mean": 1.0}},
        {"name": "wide", "need": 6, "probability": 0.25, "service": {"law": "exponential", "mean": 1.0}},
    ],
}
STATE = first_state(load(MODEL))

# A notebook's front end as far as a widget sees it: a model with messages, and an element.
NOTEBOOK = """<!doctype html><meta charset="utf-8"><div id="cell" style="width: 700px"></div>
<script type="module">
const told = JSON.parse(document.querySelector("#told").textContent);
const heard = [];
window.sent = [];
const model = {
  on: (name, done) => heard.push(done), off: (name, done) => heard.splice(heard.indexOf(done), 1),
  send: ({ call, path, body }) => {
    if (window.ended) throw new Error("Cannot send"); // as where the kernel was started again
    window.sent.push([path, body]);
    const say = (message) => setTimeout(() => heard.forEach((done) => done({ call, ...message })), 5);
    if (path === "start") say({ value: told.start });
    else if (path === "export") say(body.form === "toml" ? { value: "servers = 8" } : { error: "no such form" });
    else if (path === "answer") { told.events.forEach((event) => say({ event })); say({ value: null }); }
  },
};
const { default: widget } = await import(URL.createObjectURL(new Blob([told.module], { type: "text/javascript" })));
const el = document.querySelector("#cell");
const end = widget.render({ model, el });
window.root = el.shadowRoot;
window.leave = () => { end(); return heard.length; };
document.documentElement.dataset.ready = "yes";
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on PATH")
def test_the_module_runs_in_a_cell(browser: Browser, tmp_path: Path) -> None:
    recorded = Recorded("log.swf", 400, 3, "poisson", "easy", {"all jobs": shown(Estimate(1.0, 0.5, 2.5))})
    service = Service(STATE, Workers(), recorded)
    events = [facts_of(STATE), *Asking(STATE, (), ask).events()]
    told = {"module": bundled(), "start": service.start(), "events": events}
    data = json.dumps(told).replace("</", "<\\/")
    file = tmp_path / "cell.html"
    file.write_text(f'<script type="application/json" id="told">{data}</script>{NOTEBOOK}', encoding="utf-8")
    browser.open(file)

    def wait(script: str) -> None:
        until = time.monotonic() + 20
        while not browser.run(script):
            assert time.monotonic() < until, f"{script}: {browser.problems}"
            time.sleep(0.05)

    answer = loynes.exact(MODEL, rate=1.0)
    assert answer.overall is not None
    wait(f"root.querySelector('#waits').innerText.includes({json.dumps(f'{answer.overall.mean:.6g}')})")
    assert "</script><b>" in browser.run("root.querySelector('#waits').innerText")
    # Of a log: what it is, and its own waits, which are not those of the model.
    log = browser.run("root.querySelector('#log').innerText")
    assert log.startswith("A model fitted to 400 jobs of log.swf (3 lines were skipped), with poisson arrivals.")
    assert browser.run("root.querySelector('#waits tbody tr').cells[6].innerText") == recorded.waits["all jobs"]["text"]
    # Its styles are those of the page, and stay within it.
    assert browser.run("getComputedStyle(root.querySelector('.page')).getPropertyValue('--paper')") == "#fbfaf8"
    assert browser.run("getComputedStyle(root.querySelector('.page')).backgroundColor") == "rgb(251, 250, 248)"
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgba(0, 0, 0, 0)"
    browser.scheme("dark")
    assert browser.run("getComputedStyle(root.querySelector('.page')).backgroundColor") == "rgb(21, 24, 28)"
    browser.scheme("light")
    # A change is a message, with the state that is wanted; exports come back as one.
    browser.run("""(() => { const rate = root.querySelector('#rate'); rate.value = 1.5;
        rate.dispatchEvent(new Event('change', { bubbles: true })); })()""")
    wait("window.sent.some(([path, body]) => path === 'answer' && body.state.rate === 1.5)")
    browser.run("root.querySelector('[data-form=toml]').click()")
    wait("root.querySelector('#out').textContent === 'servers = 8'")
    browser.run("root.querySelector('[data-form=python]').click()")
    wait("root.querySelector('#problem').innerText === 'no such form'")
    # A kernel that has ended is said to have, in words that say what to do.
    browser.run("window.ended = true")
    browser.run("root.querySelector('#undo').click()")
    wait("root.querySelector('#status').innerText.includes('run the cell again')")
    browser.run("window.ended = false")
    wait("!root.querySelector('#status').innerText")
    # Keys are for the page alone: those of a notebook cut and delete cells.
    assert browser.run("document.querySelector('#cell').dataset.lmSuppressShortcuts") == "true"
    browser.run("""(() => { window.keys = [];
        document.body.addEventListener('keydown', (one) => window.keys.push(one.key));
        root.querySelector('[aria-label="Name of class 1"]').dispatchEvent(
            new KeyboardEvent('keydown', { key: 'x', bubbles: true, composed: true })); })()""")
    assert browser.run("window.keys") == []
    assert browser.run("window.leave()") == 0
    assert browser.run("window.sent.at(-1)[0]") == "leave"
    assert browser.problems == []
    assert all(asked.startswith(("file:", "blob:", "data:")) for asked in browser.requests)


def test_without_anywidget_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "loynes.explore.widget", raising=False)
    with pytest.raises(UsageError, match="anywidget"):
        loynes.explore(MODEL)


@pytest.mark.skipif(importlib.util.find_spec("anywidget") is None, reason="anywidget is not installed")
def test_the_kernel_answers_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []
    widget = loynes.explore(MODEL)
    monkeypatch.setattr(widget, "send", lambda content, buffers=None: sent.append(content))

    def said(call: str, key: str) -> Any:
        until = time.monotonic() + 60
        while True:
            found = [one[key] for one in sent if one["call"] == call and key in one]
            if found:
                return found
            assert time.monotonic() < until, (call, key, sent)
            time.sleep(0.05)

    try:
        widget._heard(widget, {"call": "a 1", "path": "start"})
        assert said("a 1", "value")[0]["state"] == widget.state
        body = {"state": widget.state, "tab": "a", "also": []}
        widget._heard(widget, {"call": "a 2", "path": "answer", "body": body})
        said("a 2", "value")
        kinds = [event["kind"] for event in said("a 2", "event")]
        assert kinds[0] == "facts"
        assert kinds[-1] == "done"
        assert "waits" in kinds
        widget._heard(widget, {"call": "a 3", "path": "export", "body": {"state": widget.state, "form": "exe"}})
        assert "form" in said("a 3", "error")[0]
        workers = widget._service.workers.processes
        assert len(workers) == 2
        # They end with the last view, as where the cell is run again, and start with the next one.
        widget._heard(widget, {"call": "b 1", "path": "start"})
        said("b 1", "value")
        widget._heard(widget, {"call": "a 0", "path": "leave"})
        widget._heard(widget, {"call": "b 2", "path": "start"})
        said("b 2", "value")
        assert widget._service.workers.processes == workers
        widget._heard(widget, {"call": "b 0", "path": "leave"})
        until = time.monotonic() + 20
        while still_there(workers):
            assert time.monotonic() < until, "workers are left without a view"
            time.sleep(0.05)
        widget._heard(widget, {"call": "c 1", "path": "start"})
        said("c 1", "value")
        workers = widget._service.workers.processes
        assert len(workers) == 2
    finally:
        widget.close()
    assert not still_there(workers)


def still_there(workers: list[int]) -> list[int]:
    return [pid for pid in workers if Path(f"/proc/{pid}").exists()]
