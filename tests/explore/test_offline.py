"""A page by itself in a real browser: its kernel is the reference bit for bit, its numbers are the command line's."""

from __future__ import annotations

import base64
import json
import math
import shlex
import time
from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import loynes
from browser import CHROMIUM, Browser
from firefox import Firefox
from loynes.cli.app import app
from loynes.errors import ModelError, TimeUpError, UsageError
from loynes.estimate import Estimate, mean_of, student
from loynes.execution.deadline import Deadline
from loynes.explore import offline, offline_known
from loynes.explore.offline_known import CHECKED, first_jobs, known_of, packed
from loynes.explore.offline_table import table_data
from loynes.inputs.jobs import draw
from loynes.inputs.philox import STREAM_PILE
from loynes.inputs.tables import job_table
from loynes.kernels import reference
from loynes.model import Model, load
from loynes.questions.asking.question import Question
from loynes.questions.stability import Stability
from loynes.results.base import Result
from loynes.threshold.controls import regressed_mean
from support import LAWS

in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on PATH")
EVIL = "<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>"
ONE = {"law": "exponential", "mean": 1.0}
MMPP = {"process": "mmpp", "generator": [[-1.0, 1.0], [0.5, -0.5]], "rates": [3.0, 0.2]}
PROCESSES: dict[str, dict[str, Any]] = {
    "renewal": {"process": "renewal", "gap": LAWS["lognormal"]},
    "trace": {"process": "trace", "gaps": [0.1, 2.0, 0.3, 0.0, 1.7]},
    "mmpp": MMPP,
    "map": {"process": "map", "d0": [[-3.0, 1.0], [0.2, -1.0]], "d1": [[1.5, 0.5], [0.3, 0.5]]},
    "batch": {"process": "batch", "size": {"law": "exponential", "mean": 3.0}},
    "batch of gaps": {"process": "batch", "size": {"law": "uniform", "low": 0.5, "high": 4.0},
                      "of": {"process": "renewal", "gap": LAWS["weibull"]}},
    "batch of mmpp": {"process": "batch", "size": {"law": "deterministic", "value": 4.0}, "of": MMPP},
}  # fmt: skip


def two(first: dict[str, Any] = ONE, second: dict[str, Any] = ONE, **more: Any) -> Model:
    """Eight servers, jobs of one and of six."""
    classes = [
        {"name": EVIL[0], "need": 1, "probability": 0.75, "service": first},
        {"name": EVIL[1], "need": 6, "probability": 0.25, "service": second},
    ]
    return load({"name": "mine", "servers": 8, "classes": classes} | more)


def kinds(discipline: str) -> Model:
    """Two kinds of servers; jobs of one class insist on some."""
    classes = [
        {"need": {"cpu": 4, "gpu": 0}, "probability": 0.5, "service": ONE},
        {"need": {"cpu": 3, "gpu": 2}, "specific": {"cpu": 5}, "probability": 0.5, "service": LAWS["lognormal"]},
    ]
    return load({"resources": {"cpu": 16, "gpu": 4}, "classes": classes, "discipline": discipline})


