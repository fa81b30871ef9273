"""One page of a headless Chromium, driven over its own pipe, so nothing else has to be installed."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)

# Chromium reads commands from descriptor 3 and answers on 4.
_LAUNCH = """
import fcntl, os, sys
reads, writes = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(reads, 3), os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page of one browser: opens files, runs JavaScript, remembers what went wrong and what was asked for."""

    def __init__(self, profile: Path) -> None:
        commands, self._send = os.pipe()
        self._receive, answers = os.pipe()
        options = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--hide-scrollbars",
                   "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
                   f"--user-data-dir={profile}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]  # fmt: skip
        launch = [sys.executable, "-c", _LAUNCH, str(commands), str(answers), str(CHROMIUM), *options, "about:blank"]
        self._process = subprocess.Popen(
            launch, pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(commands)
        os.close(answers)
        self._number, self._rest, self._session = 0, b"", ""
        self.problems: list[str] = []
        self.requests: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._attach(page)

    def _attach(self, target: str) -> None:
        """From now on it is this page that is looked at."""
        self._session = ""
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.page = target
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def another_tab(self) -> str:
        """Open another page and look at that; gives the one looked at so far, for `back_to`."""
        before, self._session = self.page, ""
        self._attach(self.call("Target.createTarget", url="about:blank")["targetId"])
        return before

    def back_to(self, page: str) -> None:
        """Close the page that is looked at, and look at that one again."""
        gone, self._session = self.page, ""
        self.call("Target.closeTarget", targetId=gone)
        self._attach(page)

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._send)
        os.close(self._receive)

    def call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._send, json.dumps(asked).encode() + b"\0")
        while True:
            message = self._next(20.0)
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _next(self, patience: float) -> dict[str, Any]:
        until = time.monotonic() + patience
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._receive], [], [], max(until - time.monotonic(), 0.0))
            more = os.read(self._receive, 1 << 16) if ready else b""
            if not more:
                raise TimeoutError("the browser does not answer")
            self._rest += more
        first, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        given = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(given["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.problems.append(json.dumps(given["args"]))
            case "Log.entryAdded":
                self.problems.append(given["entry"]["text"])
            case "Page.javascriptDialogOpening":
                self.problems.append(f"dialog: {given['message']}")
            case "Network.requestWillBeSent":
                self.requests.append(given["request"]["url"])

    def run(self, script: str) -> Any:
        """The value of an expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def go(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def reload(self) -> None:
        self.call("Page.reload")

    def open(self, file: Path, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        self.problems.clear()
        self.requests.clear()
        self.resize(width, height)
        self.scheme(scheme)
        self.call("Page.navigate", url=file.as_uri())
        until = time.monotonic() + 15
        while not self.run(
            f"location.href === {json.dumps(file.as_uri())} && document.documentElement?.dataset.ready === 'yes'"
        ):
            assert time.monotonic() < until, f"{file.name} is not drawn: {self.problems}"
            time.sleep(0.02)

    def resize(self, width: int, height: int = 900) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name: str) -> None:
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def settle(self) -> None:
        """Two frames: one to lay out, one for what follows from it."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def move(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=_CODES[key], **text)


_CODES = {"Enter": 13, "ArrowRight": 39, "ArrowLeft": 37, "Escape": 27, "Tab": 9}
