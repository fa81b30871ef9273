"""The live page in real browsers: what it shows is what the command line answers, whatever is done to it."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path

import pytest

import loynes
from explore.live import EVIL, MODEL, TEXT, Page, Served, answer, mean
from loynes.results.table import shown

ANSWERED = "document.querySelector('#trust').dataset"


def shows_the_command_lines_numbers(page: Page, rate: float) -> None:
    """Threshold and waits of every class, with the precision that the page comes to in the end."""
    page.wait(f"{ANSWERED}.precision === '0.01'")
    page.settled()
    threshold = page.run("document.querySelector('#threshold').innerText")
    assert threshold.startswith(f"Threshold {shown(loynes.stability(MODEL).threshold)}: ")
    assert page.answered("certified") == (mean(rate), 0.01)
    for name, of_class in answer(rate).classes.items():
        assert page.cell(name, 2) == shown(of_class.wait.mean)
        assert page.cell(name, 3) == shown(of_class.wait.p95)
    command = f"loynes evaluate model.toml --rate {rate} --time 120"
    assert page.run("document.querySelector('#same').textContent") == command


def test_numbers_are_the_command_lines(pages: Page, served: Served) -> None:
    page = pages
    text, precision = page.answered("certified")
    assert text == mean(1.0, precision)
    assert EVIL in page.run(TEXT)  # markup in a name is text
    # A slider that is dragged: the last change is the one that is answered, and its command is shown.
    page.run("""(async () => {
        const slider = document.querySelector("input[type=range]");
        for (let k = 0; k < 20; k++) {
            slider.value = 200 + 5 * k;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            slider.dispatchEvent(new Event("change", { bubbles: true }));
            await new Promise((done) => setTimeout(done, 20));
        }
    })()""")
    rate = float(page.run("document.querySelector('#rate').value"))
    assert rate != 1.0
    assert page.run("[...document.querySelectorAll('#undo:disabled')].length") == 0
    page.click("#undo")  # a drag is one change
    assert page.run("document.querySelector('#rate').value") == "1"
    assert page.run("document.querySelector('#undo').disabled")
    page.click("#redo")
    page.wait(f"document.querySelector('#same').textContent.includes('--rate {rate} ')")
    shows_the_command_lines_numbers(page, rate)
    # The address holds the state.
    page.browser.reload()
    page.wait("document.querySelector('#waits tbody tr')")
    text, precision = page.answered("certified")
    assert text == mean(rate, precision)
    assert float(page.run("document.querySelector('#rate').value")) == rate
    assert page.browser.problems == []
    base = served.address.rsplit("/", 1)[0]
    assert all(asked.startswith((base, "data:", "about:", "blob:")) for asked in page.browser.requests)


def test_had_a_script_failed_it_would_have_been_seen(pages: Page) -> None:
    pages.run("new Promise((done) => { setTimeout(() => { done(); throw new Error('on purpose'); }); })")
    until = time.monotonic() + 10
    while not any("on purpose" in problem for problem in pages.browser.problems):
        assert time.monotonic() < until
        pages.run("1")
        time.sleep(0.05)


def test_bounds_come_first_and_every_digit_says_whether_it_is_sure(page: Page) -> None:
    page.run("""(() => { window.seen = [];
        new MutationObserver(() => {
            const now = document.querySelector('#trust').dataset.standing;
            if (window.seen.at(-1) !== now) window.seen.push(now);
        }).observe(document.querySelector('#trust'), { attributes: true }); })()""")
    page.choose("rate", 1.5)
    page.wait(f"{ANSWERED}.standing === 'certified' && {ANSWERED}.precision === '0.01'")
    page.settled()
    assert page.run("window.seen")[-2:] == ["at least", "certified"]
    certain = """async (cases) => {
        const { certain } = await import(new URL("assets/digits.js", location.href));
        return cases.map(([text, low, high]) => text.slice(0, certain(text, low, high)));
    }"""
    cases = [["3.664", 3.565, 3.763], ["20.00", 19.99, 20.01], ["0.4618", 0.4598, 0.4638], ["123.4", 50, 200],
             ["7", 7, 7], ["-1.25", -1.26, -1.24], ["0.10", 0.10, 0.105]]  # fmt: skip
    assert page.run(f"({certain})({json.dumps(cases)})") == ["3", "20.0", "0.46", "", "7", "-1.2", "0.10"]
    ticks = """async () => (await import(new URL("assets/charts.js", location.href))).ticksTo"""
    assert page.run(f"({ticks})().then((of) => of(62.8))") == [0, 20, 40, 60]
    assert page.run(f"({ticks})().then((of) => of(1.02))") == [0, 0.25, 0.5, 0.75, 1]
    sure = page.run("document.querySelector('#waits tbody td .sure').innerText")
    assert page.cell("all jobs", 2).startswith(sure)


def test_exact_where_the_chain_is_small(pages: Page) -> None:
    page = pages
    page.set(f"Service law of {EVIL}", "exponential")
    page.wait(f"{ANSWERED}.standing === 'exact'")
    classes = [MODEL["classes"][0] | {"service": {"law": "exponential", "mean": 1.0}}, MODEL["classes"][1]]
    answer = loynes.exact(MODEL | {"classes": classes}, rate=1.0)
    assert answer.overall is not None
    assert page.cell("all jobs", 2) == f"{answer.overall.mean:.6g}"
    assert page.run("document.querySelectorAll('#waits tbody .unsure').length") == 0
    page.settled()
    assert "loynes exact model.toml --rate 1.0" in page.run("document.querySelector('#same').textContent")


def test_edits_are_undone_and_redone(pages: Page) -> None:
    page = pages
    page.set("Need of wide", 4)
    page.set(f"Share of {EVIL}", 0.5)
    page.wait("document.querySelector('[aria-label=\"Share of wide\"]').value === '0.5'")
    page.click("#undo")
    page.wait("document.querySelector('[aria-label=\"Share of wide\"]').value === '0.25'")
    page.run("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'z', ctrlKey: true, bubbles: true }))")
    page.wait("document.querySelector('[aria-label=\"Need of wide\"]').value === '6'")
    assert page.run("document.querySelector('#undo').disabled")
    again = "{ key: 'Z', ctrlKey: true, shiftKey: true, bubbles: true }"
    page.run(f"document.dispatchEvent(new KeyboardEvent('keydown', {again}))")
    page.wait("document.querySelector('[aria-label=\"Need of wide\"]').value === '4'")
    # What cannot be is said where it was written, and undone.
    page.set("Need of wide", 9)
    page.wait("!document.querySelector('#problem').hidden")
    assert "wide" in page.run("document.querySelector('#problem').innerText")
    assert page.run("document.querySelector('[aria-invalid]').value") == "9"
    page.click("#undo")
    page.wait("document.querySelector('#problem').hidden && !document.querySelector('[aria-invalid]')")
    page.click("#add")
    page.wait("document.querySelectorAll('#classes tbody tr').length === 3")
    page.click('[aria-label="Remove class-3"]')
    page.wait("document.querySelectorAll('#classes tbody tr').length === 2")
    assert page.value("Share of wide") == "0.25"
    # What Chromium says of a state that was refused; nothing else went wrong.
    refused = "Failed to load resource: the server responded with a status of 400 (Bad Request)"
    assert set(page.browser.problems) <= {refused}


def test_a_pinned_state_is_compared_on_the_same_jobs(pages: Page) -> None:
    page = pages
    page.click("#pin")
    page.choose("rate", 1.2)
    page.wait(f"{ANSWERED}.precision === '0.01'")
    page.wait("document.querySelector('#how').innerText.includes('on the same jobs')")
    before, after = loynes.load(MODEL).with_rate(1.0), loynes.load(MODEL).with_rate(1.2)
    expected = shown(loynes.compare(before, after, precision=0.05).overall.wait["mean"])
    assert page.cell("all jobs", 5) == f"+{expected}"
    assert page.browser.problems == []
    page.click("#unpin")
    page.wait("getComputedStyle(document.querySelector('#waits tbody tr').cells[5]).display === 'none'")


def test_policies_and_what_ifs(pages: Page) -> None:
    page = pages
    page.choose("policy", "easy")
    text, precision = page.answered("estimate")
    assert text == mean(1.0, precision, "easy")
    page.choose("policy", "fcfs")
    page.click("#what_if")
    page.wait("document.querySelectorAll('#ifs li').length === 4")
    texts = page.run("[...document.querySelectorAll('#ifs b')].map((one) => one.innerText)")
    assert texts == ["one server more", "without wide", "wide half as long", "needs of at most 1"]
    more = loynes.evaluate(MODEL | {"servers": 9}, rate=1.0, precision=0.05).overall.wait.mean
    assert shown(more) in page.run("document.querySelector('#ifs li').innerText")
    page.choose("of", EVIL)
    page.wait(f"document.querySelectorAll('#ifs b')[1]?.innerText === {json.dumps(f'without {EVIL}')}")
    page.click('[aria-label="Use: one server more"]')
    page.wait("document.querySelector('#servers').value === '9'")
    page.click("#what_if")
    page.click("#policies")
    page.wait("document.querySelectorAll('#orders li').length >= 2")
    page.click('#orders [aria-label="Use: easy"]')
    assert page.run("document.querySelector('#policy').value") == "easy"
    page.click("#policies")


def test_exports_are_what_they_say_and_models_come_back_by_a_drop(pages: Page) -> None:
    page = pages
    page.choose("rate", 0.75)
    for form in ("toml", "command", "python"):
        page.run("document.querySelector('#out').textContent = ''")
        page.click(f"[data-form={form}]")
        page.wait("document.querySelector('#out').textContent")
        text = page.run("document.querySelector('#out').textContent")
        if form == "toml":
            toml = text
            assert loynes.load(tomllib.loads(text)).rate == 0.75
        elif form == "command":
            assert text == "loynes evaluate model.toml --rate 0.75"
        else:
            assert "loynes.evaluate(model, rate=0.75" in text
    page.run("URL.createObjectURL = (blob) => { blob.text().then((text) => { window.kept = text; }); return '#'; }")
    page.click("[data-form=report]")
    page.wait("window.kept")
    report = page.run("window.kept")
    assert report.startswith("<!doctype html>")
    assert mean(0.75) in report
    page.choose("rate", 1.1)
    page.drop("model.toml", toml)
    page.wait("document.querySelector('#rate').value === '0.75'")
    page.drop("spoilt.toml", "servers = [")
    page.wait("document.querySelector('#problem').innerText.startsWith('spoilt.toml: ')")
    page.click("#undo")
    page.wait("document.querySelector('#rate').value === '1.1'")


def test_resources_and_nodes_are_edited(pages: Page) -> None:
    page = pages
    page.drop("mix.json", json.dumps(loynes.load("cpu-gpu-mix").to_dict()))
    page.wait("document.querySelector('[aria-label=\"gpu of the cluster\"]')")
    page.set("gpu of the cluster", 20)
    page.shows("cpu-gpu-mix: 256 cpu, 20 gpu")
    page.set("Need of training: gpu", 5)
    page.wait("document.querySelector('[aria-label=\"Need of training: gpu\"]').value === '5'")
    page.drop("nodes.toml", (Path(__file__).parents[2] / "examples" / "shared-nodes.toml").read_text())
    page.set_when("Count of gpu nodes", 9)
    page.shows("1088 cpu, 72 gpu")
    drawn = "[...document.querySelector('#floor').getContext('2d').getImageData(0, 0, 900, 260).data].some(Boolean)"
    assert page.run(drawn)
    page.set("memory of each gpu node", "256 GB")
    page.shows("3328 GB memory")
    assert page.run("!document.querySelector('#pooled').hidden")
    page.set("Tasks of training", 3)
    page.wait("document.querySelector('[aria-label=\"Tasks of training\"]').value === '3'")
    assert page.run("document.querySelector('#problem').hidden")


@pytest.mark.parametrize("width", [390, 1200])
def test_narrow_and_wide_light_and_dark(page: Page, width: int) -> None:
    page.settled()
    page.browser.resize(width)
    try:
        assert page.run("document.documentElement.scrollWidth") <= width
        colours = []
        for scheme in ("light", "dark"):
            page.browser.scheme(scheme)
            colours.append(page.run("getComputedStyle(document.body).backgroundColor"))
        assert colours == ["rgb(251, 250, 248)", "rgb(21, 24, 28)"]
        page.click("#theme")
        assert page.run("getComputedStyle(document.body).backgroundColor") == colours[0]
    finally:
        page.browser.scheme("light")
        page.browser.resize(1200)


# Of every text that is seen, what it stands out by from what is behind it; what is off or being computed again is left
# out. Of fields the same of their edges.
CONTRASTS = """(() => {
    const parsed = (text) => {
        const numbers = text.match(/[\\d.]+/g).map(Number);
        const scale = text.startsWith("color(") ? 255 : 1;
        return [...numbers.slice(0, 3).map((one) => one * scale), numbers[3] ?? 1];
    };
    const over = ([r, g, b, a], under) => [r, g, b].map((one, k) => a * one + (1 - a) * under[k]);
    const behind = (one) => {
        if (!one) return [255, 255, 255];
        const own = parsed(getComputedStyle(one).backgroundColor);
        return own[3] === 1 ? own.slice(0, 3) : over(own, behind(one.parentElement));
    };
    const line = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const light = (rgb) => rgb.map((one) => line(one / 255))
        .reduce((sum, one, k) => sum + one * [0.2126, 0.7152, 0.0722][k], 0);
    const ratio = (a, b) => {
        const [x, y] = [light(a), light(b)];
        return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    };
    const seen = (one) => one.checkVisibility() && !one.closest(":disabled, .old, .spoken, svg");
    const found = [];
    for (const one of document.querySelectorAll("body *")) {
        if (!seen(one)) continue;
        let faded = 1;
        for (let up = one; up; up = up.parentElement) faded *= Number(getComputedStyle(up).opacity);
        const style = getComputedStyle(one);
        const fades = (colour) => { const [r, g, b, a] = parsed(colour); return [r, g, b, a * faded]; };
        if ([...one.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) {
            found.push([ratio(over(fades(style.color), behind(one)), behind(one)) / 4.5, one.outerHTML.slice(0, 90)]);
        }
        if (one.matches("input:not([type=range]):not([type=checkbox]):not([type=file]), select")) {
            const edge = ratio(over(fades(style.borderTopColor), behind(one.parentElement)), behind(one.parentElement));
            found.push([edge / 3, one.outerHTML.slice(0, 90)]);
        }
    }
    return found.sort((a, b) => a[0] - b[0]);
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_fields_stand_out_from_what_is_behind_them(page: Page, scheme: str) -> None:
    """By at least 4.5 and 3, as WCAG 2.2 wants it (1.4.3, 1.4.11)."""
    page.answered("certified")
    page.settled()
    page.browser.scheme(scheme)
    try:
        found = page.run(CONTRASTS)
    finally:
        page.browser.scheme("light")
    assert len(found) > 60
    assert "unsure" in page.run("document.querySelector('#waits').innerHTML")
    assert [one for one in found if one[0] < 1] == []


def test_keys_and_screen_readers(pages: Page) -> None:
    page = pages
    page.answered("certified")
    nameless = page.run("""[...document.querySelectorAll("input, select, button, canvas, [role=img]")]
        .filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.length))
        .map((one) => one.outerHTML)""")
    assert nameless == []
    assert page.run("document.querySelector('#status').getAttribute('aria-live')") == "polite"
    assert page.run("document.querySelector('#problem').getAttribute('role')") == "alert"
    # What is read out of an answer is one sentence; that it is being computed is not.
    page.wait("/^Mean wait .*, certified\\.$/.test(document.querySelector('#spoken').textContent)")
    assert page.run("document.querySelector('#spoken').getAttribute('aria-live')") == "polite"
    page.run("""(() => { window.spoken = [];
        const place = document.querySelector('#spoken');
        new MutationObserver(() => window.spoken.push(place.textContent)).observe(place, { childList: true }); })()""")
    before = float(page.run("document.querySelector('#rate').value"))
    page.run("document.querySelector('#slide').focus()")
    page.browser.press("ArrowRight")
    page.wait(f"Number(document.querySelector('#rate').value) > {before}")
    assert page.run("document.activeElement.id") == "slide"
    # A field that is edited keeps the focus while answers come.
    page.run("document.querySelector('[aria-label=\"Need of wide\"]').focus()")
    page.choose("rate", 1.3)
    page.wait("document.querySelector('#same').textContent.includes('--rate 1.3 ')")
    assert page.run("document.activeElement.getAttribute('aria-label')") == "Need of wide"
    page.settled()
    assert 1 <= page.run("window.spoken.length") <= 2  # of two changes
    # A class that goes takes its button with it; the focus stays near.
    page.click("#add")
    page.wait("document.querySelector('[aria-label=\"Remove class-3\"]')")
    page.run(
        "(() => { const one = document.querySelector('[aria-label=\"Remove class-3\"]'); one.focus(); one.click(); })()"
    )
    page.wait("document.activeElement.id === 'add'")
    page.run("document.querySelector('#play').click()")
    first = page.run("document.querySelector('#floor').toDataURL()")
    page.wait(f"document.querySelector('#floor').toDataURL() !== {json.dumps(first)}")
    assert page.run("document.querySelector('#play').getAttribute('aria-pressed')") == "true"
    assert page.browser.problems == []