BUILT_IN = ("five-class-exponential", "one-or-all", "five-class-pareto", "cpu-gpu-mix")
MODELS: dict[str, Model] = (
    {name: load(name) for name in BUILT_IN}
    | {f"law: {name}": two(law, LAWS["hyperexponential"]) for name, law in LAWS.items()}
    | {f"arrivals: {name}": two(arrivals=process) for name, process in PROCESSES.items()}
    | {f"kinds: {name}": kinds(name) for name in ("fcfs", "reserving", "random")}
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def known() -> offline_known.Known:
    """Two certified points, known to a tenth, and the model's own rate."""
    return known_of(two(arrivals={"rate": 1.0}), loads=(0.3, 0.6), precision=0.1)


@pytest.fixture(scope="module")
def file(known: offline_known.Known, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its page, whose workers end after two seconds."""
    path = tmp_path_factory.mktemp("pages") / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offline_known, "SECONDS", 2.0)
        path.write_text(offline.page(known), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, file: Path) -> Iterator[Browser]:
    """The page, which is left afterwards, so that its workers end."""
    browser.open(file, 1200)
    yield browser
    browser.call("Page.navigate", url="about:blank")


@pytest.fixture
def kernel(browser: Browser, file: Path) -> Browser:
    """A page that holds the kernel; it may be open already."""
    if browser.run("location.href") != file.as_uri():
        browser.open(file)
    return browser


# A worker as the page's own, from the kernel that the page holds. Doubles come back by their bytes.
ASK = """(async (table, known, question) => {
    const kernel = document.getElementById("kernel").textContent;
    const worker = new Worker(URL.createObjectURL(new Blob([kernel])));
    const enough = (data) => data.kind === "trace" || data.ended || data.jobs > question.enough;
    const answer = await new Promise((done, failed) => {
        worker.onerror = (event) => failed(new Error(event.message));
        worker.onmessage = ({ data }) => enough(data) && done(data);
        worker.postMessage({ kind: "model", table, known });
        worker.postMessage(question);
    });
    worker.terminate();
    const digits = (byte) => byte.toString(16).padStart(2, "0");
    const hex = (values) => Array.from(new Uint8Array(Float64Array.from(values).buffer), digits).join("");
    // By name: where a browser is driven from outside, arrays of the page are of another world than the script's.
    const doubles = (value) => Object.prototype.toString.call(value) === "[object Float64Array]";
    const plain = (key, value) => (key === "base" ? hex([value]) : doubles(value) ? hex(value) : value);
    return JSON.parse(JSON.stringify(answer, plain));
})"""


def ask(browser: Browser | Firefox, model: Model, **question: Any) -> Any:
    facts = {
        "seed": 1, "confidence": 0.99, "precision": {"threshold": 1e-9, "waits": 1e-9}, "seconds": 60,
        "factors": [0.0, 0.0] + [student(0.99, count) for count in range(2, 65)],
    }  # fmt: skip
    given = ", ".join(json.dumps(one) for one in (table_data(model), facts, question))
    return browser.run(f"{ASK}({given})")


def hexed(text: str) -> str:
    return base64.b64decode(text).hex()


@in_browser
@pytest.mark.parametrize("name", MODELS)
def test_bits(kernel: Browser, name: str) -> None:
    """Waits of the first jobs and the workload after them, and piles of as many, as kernels/reference.py has them."""
    # A big job of one-or-all is one in a thousand.
    model, seed, replica, blocks = MODELS[name], 2**53 - 12345, 7, 60 if name == "one-or-all" else 10
    expected = first_jobs(model, blocks, seed, replica)
    trace = {"kind": "trace", "number": 1, "seed": seed, "replica": replica, "blocks": blocks}
    got = ask(kernel, model, change={"rate": expected["rate"]}, **trace)
    assert got["waits"] == hexed(expected["waits"])
    assert got["workload"] == hexed(expected["workload"])
    assert any(np.frombuffer(bytes.fromhex(got["waits"])))  # somebody waited
    table = job_table(model, None)
    if table.plain:
        base, heights = 0.0, np.zeros(model.servers)
        for block in range(blocks):
            jobs = draw(table, seed, STREAM_PILE, replica, np.arange(64 * block, 64 * block + 64))
            heights, base = reference.pile_block(heights, base, jobs.need, jobs.service)
        piled = ask(kernel, model, change={}, saturated=True, **trace)
        assert piled["base"] == hexed(packed([base]))
        assert piled["workload"] == hexed(packed(heights))


@in_browser
def test_bits_of_a_changed_model(kernel: Browser) -> None:
    """Servers, needs and shares that are changed on the page are those of the changed model, bit for bit; means, which
    are changed by a factor, to rounding."""
    shares, means = [0.1, 0.6, 0.3], [2.0, 0.5, 0.7]
    laws = [LAWS["gamma"], LAWS["bounded_pareto"], LAWS["exponential"]]
    was = [{"need": 1 + 2 * k, "probability": 1 / 3, "service": law} for k, law in enumerate(laws)]
    now = [one | {"need": 2 + k, "probability": p} for k, (one, p) in enumerate(zip(was, shares, strict=True))]
    model, changed = load({"servers": 8, "classes": was}), load({"servers": 11, "classes": now})
    expected = first_jobs(changed, 10, 3, 2)
    change = {"rate": expected["rate"], "units": [11], "demand": [[2], [3], [4]], "shares": shares}
    trace = {"kind": "trace", "number": 1, "seed": 3, "replica": 2, "blocks": 10}
    got = ask(kernel, model, change=change, **trace)
    assert got["waits"] == hexed(expected["waits"])
    assert got["workload"] == hexed(expected["workload"])
    scaled = [{"law": "gamma", "shape": 0.4, "mean": means[0]}, laws[1], {"law": "exponential", "mean": means[2]}]
    longer = load({"servers": 11, "classes": [one | {"service": law} for one, law in zip(now, scaled, strict=True)]})
    expected = first_jobs(longer, 10, 3, 2)
    scales = [mean / one.service.mean for mean, one in zip(means, model.classes, strict=True)]
    scales[1] = 1.0
    got = ask(kernel, model, change=change | {"rate": expected["rate"], "scales": scales}, **trace)
    waits = np.frombuffer(base64.b64decode(expected["waits"]))
    np.testing.assert_allclose(np.frombuffer(bytes.fromhex(got["waits"])), waits, rtol=1e-10, atol=1e-10)


def near(value: list[float], exact: float, width: float) -> None:
    """Within two half-widths of an interval of 99%, more than five standard errors: by chance once in a million."""
    half = 0.5 * (value[2] - value[1])
    assert abs(value[0] - exact) <= 2.0 * half, (value, exact)
    assert half <= width * exact, (value, exact)


@in_browser
def test_estimates_of_a_queue_with_answers(kernel: Browser) -> None:
    """M/M/1 at load 1/2: mean wait 1, half the jobs do not wait, P(wait > x) = exp(-x / 2) / 2, threshold 1."""
    model = load({"servers": 1, "classes": [{"need": 1, "probability": 1.0, "service": ONE}]})
    got = ask(kernel, model, kind="waits", number=1, change={"rate": 0.5}, skip=500, enough=1_000_000)
    assert got["skipped"] == 512
    for row in got["rows"]:
        near(row["mean"], 1.0, 0.05)
        near(row["noWait"], 0.5, 0.02)
        near(row["p95"], 2.0 * math.log(10.0), 0.06)
        for x, *chance in row["tail"][:: len(row["tail"]) // 6]:
            if x < 8.0:
                near(chance, 0.5 * math.exp(-x / 2.0), 0.3)
    near([1.0 + got["loss"][0][0], 1.0 + got["loss"][0][1] - 1e-9, 1.0 + got["loss"][0][2] + 1e-9], 1.0, 1e-6)


@in_browser
def test_estimates_where_jobs_block(kernel: Browser) -> None:
    """Waits by class, servers lost and the threshold, all of which are known exactly."""
    model = two(arrivals={"rate": 1.0})
    exact = loynes.exact(model)
    assert exact.overall is not None
    assert exact.hol_loss is not None
    got = ask(kernel, model, kind="waits", number=1, change={"rate": 1.0}, skip=2000, enough=1_000_000)
    for row, wait in zip(got["rows"], [exact.overall, *exact.classes.values()], strict=True):
        near(row["mean"], wait.mean, 0.1)
        near(row["noWait"], wait.no_wait, 0.03)
        near(row["p95"], wait.percentiles["p95"], 0.1)
    near(got["loss"][0], exact.hol_loss, 0.1)
    piled = ask(kernel, model, kind="threshold", number=1, change={}, enough=700_000)
    middle, low, high = piled["bracket"]
    assert low < exact.threshold < high
    assert high - low < 0.02 * exact.threshold
    assert abs(middle - exact.threshold) < high - low


def evaluated(browser: Browser, script: str, call: str, *given: Any) -> Any:
    """What a function of one of the page's scripts answers, called by itself."""
    source = files("loynes.explore").joinpath("assets", "offline", script).read_text()
    return browser.run(f"(() => {{ {source}\nreturn {call}(...{json.dumps(given)}); }})()")


@in_browser
def test_intervals_are_those_of_the_library(kernel: Browser) -> None:
    """Means with their intervals, also of skewed values; regressions on controls, some of which say nothing new."""
    draws = np.random.default_rng(1)
    for values in (draws.normal(5.0, 2.0, 32), draws.exponential(1.0, 32) ** 2, draws.normal(0.0, 1.0, 8), np.ones(32)):
        expected = mean_of(values, 0.99)
        got = evaluated(kernel, "estimates.js", "meanOf", values.tolist(), student(0.99, len(values)))
        np.testing.assert_allclose(got, [expected.estimate, expected.low, expected.high], rtol=1e-10, atol=1e-12)
    controls = draws.normal(0.3, 1.0, (48, 5))
    controls[:, 3] = controls[:, 0] - 2.0 * controls[:, 1]
    controls[:, 4] = 0.7
    values = 4.0 + controls @ draws.normal(0.0, 1.0, 5) + draws.normal(0.0, 0.1, 48)
    expected = regressed_mean(values, controls, 0.99).estimate
    factors = [0.0, 0.0] + [student(0.99, count) for count in range(2, 50)]
    got = evaluated(kernel, "estimates.js", "regressed", values.tolist(), controls.T.tolist(), factors)
    np.testing.assert_allclose(got, [expected.estimate, expected.low, expected.high], rtol=1e-9)


@in_browser
def test_estimates_are_written_as_in_tables(kernel: Browser) -> None:
    draws = np.random.default_rng(2)
    for _ in range(100):
        centre, width = 10.0 ** draws.uniform(-6, 12), 10.0 ** draws.uniform(-4, -0.3)
        low, high = (centre * (1.0 + side * width * draws.uniform(0.3, 1.0)) for side in (-1.0, 1.0))
        written = evaluated(kernel, "text.js", "estimateText", [centre, low, high])
        assert written == str(Estimate(centre, low, high))
    assert evaluated(kernel, "text.js", "estimateText", [0.25, 0.25, 0.25]) == "0.25"


def text(browser: Browser, place: str) -> str:
    return str(browser.run(f"document.querySelector({json.dumps(place)}).innerText"))


def wait_for(browser: Browser | Firefox, script: str) -> None:
    until = time.monotonic() + 20
    while not browser.run(script):
        assert time.monotonic() < until, (script, browser.problems)
        time.sleep(0.05)


# An estimate of the present state is shown.
WAITED = "/estimate/.test(document.querySelector('#standing').innerText) && !document.querySelector('#waits.old')"
MEAN = "document.querySelector('#waits tbody tr td:nth-child(3)').innerText"


@in_browser
def test_a_page_from_a_file_asks_for_nothing_and_fits(browser: Browser, file: Path) -> None:
    for width, scheme in ((1200, "light"), (360, "dark")):
        browser.open(file, width, scheme=scheme)
        wait_for(browser, WAITED)
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.problems == []
        assert browser.requests[0] == file.as_uri()
        assert all(asked.startswith("blob:") for asked in browser.requests[1:])
    assert "bit for bit" in text(browser, "#checked")
    assert EVIL[0] in text(browser, "#waits")  # markup in names is text
    assert EVIL[1] in text(browser, "#waits")
    browser.call("Page.navigate", url="about:blank")


def test_in_firefox_it_asks_for_nothing_either_and_every_job_is_the_same(firefox: Firefox, file: Path) -> None:
    firefox.open(file)
    assert "bit for bit" in firefox.run("document.querySelector('#checked').textContent")
    for name, model in MODELS.items():
        expected = first_jobs(model, CHECKED, 5, 3)
        trace = {"kind": "trace", "number": 1, "seed": 5, "replica": 3, "blocks": CHECKED}
        got = ask(firefox, model, change={"rate": expected["rate"]}, **trace)
        assert [got["waits"], got["workload"]] == [hexed(expected[part]) for part in ("waits", "workload")], name
    wait_for(firefox, WAITED)
    assert firefox.problems == []
    assert all(asked.startswith(("file:", "blob:")) for asked in firefox.requests)
    firefox.go("about:blank")


@in_browser
def test_certified_points_are_the_command_lines(opened: Browser, known: offline_known.Known) -> None:
    sweep = loynes.sweep(known.model, loads=(0.3, 0.6), precision=0.1, progress=None)
    own = loynes.evaluate(known.model, precision=0.1, progress=None)
    assert "--load 0.3 --precision 0.1\n" in opened.run("document.querySelector('#asked').textContent")
    assert str(loynes.stability(known.model, progress=None).threshold) in text(opened, "#threshold")
    for result in [*(point.result for point in sweep.points), own]:
        assert result is not None
        assert result.standing == "certified"
        mean, p95 = str(result.overall.wait.mean), str(result.overall.wait.p95)
        assert f"{mean}\t{p95}\t{result.overall.no_wait}\tcertified" in text(opened, "#known")
        opened.run(f"document.querySelector('[data-rate=\"{f'{result.rate:.17g}'}\"]').click()")
        wait_for(opened, WAITED)
        assert text(opened, "#waits tbody tr").endswith(f"{mean}\t{p95}")
        assert _overlaps(opened.run(MEAN), result.overall.wait.mean)


def _overlaps(shown: str, interval: Estimate) -> bool:
    """Whether an estimate on the page, written 1.23 ±0.04 or 1.23 [1.2, 1.3], meets an interval twice as wide."""
    middle, _, rest = shown.partition(" ")
    half = (
        float(rest[1:]) if rest.startswith("±") else max(abs(float(x) - float(middle)) for x in rest[1:-1].split(","))
    )
    return abs(float(middle) - interval.estimate) <= 2.0 * (half + interval.half_width)


@in_browser
def test_what_is_changed_is_an_estimate(opened: Browser, known: offline_known.Known) -> None:
    wait_for(opened, WAITED)
    before = opened.run(MEAN)
    assert opened.run("document.querySelectorAll('#waits .certified:not([hidden])').length") > 0
    set_to = """((place, value) => {
        const input = document.querySelector(place);
        input.focus();
        input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
        input.blur();
    })"""
    change = partial("{}({}, {})".format, set_to)
    opened.run(change(json.dumps("#rate-slide"), 700))
    wait_for(opened, WAITED)
    assert opened.run(MEAN) != before
    assert "started empty" in text(opened, "#how")
    assert opened.run("document.querySelectorAll('#waits .certified:not([hidden])').length") == 0
    rate = float(opened.run("document.querySelector('#rate').value"))
    assert f"--rate {rate}" in text(opened, "#command")
    # A larger cluster waits less; the command line that certifies it says how it was changed.
    smaller = opened.run(MEAN)
    opened.run(change(json.dumps("#units-0"), 12))
    wait_for(opened, WAITED)
    assert float(opened.run(MEAN).split()[0]) < float(smaller.split()[0])
    assert "--set 'servers=12'" in text(opened, "#command")
    opened.run(change(json.dumps("#rate"), 0.3))
    opened.run(change(json.dumps("[data-at='shares.0']"), 0.4))
    opened.run(change(json.dumps("[data-at='means.1']"), 2.5))
    wait_for(opened, WAITED)
    words = shlex.split(text(opened, "#command"))
    again = load(known.model, [words[k + 1] for k, word in enumerate(words) if word == "--set"])
    assert again.servers == 12
    assert [c.probability for c in again.classes] == pytest.approx([0.4, 0.6])
    assert [c.service.mean for c in again.classes] == [1.0, 2.5]
    # The address holds the state.
    kept = opened.run("location.href")
    opened.run("history.replaceState(null, '', '#')")
    opened.run(f"location.href = {json.dumps(kept)}")
    assert opened.run("document.querySelector('#units-0').value") == "12"
    # More jobs than it can take, and a cluster that is too small for a class.
    opened.run(change(json.dumps("#rate"), 1000))
    wait_for(opened, "/grows for ever/.test(document.querySelector('#how').innerText)")
    opened.run(change(json.dumps("#units-0"), 5))
    wait_for(opened, "!document.querySelector('#problem').hidden")
    assert "needs 6 servers, there are 5" in text(opened, "#problem")
    opened.run("document.querySelector('#back').click()")
    wait_for(opened, f"{WAITED} && document.querySelector('#problem').hidden")
    assert opened.problems == []


@in_browser
def test_a_browser_that_computes_otherwise_is_told_of(browser: Browser, file: Path, tmp_path: Path) -> None:
    page = file.read_text(encoding="utf-8")
    changed = page.replace(
        "const [MULTIPLIER_0, MULTIPLIER_1] = [0xd2511f53", "const [MULTIPLIER_0, MULTIPLIER_1] = [0xd2511f55"
    )
    assert changed != page
    (tmp_path / "changed.html").write_text(changed, encoding="utf-8")
    browser.open(tmp_path / "changed.html")
    assert "does not compute the same jobs" in text(browser, "#problem")
    browser.call("Page.navigate", url="about:blank")


def test_the_command_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline, "known_of", partial(known_of, loads=(0.5,), precision=0.3))
    target = tmp_path / "page.html"
    one = tmp_path / "one.toml"
    one.write_text(load({"servers": 1, "classes": [{"need": 1, "probability": 1.0, "service": ONE}]}).to_toml())
    done = CliRunner().invoke(app, ["explore", str(one), "--set", "servers=2", "-o", str(target)])
    assert done.exit_code == 0, done.output
    page = target.read_text(encoding="utf-8")
    assert '"units":[2]' in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page


def test_where_time_is_short_a_first_bracket_is_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = offline_known.ask

    def hurried(question: Question, **given: Any) -> Result:
        if not isinstance(question, Stability) or question.max_jobs is None:
            raise TimeUpError("time 1 s: was up before anything was known")
        return answered(question, **given)

    monkeypatch.setattr(offline_known, "ask", hurried)
    known = known_of(two(), loads=(0.5,))
    assert known.points[0].why.startswith("nothing was known after ")
    assert known.threshold.threshold.low <= loynes.exact(two()).threshold <= known.threshold.threshold.high
    assert "--max-jobs" in offline_known.known_data(known)["threshold"]["command"]
    late = Deadline(60.0)
    late.stop()
    with pytest.raises(TimeUpError):
        known_of(two(), loads=(), deadline=late)


def test_what_a_page_cannot_be_written_of(tmp_path: Path) -> None:
    cycle = {"process": "periodic", "cycle": 24.0, "rates": [0.5, 4.0]}
    classes = [{"need": 1, "service": ONE}, {"need": 2, "service": ONE}]
    turns = load({"servers": 2, "arrivals": MMPP | {"mix": [[1.0, 0.0], [0.2, 0.8]]}, "classes": classes})
    with pytest.raises(ModelError, match=r"process = 'periodic'"):
        offline.write(two(arrivals=cycle), tmp_path / "page.html")
    with pytest.raises(ModelError, match="classes that depend on them"):
        offline.write(turns, tmp_path / "page.html")
    with pytest.raises(UsageError, match=r"\.html"):
        offline.write(two(), tmp_path / "page.txt")
    nodes = {
        "name": "n",
        "nodes": [{"count": 2, "has": {"cpu": 4}}],
        "classes": [{"need": {"cpu": 1}, "probability": 1.0, "service": ONE}],
    }
    with pytest.raises(ModelError, match="nodes"):
        offline.write(load(nodes), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
