"""Reports in a real browser: headless Chromium, driven over its own pipe, so nothing else has to be installed."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from browser import CHROMIUM, Browser
from loynes.estimate import Estimate
from loynes.estimators.metrics import metric
from loynes.report import page
from report_data import KINDS, changed, mapped, result_of

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on PATH")
EVIL = "<script>alert(1)</script>"
EVIL_NAMES = (EVIL, '"><img src=x onerror=alert(1)>', "</script><script>alert(2)</script>")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    results = {name: result_of(name) for name in KINDS}
    results["evil"] = result_of("evaluation", EVIL_NAMES)
    results["evil sweep"] = result_of("sweep", EVIL_NAMES)
    results["empty"], results["empty sweep"] = (mapped(result_of(kind), _none) for kind in ("evaluation", "sweep"))
    results["open"] = mapped(result_of("sweep"), lambda e: Estimate(e.estimate, -math.inf, math.inf))
    results["known"] = mapped(result_of("evaluation"), lambda e: Estimate(8.0, 7.84, 8.16))
    plan = result_of("plan")
    curve = tuple(dataclasses.replace(look, objectives=look.objectives[:1]) for look in plan.curve)
    results["one objective"] = changed(plan, objectives=plan.objectives[:1], curve=curve)
    for name, result in results.items():
        (folder / f"{name}.html").write_text(page(result), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in results}


def _none(value: Estimate) -> Estimate:
    return Estimate(math.nan, math.nan, math.nan)


ALL = [*KINDS, "evil", "evil sweep", "empty", "empty sweep", "open"]


@pytest.mark.parametrize("name", ALL)
def test_a_page_loads_fits_and_asks_for_nothing(browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.open(pages[name], 1400)
    for width in (1400, 360):
        browser.resize(width)
        browser.settle()
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run("[...document.querySelectorAll('.canvas')].every((c) => c.scrollWidth <= c.clientWidth + 1)")
    assert browser.problems == []
    assert browser.requests == [pages[name].as_uri()]


@pytest.mark.parametrize(
    ("name", "marks"),
    [
        # 4 rows of 4 marks and 4 tails; 4 lines of 3 points and a cross; a curve of 4 values, 3 places of 2 objectives
        # together, and the 16 of the answer's waits; 3 rows of one.
        ("evaluation", {".point .mark": 16, ".part rect": 6, ".series .line": 4, ".series .band": 4}),
        ("threshold", {".point .mark": 2, ".part rect": 4}),
        ("sweep", {".series .mark": 12, ".series .line": 4, ".band": 4, ".unanswered": 1, ".limit": 1}),
        ("plan", {".series .mark": 4, ".point .mark": 22, ".limit": 3, "rect.allowed": 2}),
        ("one objective", {".series .mark": 4, ".point .mark": 16, ".limit": 2, "rect.allowed": 1}),
        ("comparison", {".point .mark": 3, ".zero": 1}),
        # 3 staircases; all jobs replayed and recorded; all jobs and 4 classes.
        ("replay", {".series .line": 10, ".limit": 1, ".point .mark": 40}),
        ("simulation", {".series .line": 5, "rect.allowed": 1, ".point .mark": 16}),
        ("policies", {".series .line": 4, ".limit": 2, ".point .mark": 11}),
        ("exact", {".point .mark": 6, ".part rect": 4}),
        ("fitted", {".point .mark": 8}),
        ("check", {".part rect": 12}),
        ("certificate", {".series .line": 1, ".series .mark": 0}),
        ("samples", {".series .line": 1, ".point .mark": 5}),
    ],
)
def test_charts_are_drawn(browser: Browser, pages: dict[str, Path], name: str, marks: dict[str, int]) -> None:
    browser.open(pages[name])
    found = {what: browser.run(f"document.querySelectorAll('.canvas {what}').length") for what in marks}
    assert found == marks
    assert browser.run("[...document.querySelectorAll('svg[role=img]')].every((svg) => svg.getAttribute('aria-label'))")


def chip(name: str) -> str:
    return f"[...document.querySelectorAll('.chip')].find((c) => c.textContent === {json.dumps(name)})"


def test_a_legend_entry_hides_its_class(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["sweep"])
    lines = "document.querySelectorAll('.series').length"
    assert browser.run(lines) == 4
    browser.run(f"{chip('T5')}.click()")
    assert browser.run(lines) == 3
    assert browser.run(f"{chip('T5')}.getAttribute('aria-pressed')") == "false"
    browser.run(f"{chip('T5')}.focus()")
    browser.press("Enter")
    assert browser.run(lines) == 4
    browser.open(pages["evaluation"])
    browser.run(f"{chip('T2')}.click()")
    assert browser.run("document.querySelectorAll('.point').length") == 12


def test_another_measure_and_a_log_scale(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["sweep"])
    ticks = "[...document.querySelectorAll('svg .tick')].map((t) => t.textContent).join(' ')"
    before = browser.run(ticks)
    browser.run("document.querySelector('.switch').click()")
    assert browser.run(ticks) != before
    browser.run("{ const s = document.querySelector('select'); s.value = '3'; s.dispatchEvent(new Event('change')); }")
    assert metric("wait.p99").label in browser.run(
        "[...document.querySelectorAll('svg .label')].map((t) => t.textContent).join()"
    )
    assert browser.problems == []


def test_hover_and_arrow_keys_show_value_and_interval(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["known"])
    tip = "document.querySelector('.tip')"
    assert browser.run(f"{tip}.hidden")
    browser.run("document.querySelector('figure').scrollIntoView()")
    corner = "(({x, y, width, height}) => [x + width / 2, y + height / 2])"
    browser.move(*browser.run(f"{corner}(document.querySelector('.canvas .mark').getBoundingClientRect())"))
    assert browser.run(f"{tip}.textContent") == "all jobsmean wait: 899% interval 7.84 to 8.16"
    browser.run("document.querySelector('svg[role=img]').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    assert "interval" in browser.run(f"{tip}.textContent")
    browser.press("Escape")
    assert browser.run(f"{tip}.hidden")


def test_a_crosshair_lists_all_series(browser: Browser, pages: dict[str, Path]) -> None:
    """Anywhere above a place of the axis, and by the arrow keys: every line's value there, and its interval."""
    r = result_of("sweep")
    browser.open(pages["sweep"])
    browser.run("document.querySelector('figure').scrollIntoView()")
    box = "(({{x, y, width, height}}) => [x, y, width, height])(document.querySelector('{}').getBoundingClientRect())"
    _, top, _, height = browser.run(box.format("svg[role=img]"))
    mark, _, wide, _ = browser.run(box.format(".series .mark:nth-of-type(3)"))
    told = []
    for y in (0.2, 0.7):
        browser.move(mark + wide, top + y * height)
        told.append(browser.run("[...document.querySelector('.tip').children].map((p) => p.textContent)"))
    assert told[0] == told[1]
    assert [line.split(":")[0] for line in told[0][1:-1]] == ["all jobs", *(c.label for c in r.model.classes)]
    assert all(" to " in line for line in told[0][1:-1])
    assert told[0][-1] == "99% intervals"
    assert browser.run("document.querySelectorAll('.crosshair').length") == 1
    browser.run("document.querySelector('svg[role=img]').focus()")
    browser.press("Escape")
    heads = []
    for _ in range(5):
        browser.press("ArrowRight")
        heads.append(browser.run("document.querySelector('.tip strong').textContent"))
    assert heads == ["load 0.3", "load 0.6", "load 0.8", "unstable from 1", "load 1.1"]
    browser.press("Escape")
    assert browser.run("document.querySelectorAll('.crosshair').length") == 0
    # A span of a scenario is named where it is.
    browser.open(pages["simulation"])
    browser.run("document.querySelector('svg[role=img]').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    assert "burst of T1" in browser.run("document.querySelector('.tip').textContent")


# What a click would download: name and contents, caught before it leaves the page.
CATCH = """(() => {
  window.caught = [];
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => { window.caught.push({ blob }); return make(blob); };
  HTMLAnchorElement.prototype.click = function () { window.caught.at(-1).name = this.download; };
})()"""


def caught(browser: Browser, place: str, label: str) -> tuple[str, str, int]:
    """Name, text and size of what a button offers."""
    buttons = f"[...document.querySelectorAll({json.dumps(place + ' .tool')})]"
    browser.run(f"{buttons}.find((button) => button.textContent === '{label}').click()")
    until = time.monotonic() + 10
    while not browser.run("Boolean(window.caught.at(-1)?.name)"):
        assert time.monotonic() < until
    name, text, size = browser.run(
        "(async () => { const { blob, name } = window.caught.pop(); return [name, await blob.text(), blob.size]; })()"
    )
    return name, text, size


def test_charts_and_tables_are_downloaded(browser: Browser, pages: dict[str, Path]) -> None:
    r = result_of("evaluation")
    browser.open(pages["evaluation"])
    browser.run(CATCH)
    name, text, _ = caught(browser, "figure", "CSV")
    assert name == "three-how-long-jobs-wait-waits-by-class.csv"
    rows = list(csv.reader(text.splitlines()))
    mean = r.overall.wait.mean
    assert rows[0] == ["name", "measure", "estimate", "low", "high"]
    assert rows[1][:2] == ["all jobs", "mean wait"]
    assert [float(x) for x in rows[1][2:]] == [mean.estimate, mean.low, mean.high]
    name, text, _ = caught(browser, "figure[data-chart='1']", "CSV")
    assert len(text.splitlines()) == 1 + len(r.tails.x) * len(r.tails.classes)
    name, text, _ = caught(browser, ".table", "CSV")
    rows = list(csv.reader(text.splitlines()))
    column = rows[0].index("mean wait")
    assert rows[0][column : column + 3] == ["mean wait", "mean wait, low", "mean wait, high"]
    assert [float(x) for x in rows[1][column : column + 3]] == [mean.estimate, mean.low, mean.high]
    name, text, _ = caught(browser, "figure[data-chart='1']", "SVG")
    assert name.endswith(".svg")
    drawing = ElementTree.fromstring(text)
    assert not [node for node in drawing.iter() if "class" in node.attrib or "style" in node.attrib]
    assert [node for node in drawing.iter() if node.attrib.get("stroke", "").startswith("rgb")]
    name, text, size = caught(browser, "figure[data-chart='1']", "PNG")
    assert name.endswith(".png")
    assert text[1:4] == "PNG"
    assert size > 10_000
    assert browser.problems == []
    assert browser.requests[0] == pages["evaluation"].as_uri()
    assert all(url.startswith("data:image/svg+xml") for url in browser.requests[1:])


def test_numbers_are_copied(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["evaluation"])
    browser.run("navigator.clipboard.writeText = (text) => { window.said = text; return Promise.resolve(); }")
    browser.run("document.querySelector('.table .tool').click()")
    browser.settle()
    assert browser.run("window.said").splitlines()[0].split("\t")[:3] == ["class", "need", "mean wait"]
    assert browser.run("document.querySelector('.table .tool').textContent") == "Copied"
    browser.run(
        "[...document.querySelectorAll('pre.command')].at(-1).previousElementSibling.querySelector('.tool').click()"
    )
    browser.settle()
    assert browser.run("window.said").startswith("loynes evaluate model.toml --load 0.7")


def test_wide_tables_say_so_on_phones(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["evaluation"], 390)
    hint = "getComputedStyle(document.querySelector('.table'), '::before').display"
    assert browser.run(hint) == "block"
    browser.run("document.querySelector('.scroll').scrollLeft = 10000")
    browser.settle()
    assert browser.run(hint) == "none"
    browser.open(pages["check"], 1400)
    assert browser.run(hint) == "none"


def test_print(browser: Browser, pages: dict[str, Path]) -> None:
    """On paper: light, without buttons, with what is chosen, and with everything that was folded up."""
    browser.open(pages["policies"], scheme="dark")
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.call("Emulation.setEmulatedMedia", media="print", features=dark)
    shown = "getComputedStyle(document.querySelector('{}')).display"
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for what in (".tools", "#theme", ".switch"):
        assert browser.run(shown.format(what)) == "none"
    assert browser.run(shown.format(".choice")) != "none"
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.run("document.querySelectorAll('details:not([open])').length") == 0
    browser.call("Emulation.setEmulatedMedia", media="", features=[])
    pdf = browser.call("Page.printToPDF")["data"]
    assert len(pdf) > 50_000


def test_a_table_sorts(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["evaluation"])
    names = "[...document.querySelectorAll('table')][0].querySelectorAll('tbody th')"
    order = f"[...{names}].map((cell) => cell.textContent)"
    assert browser.run(order) == ["all jobs", "T1", "T2", "T5"]
    head = "document.querySelector('thead th:nth-child(3)')"
    browser.run(f"{head}.querySelector('button').focus()")
    browser.press("Enter")
    assert browser.run(f"{head}.getAttribute('aria-sort')") == "ascending"
    browser.run(f"{head}.querySelector('button').click()")
    assert browser.run(f"{head}.getAttribute('aria-sort')") == "descending"
    assert browser.run(order) == ["all jobs", "T5", "T2", "T1"]
    browser.run("document.querySelector('thead th button').click()")
    assert browser.run(order) == ["all jobs", "T1", "T2", "T5"]
    assert browser.run("getComputedStyle(document.querySelector('td.number')).textAlign") == "right"


def test_missing_numbers_sort_last(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["sweep"])
    head = "document.querySelector('thead th:nth-child(3) button')"
    last = "[...document.querySelectorAll('tbody tr')].at(-1).cells[0].textContent"
    for _ in range(2):
        browser.run(f"{head}.click()")
        assert browser.run(last) == "1.1"


def test_light_and_dark(browser: Browser, pages: dict[str, Path]) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.open(pages["evaluation"], scheme="light")
    light = browser.run(paper)
    browser.scheme("dark")
    browser.settle()
    dark = browser.run(paper)
    assert light != dark
    assert browser.run("document.getElementById('theme').textContent") == "Light"
    browser.run("document.getElementById('theme').click()")
    assert browser.run(paper) == light
    assert browser.run("document.getElementById('theme').textContent") == "Dark"
    browser.run("document.getElementById('theme').click()")
    assert browser.run(paper) == dark
    browser.run("localStorage.clear()")


CONTRAST = """(() => {
  const part = (c) => c.match(/[\\d.]+/g).slice(0, 3).map(Number).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const light = (c) => part(c).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => { for (let n = node; n; n = n.parentElement) {
    const c = getComputedStyle(n).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } };
  return Math.min(...[...document.querySelectorAll('p, dt, dd, li, td, th, button, summary, pre, svg text')]
    .filter((n) => n.textContent.trim() && n.getClientRects().length && !n.closest('.tip'))
    .map((n) => {
      const own = getComputedStyle(n);
      const [a, b] = [light(n.closest('svg') ? own.fill : own.color), light(behind(n))].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    }));
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["sweep", "plan", "replay", "policies", "check"])
def test_text_can_be_read(browser: Browser, pages: dict[str, Path], name: str, scheme: str) -> None:
    """WCAG's contrast for text of normal size."""
    browser.open(pages[name], scheme=scheme)
    assert browser.run(CONTRAST) >= 4.5


@pytest.mark.parametrize("name", ["evil", "evil sweep"])
def test_names_run_nothing(browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.open(pages[name])
    assert EVIL in browser.run("[...document.querySelectorAll('.chip')].map((c) => c.textContent).join(' ')")
    assert browser.run("document.scripts.length") == 2
    assert browser.run("document.images.length") == 0
    browser.run("document.querySelector('svg[role=img]').focus()")
    for _ in range(6):
        browser.press("ArrowRight")
    assert browser.problems == []
    # Even a script that got in would not be run.
    browser.run(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
    )
    assert browser.run("window.ran") is None
