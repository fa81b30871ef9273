"""One page of a headless Firefox, driven over its own remote control, so nothing else has to be installed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

FIREFOX = next((found for name in ("firefox-esr", "firefox") if (found := shutil.which(name))), None)

# Port 0: Firefox takes a free one and writes it into its profile.
_PREFERENCES = """
user_pref("marionette.port", 0);
user_pref("browser.startup.page", 0);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("dom.ipc.processPrelaunch.enabled", false);
"""
# What the console holds of pages and their workers (which have no window); what the browser says of itself is left out.
_PROBLEMS = """
const own = /^(chrome|resource):/, pages = /^(https?|file|blob):/;
const found = Services.console.getMessageArray().filter((one) => one instanceof Ci.nsIScriptError)
    .filter((one) => (one.innerWindowID ? !own.test(one.sourceName) : pages.test(one.sourceName)))
    .map((one) => `${one.sourceName}:${one.lineNumber}: ${one.errorMessage}`);
Services.console.reset();
return found;
"""


class Firefox:
    """One page of one browser: goes to addresses, runs JavaScript, tells what went wrong; named as those of Browser.

    The protocol is Marionette: https://firefox-source-docs.mozilla.org/remote/marionette/Protocol.html
    """

    def __init__(self, folder: Path) -> None:
        profile = folder / "profile"
        profile.mkdir(parents=True)
        (profile / "user.js").write_text(_PREFERENCES)
        # Chrome scripts read the console; that is what the last option is for.
        options = ["--headless", "--no-remote", "--profile", str(profile), "--marionette",
                   "--remote-allow-system-access"]  # fmt: skip
        self._process = subprocess.Popen(
            [str(FIREFOX), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": str(folder), "MOZ_CRASHREPORTER_DISABLE": "1"},
        )  # fmt: skip
        self._number, self._connection = 0, socket.socket()
        self._problems: list[str] = []
        try:
            self._connect(profile / "MarionetteActivePort")
            self.call("WebDriver:NewSession", capabilities={})
            self.page: str = self.call("WebDriver:GetWindowHandle")["value"]
        except BaseException:
            self.close()
            raise

    def _connect(self, port: Path) -> None:
        until = time.monotonic() + 60  # a first start makes the profile
        while not (port.exists() and port.read_text().strip()):
            assert self._process.poll() is None, "firefox has ended"
            assert time.monotonic() < until, "firefox does not start"
            time.sleep(0.05)
        self._connection.settimeout(30)
        self._connection.connect(("127.0.0.1", int(port.read_text())))
        self._stream = self._connection.makefile("rb")
        self._message()  # who it is

    def close(self) -> None:
        self._connection.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _message(self) -> Any:
        """A message is its length, a colon, and that many bytes of JSON."""
        length = b""
        while (sign := self._stream.read(1)) != b":":
            if not sign:
                raise ConnectionError("firefox has hung up")
            length += sign
        return json.loads(self._stream.read(int(length)))

    def call(self, command: str, **parameters: Any) -> Any:
        self._number += 1
        asked = json.dumps([0, self._number, command, parameters]).encode()
        self._connection.sendall(b"%d:%b" % (len(asked), asked))
        _, number, failed, result = self._message()
        assert number == self._number
        assert failed is None, failed
        return result

    def run(self, script: str) -> Any:
        """The value of an expression; promises are awaited."""
        return self.call("WebDriver:ExecuteScript", script=f"return ({script});", args=[])["value"]

    def go(self, address: str) -> None:
        self.call("WebDriver:Navigate", url=address)

    def reload(self) -> None:
        self.call("WebDriver:Refresh")

    def open(self, file: Path) -> None:
        """A page by itself, once it has compared its kernel with the reference."""
        self.problems.clear()
        self.go(file.as_uri())
        until = time.monotonic() + 30
        while not self.run("document.documentElement.dataset.ready === 'yes'"):
            assert time.monotonic() < until, f"{file.name} is not drawn: {self.problems}"
            time.sleep(0.02)

    def another_tab(self) -> str:
        """Open another page and look at that; gives the one looked at so far, for `back_to`."""
        before = self.page
        self._look_at(self.call("WebDriver:NewWindow", type="tab")["handle"])
        return before

    def back_to(self, page: str) -> None:
        """Close the page that is looked at, and look at that one again."""
        self.call("WebDriver:CloseWindow")
        self._look_at(page)

    def _look_at(self, page: str) -> None:
        self.call("WebDriver:SwitchToWindow", handle=page, focus=True)
        self.page = page

    def press(self, key: str) -> None:
        strokes = [{"type": kind, "value": _KEYS[key]} for kind in ("keyDown", "keyUp")]
        self.call("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": strokes}])

    @property
    def requests(self) -> list[str]:
        """What the page that is looked at was made of, as it knows it itself."""
        entries = "performance.getEntriesByType('resource').map((one) => one.name)"
        found: list[str] = self.run(f"[location.href, ...{entries}]")
        return found

    @property
    def problems(self) -> list[str]:
        """Errors and warnings of pages since the list was cleared."""
        self.call("Marionette:SetContext", value="chrome")
        try:
            self._problems += self.call("WebDriver:ExecuteScript", script=_PROBLEMS, args=[])["value"]
        finally:
            self.call("Marionette:SetContext", value="content")
        return self._problems


# As WebDriver names keys.
_KEYS = {"Enter": "\ue007", "ArrowRight": "\ue014", "ArrowLeft": "\ue012", "Escape": "\ue00c", "Tab": "\ue004"}
