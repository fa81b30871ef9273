"""Pictures the live page in its states, for docs/explore.md: python docs/explore_pictures.py [page|changes|nodes ...]

A browser takes them: a Chromium has to be on the PATH.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from browser import Browser  # noqa: E402  # the browser of the tests

WIDTH, PHONE = 1100, 390
SETTLED = "document.querySelector('#status').innerText === ''"
EXAMPLES = HERE.parent / "examples"


class Pictures:
    """One browser, and servers that are started for what is pictured."""

    def __init__(self, folder: Path) -> None:
        self.browser = Browser(folder / "profile")
        self.browser.resize(WIDTH, 900)
        self.server: subprocess.Popen[str] | None = None

    def serve(self, subject: str) -> None:
        self.stop()
        command = [sys.executable, "-m", "loynes", "explore", subject, "--no-browser"]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.server.stdout is not None
        self.browser.call("Page.navigate", url=self.server.stdout.readline().split()[-1])
        self.wait("document.querySelector('#classes tbody tr') !== null")

    def stop(self) -> None:
        if self.server is not None:
            self.server.terminate()
            self.server.wait(20)
            self.server = None

    def wait(self, script: str) -> None:
        until = time.monotonic() + 300
        while not self.browser.run(script):
            assert time.monotonic() < until, script
            time.sleep(0.1)

    def settled(self) -> None:
        time.sleep(0.4)
        self.wait(SETTLED)

    def set(self, selector: str, value: str) -> None:
        self.browser.run(f"""(() => {{ const field = document.querySelector({json.dumps(selector)});
            field.value = {json.dumps(value)}; field.dispatchEvent(new Event("change", {{ bubbles: true }})); }})()""")

    def click(self, selector: str) -> None:
        self.browser.run(f"document.querySelector({json.dumps(selector)}).click()")

    def take(self, name: str, first: str = "header", last: str = "main", least: int = 0) -> None:
        """From the top of one element to the bottom of another."""
        self.browser.settle()
        top, bottom = (
            self.browser.run(
                f"(() => {{ const box = document.querySelector({json.dumps(one)}).getBoundingClientRect();"
                f" return box.{side} + scrollY; }})()"
            )
            for one, side in ((first, "top"), (last, "bottom"))
        )
        wide = self.browser.run("innerWidth")
        clip = {"x": 0, "y": max(top - 16, 0), "width": wide, "height": max(bottom - top + 32, least), "scale": 1}
        data = self.browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        (HERE / f"explore-{name}.png").write_bytes(base64.b64decode(data))


def page(pictures: Pictures) -> None:
    """The whole page, light and dark, wide and on a phone, and the moving picture."""
    one = pictures.browser
    pictures.serve("five-class-exponential")
    pictures.settled()
    pictures.take("page", last=".two")
    one.scheme("dark")
    pictures.take("dark", last=".two")
    one.scheme("light")
    pictures.take("floor", "figure:has(#floor)", "figure:has(#floor)")
    one.resize(PHONE, 800)
    pictures.take("phone", last="#waits")
    one.resize(WIDTH, 900)


def changes(pictures: Pictures) -> None:
    """What is known first, the difference from a pinned state, what-ifs and policies."""
    pictures.serve("five-class-exponential")
    pictures.click("#sweep")
    pictures.settled()
    pictures.click("#pin")
    pictures.settled()
    pictures.set("#rate", "1.5")
    pictures.wait("document.querySelector('#trust').dataset.standing === 'at least'")
    pictures.take("first", "#threshold", "#waits")
    pictures.wait("document.querySelector('#how').innerText.includes('on the same jobs')")
    pictures.settled()
    pictures.take("pinned", "#trust", "#waits")
    pictures.click("#unpin")
    pictures.click("#what_if")
    pictures.click("#policies")
    pictures.wait("document.querySelectorAll('#orders li').length === 5")
    pictures.settled()
    pictures.take("what-ifs", "label:has(#what_if)", "#orders")


def nodes(pictures: Pictures) -> None:
    """A cluster of nodes; and how the page looks once its server is gone."""
    pictures.serve(str(EXAMPLES / "shared-nodes.toml"))
    pictures.click("#sweep")
    pictures.set("#policy", "easy")
    pictures.wait("document.querySelector('#trust').dataset.standing === 'estimate'")
    pictures.take("nodes", last="#waits")
    pictures.stop()
    pictures.wait("document.querySelector('#status').innerText.includes('The server does not answer')")
    pictures.take("gone", "header", "#status")


PARTS = {"page": page, "changes": changes, "nodes": nodes}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pictures = Pictures(Path(folder))
        try:
            for name in sys.argv[1:] or PARTS:
                PARTS[name](pictures)
        finally:
            pictures.stop()
            pictures.browser.close()


if __name__ == "__main__":
    main()
