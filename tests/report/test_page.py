"""What a report says and that nothing in a result can break it; how it looks and behaves is tested in a browser."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shlex
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from loynes.cli.report import report
from typer import Typer
from typer.testing import CliRunner

from loynes.errors import LoynesError, UsageError
from loynes.estimate import Estimate
from loynes.model import Model, load
from loynes.report import page, page_of, write
from loynes.report.reproduce import asked_of
from loynes.report.words import about, between, duration, listed
from loynes.results.records import Evaluation
from report_data import (
    KINDS,
    comparison,
    estimate,
    evaluation,
    model,
    plan,
    policies,
    replay,
    simulation,
    sweep,
    threshold,
    without_ends,
    without_numbers,
)

EVIL = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><!--")


COMMANDS = {
    "evaluation": "evaluate",
    "threshold": "stability",
    "samples": "sample",
    "sweep": "sweep",
    "plan": "plan",
    "comparison": "compare",
    "replay": "replay",
    "simulation": "simulate",
    "policies": "compare model.toml --policies fcfs,easy",
}


class Reader(HTMLParser):
    """Texts, tags and the chart data of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]
        self.open = tag

    def handle_endtag(self, tag: str) -> None:
        self.open = ""

    def handle_data(self, data: str) -> None:
        {"script": self.scripts, "style": self.styles}.get(self.open, self.texts).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def charts(self) -> Any:
        return json.loads(self.scripts[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_every_kind(kind: str) -> None:
    data = KINDS[kind]()
    data["warnings"] = ["mind the gap"]
    read = Reader(page_of(data))
    assert "mind the gap" in read.text
    assert "How sure is this?" in read.text
    assert "loynes 0.1.0" in read.text
    assert f"loynes {COMMANDS[kind]}" in read.text
    assert len(read.scripts) == 2
    assert (len(read.charts) > 0) == (kind != "samples")
    assert read.tags.count("figure") == len(read.charts)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_fetched(kind: str) -> None:
    text = page_of(KINDS[kind]())
    assert not re.search(r"(src|href)=(?!\"data:)", text)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML|eval\(", text)
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) <= {"http://www.w3.org/2000/svg"}


def test_the_policy_lets_only_our_own_script_and_style_run() -> None:
    text = page_of(evaluation())
    read = Reader(text)
    for part in (read.scripts[1], read.styles[0]):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in text
    assert "unsafe" not in text
    assert "style" not in read.attributes
    assert not any(name.startswith("on") for name in read.attributes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EVIL)
def test_names_are_text(kind: str, name: str) -> None:
    """Every text of a result, keys included, replaced by HTML: the page has the same tags as without."""

    def poisoned(value: Any, plain: str) -> Any:
        if isinstance(value, dict):
            fixed = ("classes", "config", "skipped")
            return {
                key: {f"{plain}{k}": poisoned(v, plain) for k, v in inner.items()}
                if key in fixed and isinstance(inner, dict)
                else inner
                if key in ("command", "method", "law", "process")
                else poisoned(inner, plain)
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [poisoned(one, plain) for one in value]
        return f"{plain}{value}" if isinstance(value, str) else value

    ours, theirs = (Reader(page_of(poisoned(KINDS[kind](), plain))) for plain in ("x" * len(name), name))
    assert ours.tags == theirs.tags
    assert ours.attributes == theirs.attributes
    assert len(theirs.scripts) == 2
    assert ours.scripts[1] == theirs.scripts[1]
    assert name in theirs.text


def test_half_a_character() -> None:
    """JSON can hold half of a surrogate pair, UTF-8 cannot."""
    text = page_of(evaluation(("T1", "\ud800 & é")))
    assert "? & é" in Reader(text).text
    text.encode()


@pytest.mark.parametrize("kind", KINDS)
def test_null_leaves(kind: str) -> None:
    for data in (
        without_numbers(KINDS[kind]()),
        without_ends(KINDS[kind](), "high"),
        without_ends(KINDS[kind](), "low", "high"),
    ):
        text = page_of(data)
        assert not re.search(r"\b(NaN|nan|Infinity|inf|None)\b", Reader(text).text)
        json.dumps(Reader(text).charts, allow_nan=False)


def test_an_evaluation_in_words() -> None:
    text = Reader(page_of(evaluation())).text
    assert "At 75% of what it can take (1.35 of 1.8 jobs a unit of time), half of all jobs wait less than 3.2; " in text
    assert "one in a hundred more than 40." in text
    assert "The mean wait is 8 (99%: 7.84 to 8.16), and 40% of all jobs start at once." in text
    assert "T15 waits longest, 11.2 on average; T1 least, 8." in text
    assert "1.65 of 20 servers are lost to head-of-line blocking at any time." in text
    assert "lower bound" not in text


def test_without_a_certificate() -> None:
    data = evaluation() | {"certificate": None, "why": "services have no exponential moments"}
    text = Reader(page_of(data)).text
    assert "There is no certificate: services have no exponential moments." in text
    assert "lower bounds" in text
    assert "theta" not in text


def test_jobs_that_do_not_wait() -> None:
    data = evaluation()
    data["overall"]["wait"]["p50"] = estimate(0.0)
    assert "at least half of all jobs do not wait at all; one in a hundred" in Reader(page_of(data)).text


def test_several_resources() -> None:
    data = evaluation()
    del data["model"]["definition"]["servers"]
    data["model"]["definition"]["resources"] = {"cpu": 64, "gpu": 8}
    own = {"busy": estimate(5.0), "utilization": estimate(0.5), "idle": estimate(3.0), "hol_loss": estimate(1.25)}
    data["system"]["resources"] = {"cpu": own, "gpu": own}
    read = Reader(page_of(data))
    assert "1.25 of 64 cpu and 1.25 of 8 gpu are lost" in read.text
    assert [bar["label"] for bar in read.charts[1]["bars"]] == ["cpu", "gpu"]


def test_a_threshold_in_words() -> None:
    text = Reader(page_of(threshold())).text
    assert "up to 1.8 jobs a unit of time (99%: 1.799 to 1.801)" in text
    assert "Head-of-line blocking costs 2.9 of 20 servers" in text


def test_a_sweep() -> None:
    read = Reader(page_of(sweep()))
    assert "The mean wait grows from 0.25 to 4 between load 0.2 and load 0.8." in read.text
    assert "1 point has no answer" in read.text
    chart = read.charts[0]
    assert chart["limits"] == [1.0]
    assert [series["label"] for series in chart["series"]] == ["all jobs", "T1", "T5", "T15"]
    assert chart["points"][-1]["why"].startswith("rate 1.98 is unstable")


def test_the_limit_of_a_sweep_of_rates() -> None:
    data = sweep()
    data["vary"] = ["rate"]
    for point in data["points"]:
        point["config"] = {"rate": 1.8 * point["config"]["load"]}
    assert Reader(page_of(data)).charts[0]["limits"] == [1.8]
    data["points"][0]["result"]["threshold"] = estimate(3.0, 0.01)
    assert Reader(page_of(data)).charts[0]["limits"] == [None]


def test_a_plan() -> None:
    read = Reader(page_of(plan()))
    assert "41 servers meet the objective, 40 servers do not (99%)." in read.text
    assert "p95(wait) <= 30: 24 (99%: 23.5 to 24.5); 42 where it is not met." in read.text
    chart = read.charts[0]
    assert chart["bound"] == 30
    assert [row["label"] for row in chart["rows"]] == [
        "40 servers, not met",
        "41 servers, met",
        "42 servers, one further",
    ]
    # One further is not among the objectives here: it is read where the others lie.
    assert chart["rows"][2]["values"][0][0] == pytest.approx(21.0)


def test_a_plan_that_cannot_fail() -> None:
    data = plan() | {"fails": None, "fails_at": None, "next": None, "fails_why": "a job needs 41 servers"}
    data["objectives"][0]["fails"] = None
    read = Reader(page_of(data))
    assert "Less was not evaluated: a job needs 41 servers." in read.text
    assert len(read.charts[0]["rows"]) == 1


def test_a_comparison() -> None:
    read = Reader(page_of(comparison()))
    assert "With “new” the mean wait is 2 (99%: 1.95 to 2.05) or 25% shorter than with “old”." in read.text
    assert "By class, waits with “new” are shorter for all." in read.text
    assert read.charts[0]["zero"] is True
    data = comparison()
    data["differences"]["overall"]["wait"]["mean"] = {"estimate": -0.1, "low": -0.3, "high": 0.1}
    assert "no difference of the mean wait can be told (99%: −0.3 to 0.1)" in Reader(page_of(data)).text


def test_a_replay() -> None:
    read = Reader(page_of(replay()))
    assert "1,000 jobs of log.swf over 3 hours." in read.text
    assert "The mean wait is 16.7 minutes; the log itself recorded 10 minutes." in read.text
    assert "no certificate" in read.text
    assert "Damaged: line 7: no run time" in read.text
    servers, waiting = read.charts[:2]
    assert [line["label"] for line in servers["series"]] == ["busy servers", "lost to head-of-line blocking"]
    assert servers["end"][-1] == 3.0
    assert waiting["series"][0]["values"] == [0.0, 12.0, 3.0]


def test_a_replay_under_another_policy() -> None:
    details = {"inflation": 2.0, "believed": "2 times the true run times"}
    read = Reader(page_of(replay() | {"policy": "easy", "details": details}))
    assert "Run on 32 servers, under easy, " in read.text
    assert "The scheduler believed in 2 times the true run times." in read.text
    assert "loynes replay log.swf --servers 32 --policy easy --inflation 2" in read.text
    read = Reader(
        page_of(replay() | {"policy": "easy", "details": details | {"believed": "requested times, of 9 jobs"}})
    )
    assert "--inflation" not in read.text


def test_a_simulation_over_time() -> None:
    read = Reader(page_of(simulation()))
    assert "Under easy, half of all jobs wait less than 1.2" in read.text
    assert "those who come at 20 wait longest, 9 on average; those who come at 10 least, 3." in read.text
    assert "burst" in read.text
    assert (
        "loynes simulate model.toml --policy easy --rate 1.35 --from stationary --horizon 40.0 --at 10.0,20.0,40.0"
        in (read.text)
    )
    assert [point["config"] for point in read.charts[0]["points"]] == [[10.0], [20.0], [40.0]]


def test_policies_compared() -> None:
    read = Reader(page_of(policies()))
    assert "At 90% of what fcfs can take, the mean wait under easy is 1.8 (99%: 1.7 to 1.9) shorter." in read.text
    assert "that each can carry: fcfs 1.8, easy 2.1." in read.text
    assert "more than it can carry" in read.text
    chart = read.charts[0]
    assert [series["label"] for series in chart["series"]] == ["fcfs", "easy"]
    assert chart["points"][2]["values"][0][0] is None
    assert "loynes compare model.toml --policies fcfs,easy --rates 0.9,1.62,1.98" in read.text


def test_many_classes() -> None:
    data = evaluation(tuple(f"user {n}" for n in range(300)))
    read = Reader(page_of(data))
    assert len(read.charts[0]["rows"]) == 40
    assert "The first 40 of 301 rows; the table has all." in read.text
    assert read.tags.count("tr") > 300
    shown = [
        series["shown"] for series in Reader(page_of(sweep(tuple(f"c{n}" for n in range(30))))).charts[0]["series"]
    ]
    assert 0 < sum(shown) < 10


def test_the_model_on_the_page_is_the_model() -> None:
    chosen = load("five-class-exponential")
    data = evaluation() | {"model": chosen.identity()}
    text = page_of(data)
    toml = re.search(r"<details>.*?<pre>(.*?)</pre>", text, re.DOTALL)
    assert toml is not None
    assert Model.model_validate(tomllib.loads(html.unescape(toml[1]))) == chosen


def test_the_command_gives_the_question_again(tmp_path: Path) -> None:
    assert "loynes evaluate model.toml --rate 1.35 --method sandwich --confidence 0.99 --seed 1" in page_of(
        evaluation()
    )
    assert "loynes sweep model.toml --loads 0.2,0.4,0.6,0.8,1.1 --confidence 0.99" in page_of(sweep())
    pair = {"options": {"without": ["T15"], "load_a": 0.75, "precision": 0.05}, "command": "compare"}
    assert "loynes compare a.toml b.toml --rate 1.35 --confidence 0.99 --seed 1" in page_of(comparison())
    assert "loynes compare a.toml b.toml --rate 1.35 --precision 0.05<" in page_of(comparison(), pair)
    asked = {"command": "evaluate", "options": {"load": 0.75, "precision": 0.02, "exceeds": [1.0, 2.0], "rate": None}}
    (tmp_path / "run.json").write_text(json.dumps(asked))
    text = Reader(page_of(evaluation(), asked_of(tmp_path))).text
    assert "loynes evaluate model.toml --load 0.75 --precision 0.02 --exceeds 1.0 --exceeds 2.0" in text
    assert asked_of(tmp_path / "none") is None
    (tmp_path / "run.json").write_text("[")
    assert asked_of(tmp_path) is None


def test_a_plan_s_command_can_be_pasted_into_a_shell() -> None:
    found = re.search(r"loynes plan model.toml.*--seed 1", Reader(page_of(plan())).text)
    assert found is not None
    assert "p95(wait) <= 30" in shlex.split(found[0])


def test_what_cannot_be_reported() -> None:
    with pytest.raises(UsageError, match="no report of this kind"):
        page_of({"model": model(), "method": "exact"})
    with pytest.raises(UsageError, match=r"an \.html file"):
        write(Evaluation.from_dict(evaluation()), "report.pdf")


def test_a_result_itself(tmp_path: Path) -> None:
    result = Evaluation.from_dict(evaluation())
    target = tmp_path / "report.html"
    assert write(result, target) == target.stat().st_size
    assert target.read_text(encoding="utf-8") == page(result)


def run(*arguments: str) -> Any:
    app = Typer()
    app.command()(report)
    return CliRunner().invoke(app, list(arguments))


def test_the_command(tmp_path: Path) -> None:
    Evaluation.from_dict(evaluation()).save(tmp_path / "result.json")
    Evaluation.from_dict(evaluation()).save(tmp_path / "run")
    out = tmp_path / "page.html"
    for source in ("result.json", "run"):
        found = run(str(tmp_path / source), "-o", str(out))
        assert found.exit_code == 0, found.output
        assert re.fullmatch(rf"{re.escape(str(out))}: \d+ kB\n", found.output)
        assert "how long jobs wait" in out.read_text(encoding="utf-8")


def test_the_command_refuses(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "no.json").write_text('{"a": 1}')
    Evaluation.from_dict(evaluation()).save(tmp_path / "yes.json")
    for source, out, why in (
        (".", "page.html", "not finished; loynes resume"),
        ("no.json", "page.html", "not a result of loynes"),
        ("missing.json", "page.html", "cannot be read"),
        ("yes.json", "page.pdf", "an .html file"),
        ("yes.json", "none/page.html", "does not exist"),
    ):
        found = run(str(tmp_path / source), "-o", str(tmp_path / out))
        assert isinstance(found.exception, LoynesError)
        assert why in str(found.exception)


def test_numbers_in_words() -> None:
    assert [about(x) for x in (0.0, 1.6032, 67.45, 1234.5, 8.85e7, 0.00001234, -2.5)] == [
        "0", "1.6", "67.5", "1,230", "88.5 million", "1.23e-05", "−2.5",
    ]  # fmt: skip
    assert [duration(s) for s in (5.0, 600.0, 12140.5, 1e7)] == ["5 seconds", "10 minutes", "3.37 hours", "116 days"]
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 others"
    inf = float("inf")
    assert between(Estimate(1.0, 1.0, 1.0), 0.99) == ""
    assert between(Estimate(1.0, 0.5, inf), 0.99) == " (99%: at least 0.5)"
    assert between(Estimate(1.0, -inf, 2.0), 0.999) == " (99.9%: at most 2)"
    assert between(Estimate(1.0, -inf, inf), 0.99) == " (no interval)"
