"""The page's server as a user starts it, and the page as a user sees it, for the tests in a real browser."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import loynes
from browser import Browser
from firefox import Firefox
from loynes.results.records.evaluation import Evaluation
from loynes.results.table import shown

Driver = Browser | Firefox

# What a name may be; markup in it has to stay text.
EVIL = "<img src=x onerror=alert(1)>"
MODEL: dict[str, Any] = {
    "servers": 8,
    "arrivals": {"process": "poisson", "rate": 1.0},
    "classes": [
        {"name": EVIL, "need": 1, "probability": 0.75, "service": {"law": "gamma", "shape": 2.0, "mean": 1.0}},
        {"name": "wide", "need": 6, "probability": 0.25, "service": {"law": "exponential", "mean": 1.0}},
    ],
}
TEXT = "(document.body?.innerText ?? '')"
# Kernels may have to be compiled first, on a machine that is busy.
PATIENCE = 40.0


@functools.cache  # both browsers show the same
def answer(rate: float, precision: float = 0.01, policy: str = "fcfs") -> Evaluation:
    """What the command line answers of the model."""
    return loynes.evaluate(loynes.load(MODEL), rate=rate, precision=precision, policy=policy)


def mean(rate: float, precision: float = 0.01, policy: str = "fcfs") -> str:
    return shown(answer(rate, precision, policy).overall.wait.mean)


class Served:
    """The server, in a process of its own."""

    def __init__(self, folder: Path, model: dict[str, Any] = MODEL, *more: str) -> None:
        (folder / "mine.json").write_text(json.dumps(model))
        command = [sys.executable, "-m", "loynes", "explore", "mine.json", "--no-browser", *more]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=os.environ | {"XDG_STATE_HOME": str(folder)},
        )  # fmt: skip
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]

    def end(self, how: int = signal.SIGINT) -> int:
        """As Ctrl-C does, unless another signal is named; gives the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(20)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        return code

    def workers(self) -> list[int]:
        """Process numbers of the worker processes."""
        asked = ["ps", "-o", "pid=", "--ppid", str(self.process.pid)]
        return [int(pid) for pid in subprocess.run(asked, capture_output=True, text=True).stdout.split()]


class Page:
    """The page in a browser: fields by their labels, and waiting for what it shows."""

    def __init__(self, browser: Driver) -> None:
        self.browser = browser

    def open(self, address: str) -> None:
        self.browser.go("about:blank")
        self.browser.go(address)
        self.wait("document.querySelector('#classes tbody tr')")
        self.click("#sweep")  # the curve against load takes longer than all else, and has a test of its own

    def run(self, script: str) -> Any:
        return self.browser.run(script)

    def wait(self, script: str) -> Any:
        """Until an expression is something; an element is true."""
        until = time.monotonic() + PATIENCE
        while not (found := self.run(f"((value) => value instanceof Node || value)({script})")):
            assert time.monotonic() < until, f"{script}: {self.browser.problems}: {self.run(TEXT)[:2000]}"
            time.sleep(0.05)
        return found

    def shows(self, text: str) -> None:
        self.wait(f"{TEXT}.includes({json.dumps(text)})")

    def settled(self) -> None:
        """Until everything that was asked is answered."""
        time.sleep(0.3)  # changes are gathered before they are sent
        self.wait("document.querySelector('#status').innerText === ''")

    def set(self, label: str, value: object) -> None:
        """Write into a field and leave it."""
        self.run(f"""(() => {{
            const field = document.querySelector('[aria-label={json.dumps(label)}]');
            field.focus();
            field.value = {json.dumps(str(value))};
            field.dispatchEvent(new Event("change", {{ bubbles: true }}));
            field.blur();
        }})()""")

    def set_when(self, label: str, value: object) -> None:
        """The same once the field is there."""
        self.wait(f"document.querySelector('[aria-label={json.dumps(label)}]')")
        self.set(label, value)

    def value(self, label: str) -> str:
        return str(self.run(f"document.querySelector('[aria-label={json.dumps(label)}]').value"))

    def choose(self, name: str, value: object) -> None:
        self.run(f"""(() => {{
            const field = document.querySelector('#{name}');
            field.value = {json.dumps(str(value))};
            field.dispatchEvent(new Event("change", {{ bubbles: true }}));
        }})()""")

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def cell(self, name: str, column: int) -> str:
        """Of the table of waits."""
        rows = "[...document.querySelector('#waits').tBodies[0].rows]"
        return str(
            self.run(f"{rows}.find((r) => r.dataset.name === {json.dumps(name)})?.cells[{column}]?.innerText ?? ''")
        )

    def answered(self, standing: str) -> tuple[str, float]:
        """The mean wait once it has that standing, and the precision that was asked for."""
        self.wait(f"document.querySelector('#trust').dataset.standing === {json.dumps(standing)}")
        cell = "document.querySelector('#waits tbody tr').cells[2].innerText"
        text, precision = self.run(f"[{cell}, document.querySelector('#trust').dataset.precision]")
        return text, float(precision)

    def drop(self, name: str, text: str) -> None:
        """A file, dropped on the page."""
        self.run(f"""(() => {{
            const data = new DataTransfer();
            data.items.add(new File([{json.dumps(text)}], {json.dumps(name)}));
            const how = {{ bubbles: true, cancelable: true, dataTransfer: data }};
            document.body.dispatchEvent(new DragEvent("drop", how));
        }})()""")
