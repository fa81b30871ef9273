"""A command that has a question has everything: every format, run folder, resume, workers, page, picture, pandas.

All questions of the register go through the same table; one that is added must be added to SMALL, or the first test
says so.
"""

from __future__ import annotations

import contextlib
import html
import io
import json
import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import matplotlib
import polars
import pytest

import loynes
from loynes.cli.app import main
from loynes.cli.commands import listed_summary, question_command
from loynes.questions.asking.ask import ask, resume
from loynes.questions.asking.command_line import command_line, python_line
from loynes.questions.asking.question import Question, option_of
from loynes.questions.asking.register import load_all
from loynes.results.base import _RESULTS, Result

matplotlib.use("Agg")

RECORDED = Path(__file__).parents[1] / "recorded"
MODEL = str(RECORDED / "models" / "small.toml")
OTHER = str(RECORDED / "models" / "other.toml")
LARGE = {
    "name": "large",
    "servers": 12,
    "classes": [
        {"name": "one", "need": 1, "probability": 0.8, "service": {"law": "exponential", "mean": 1.0}},
        {"name": "two", "need": 2, "probability": 0.2, "service": {"law": "exponential", "mean": 2.0}},
    ],
}
LOG = str(RECORDED / "log.swf")
MONTH = str(RECORDED / "month.csv")
NOW = str(RECORDED / "now.csv")
HOURS = str(RECORDED.parents[1] / "examples" / "gpu-nodes.toml")
# Every question, asked of something small; options that are no defaults, of every way to write them.
SMALL: dict[str, list[dict[str, Any]]] = {
    "check": [{"model": MODEL}],
    "certify": [{"model": MODEL, "load": 0.7, "seed": 2}],
    "stability": [{"model": MODEL, "precision": 0.1}],
    "evaluate": [
        {"model": MODEL, "load": 0.6, "precision": 0.3, "exceeds": (1.0, 2.5), "seed": 5},
        {
            "model": MODEL,
            "load": 0.5,
            "samples": 3000,
            "slo": ("mean(wait[two]) <= 9", "p99.9(wait) <= 2.5", "no_wait >= 0.1"),
        },
    ],
    "exact": [{"model": MODEL, "load": 0.5, "exceeds": (1.0,)}, {"model": MODEL}],
    "sample": [{"model": MODEL, "load": 0.5, "samples": 50, "delta": 1e-6}],
    "simulate": [
        {
            "model": MODEL,
            "load": 0.5,
            "jobs": 500,
            "replicas": 6,
            "policy": "smash",
            "window": 3,
            "slo": ("p95(wait) <= 1e9",),
        },
        {"model": MODEL, "load": 0.5, "replicas": 20, "horizon": 10.0, "at": (2.0, 9.0)},
        {"model": MODEL, "load": 0.5, "jobs": 500, "replicas": 4, "precision": 0.2},
    ],
    "compare": [
        {"model": MODEL, "other": OTHER, "rate": 1.0, "samples": 5000, "method": "forward", "burn_in": 128},
        {"model": MODEL, "without": ("all",), "load": 0.5, "samples": 5000},
    ],
    "policies": [
        {"model": MODEL, "policies": ("fcfs", "easy"), "rates": (1.0, 1.2), "jobs": 500, "replicas": 6, "limits": False}
    ],
    "advise": [
        {
            "model": MODEL,
            "rate": 1.2,
            "policies": ("easy", "first-fit-ageing", "msr"),
            "age": 2.0,
            "slo": ("p95(wait) <= 1e9",),
            "metric": "no_wait",
            "jobs": 500,
            "replicas": 6,
        }
    ],
    "partition": [{"model": LARGE, "rate": 5.0, "jobs": 500, "replicas": 6, "seed": 4}],
    "advise-log": [{"trace": MONTH, "servers": 12, "policies": ("easy", "divisor-filling"), "resamples": 3}],
    "sweep": [{"model": MODEL, "loads": (0.3, 0.5), "vary": {"servers": (4, 6)}, "samples": 3000}],
    "plan": [{"model": MODEL, "rate": 1.5, "slo": ("mean(wait) <= 9", "no_wait >= 0.1"), "confidence": 0.9}],
    "sensitivity": [
        {"model": MODEL, "load": 0.5, "samples": 3000, "replicas": 16, "per": "unit"},
        {
            "model": MODEL,
            "load": 0.6,
            "samples": 3000,
            "replicas": 16,
            "objective": "P(wait[two] > 1.5)",
            "confidence": 0.9,
        },
    ],
    "replay": [
        {"trace": LOG, "policy": "easy", "inflation": 2.0, "windows": 5},
        {
            "trace": MONTH,
            "servers": 12,
            "policy": "easy-sjbf",
            "predict": "last-two",
            "scale": 1.2,
            "max_need": 4,
            "larger": "split",
            "outages": ("from=2d, until=3d, lost=2, how=failed",),
            "kill_at_limit": True,
        },
    ],
    "replay-cases": [
        {"trace": MONTH, "servers": (10, 12), "policies": ("fcfs", "easy"), "classes": "user"},
        {
            "trace": MONTH,
            "columns": {"cpu": "need"},
            "nodes": (6, 7),
            "has": {"cpu": 2},
            "user_limit": {"cpu": 9},
            "policy": "easy",
            "slowdown_threshold": 60.0,
        },
    ],
    "evaluate-log": [
        {
            "trace": MONTH,
            "servers": 10,
            "policy": "easy",
            "resamples": 4,
            "exceeds": (60.0,),
            "without": ("a",),
            "slo": ("P(wait > 3600) <= 0.5", "utilization <= 0.001"),
        },
        {"trace": MONTH, "servers": 16, "scale": 1.3, "max_need": 4, "resamples": 3, "classes": "user", "block": 4.0},
    ],
    "plan-log": [{"trace": MONTH, "servers": 12, "slo": ("mean(wait) <= 20000",), "resamples": 4, "probability": 0.7}],
    "compare-log": [{"trace": MONTH, "servers": 12, "policies": ("fcfs", "easy"), "resamples": 4}],
    "sensitivity-log": [{"trace": MONTH, "servers": 12, "resamples": 3, "objective": "p95(wait)"}],
    "sweep-log": [
        {"trace": MONTH, "vary": {"servers": (12, 14)}, "run_times": 0.9, "resamples": 3, "servers": 12},
        {
            "trace": MONTH,
            "columns": {"cpu": "need"},
            "nodes": 6,
            "has": {"cpu": 2},
            "placement": "spread",
            "vary": {"nodes": (6, 8)},
            "resamples": 3,
        },
    ],
    "fit": [{"trace": LOG, "classes": 3, "law": "exponential"}],
    "eta": [
        {
            "snapshot": NOW,
            "servers": 8,
            "draws": 50,
            "within": (60.0, 7200.0),
            "what_if": ("need=2 limit=1h",),
            "history": LOG,
            "recalibrate": 120,
            "laws_of": HOURS,
        },
        {"log": LOG, "now": "16817", "servers": 64, "policy": "easy", "draws": 20, "history": LOG},
    ],
    "eta-backtest": [{"backtest": MONTH, "servers": 10, "instants": 6, "draws": 20, "policy": "easy"}],
}
# Those that do not sample take no time.
UNTIMED = {"check", "exact", "replay", "replay-cases"}
CASES = [pytest.param(name, one, id=f"{name}-{k}") for name, some in SMALL.items() for k, one in enumerate(some)]
# How long it took, and where samples were put, are no part of the answer.
VARIES = r'"(read_)?seconds": [^,\n]*,?|"path": "[^"]*",?'
ENDINGS = ("json", "csv", "parquet", "html", "png", "svg", "pdf")


def run(*line: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main(list(line))
    return out.getvalue()


def answer(name: str, options: dict[str, Any], place: Path, **ways: Any) -> Result:
    path = {"path": str(place / "w.csv")} if name == "sample" and "folder" not in ways else {}
    return ask(load_all()[name].of(**options, **path), **ways)


def files_of(result: Result) -> dict[str, str]:
    """The models that a page shows, under the names that it says to save them as."""
    page = result.report()
    shown = re.findall(r"<details><summary>The model: .*?</summary><pre>(.*?)</pre></details>", page, re.S)
    names = ["a.toml", "b.toml"] if "above as a.toml and b.toml" in page else ["model.toml"]
    return dict(zip(names, map(html.unescape, shown), strict=False))


def document(result: Result) -> dict[str, Any]:
    """Without what may differ between two runs, or between two places of the samples."""
    data = result.to_dict()
    return {key: value for key, value in _timeless(data).items() if key not in ("path", "parts")}


def _timeless(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _timeless(v) for k, v in data.items() if k not in ("seconds", "read_seconds")}
    return [_timeless(value) for value in data] if isinstance(data, list) else data


def test_every_question_is_here() -> None:
    known = {name for name, question in load_all().items() if question.__module__.startswith("loynes.")}
    assert set(SMALL) == known
    assert {command for command, cls in _RESULTS.items() if cls.__module__.startswith("loynes.")} == known


class Asked(BaseException):
    """The question that a command line or Python puts, in place of its answer."""


def asked(question: Question, **ways: Any) -> Result:
    raise Asked(question)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_results(name: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saved in every format, read back equal; shown in all ways; the same recorded in a folder with workers and time
    enough, resumed alone, and by the command line of its page. One test, since all of it is about one answer."""
    question = load_all()[name]
    result = answer(name, options, tmp_path)
    again = type(result).from_dict(json.loads(result.to_json()))
    assert again == result
    assert again.to_json() == result.to_json()
    for ending in ENDINGS:
        result.save(tmp_path / f"result.{ending}")
        assert (tmp_path / f"result.{ending}").stat().st_size > 0
    assert loynes.read_result(tmp_path / "result.json") == result
    assert len(repr(result)) < 200
    assert "<table" in result._repr_html_()
    assert "<h1>" in result.report()
    assert len(result.to_pandas()) == result.to_arrow().num_rows == len(result.tidy.rows) > 0
    assert result.to_polars().equals(polars.DataFrame(result))
    assert result.plot().has_data()
    folder = tmp_path / "run"
    with ThreadPoolExecutor(2) as pool:
        enough = {} if name in {*UNTIMED, "fit"} else {"time": "1h"}
        recorded = answer(name, options | enough, tmp_path, executor=pool, folder=folder)
    assert document(recorded) == document(result)
    whole = (folder / "result.json").read_bytes()
    assert resume(folder) == recorded
    # Stopped before its result was written, the run is taken up again, to the same bytes.
    (folder / "result.json").unlink()
    (folder / "journal").mkdir()
    assert document(resume(folder)) == document(recorded)
    assert (folder / "result.json").read_bytes() == whole
    # What a page shows under "the same again", typed in a folder with the page's models: the same bytes.
    monkeypatch.chdir(tmp_path)
    for file, model in files_of(result).items():
        Path(file).write_text(model)
    typed = run(*shlex.split(command_line(question, result.question))[1:], "--json", "--quiet")
    assert re.sub(VARIES, "", typed) == re.sub(VARIES, "", result.to_json())
    python = python_line(question, result.question)
    assert python.startswith("loynes.")
    if name not in ("sample", "compare"):
        monkeypatch.setattr("loynes.questions.asking.ask.ask", asked)
        with pytest.raises(Asked) as caught:
            eval(python, {"loynes": loynes})
        (put,) = caught.value.args
        assert type(put) is question
        assert json.loads(json.dumps(put.options())) == json.loads(json.dumps(result.question))


@pytest.mark.parametrize("name", SMALL)
def test_options_say_what_they_are(name: str) -> None:
    """Every field has a help text, and every command the common options."""
    question: type[Question] = load_all()[name]
    for field in question.model_fields:
        assert field == "model" or option_of(question, field).help
    command = question.asked_by[0] if question.asked_by else name
    text = run(command, "--help")
    for flag in ("--json", "--output", "--workers", "--cluster", "--quiet"):
        assert flag in text
    assert ("time" in question.model_fields) is (name not in UNTIMED)
    assert "--time" in text or name in UNTIMED
    assert question.__doc__
    assert question.examples or question.asked_by
    if not question.asked_by:  # what the list of commands says of it is read from its file
        assert listed_summary(command) == question_command(command).help


@pytest.mark.parametrize("name", SMALL)
def test_wrong_options_are_named(name: str, tmp_path: Path) -> None:
    question = load_all()[name]
    options = SMALL[name][0]
    with pytest.raises(TypeError, match="has no option 'colour'"):
        question.of(**options, colour="red")
    for field, wrong in (
        ("time", 0),
        ("seed", -1),
        ("confidence", 1.5),
        ("precision", 0.0),
        ("replicas", 1),
        ("load", -0.5),
    ):
        if field in question.model_fields:
            with pytest.raises(loynes.UsageError, match=f"^{field} .*must be"):
                question.of(**options | {field: wrong})
    subject = {key: options[key] for key in ("model", "trace", "snapshot", "backtest") if key in options}
    with pytest.raises(loynes.LoynesError):
        question.of(**subject | dict.fromkeys(subject, "no-such-thing")).answer(loynes_context())


def loynes_context() -> Any:
    from loynes.execution.context import Context

    return Context("cpu")


# Of texts that mean something, and of lists and tables: values that are no defaults.
OTHERS: dict[str, Any] = {
    "slo": ("p95(wait) <= 600", "P(wait[a b] > 1.5) <= 0.1"), "objective": "p95(wait)", "columns": {"need": "Nodes"},
    "resources": {"cpu": 640, "gpu": 64}, "has": {"cpu": 64, "mem": 4096}, "user_limit": {"cpu": 16},
    "user_borrow": {"servers": 8},
    "policy": "smash", "policies": ("fcfs", "smash"), "names": ("old", "new one"),
    "change": ("servers=6", "classes.two.need=1"), "without": ("all", "two"), "to_night": ("big", "user 7"),
    "loads": (0.1, 0.7), "rates": (0.30000000000000004, 2), "exceeds": (1.0, 0.1), "at": (2.0, 9.5), "other": OTHER,
    "start": "stationary", "unit": "nodes", "inflation": 1.75, "block": 3.5, "max_jobs": 123456789.0,
}  # fmt: skip


def other_value(question: type[Question], name: str) -> Any:
    """A value that is no default, by the field's type and range."""
    field = question.model_fields[name]
    kinds = [field.annotation, *get_args(field.annotation)]
    literal = next((kind for kind in kinds if get_origin(kind) is Literal), None)
    if literal is not None:
        return next(one for one in get_args(literal) if one != field.default and not str(one).startswith("cuda"))
    if name == "vary":
        log = {"servers": (12, 14)} if "trace" in question.model_fields else {"classes.two.service.mean": (1.5, 2.25)}
        return "rate" if field.annotation is str else log
    if name in question.several:
        return (12, 14)
    if name in OTHERS:
        return OTHERS[name]
    if bool in kinds:
        return not field.default
    if str in kinds:
        return "queue"
    if int in kinds:
        return 7
    assert float in kinds, f"{question.command}: no value known for {name}"
    return 0.07000000000000002


def fullest(question: type[Question], base: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A few sets of options in which every option is set: each takes as many as go together."""
    yield base
    # A flag by which another command asks this question has one value.
    flag = {question.asked_by[1]} if question.asked_by and question.asked_by[1] == "partition" else set()
    left = [name for name in question.model_fields if name not in ("model", "trace", "path", "method", *flag, *base)]
    method = question.model_fields.get("method")
    # Some exclude each other (policy and policies): those that are left over have a set of their own.
    for chosen in get_args(method.annotation) if method else (None, None):
        taken = base | ({"method": chosen} if chosen else {})
        for name in list(left):
            with contextlib.suppress(loynes.UsageError):
                question.of(**taken | {name: other_value(question, name)})
                taken[name] = other_value(question, name)
                left.remove(name)
        yield taken
    assert not left, f"{question.command}: {left} cannot be set"


@pytest.mark.parametrize("name", SMALL)
def test_every_option_is_in_the_command_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option of each question, at a value that is no default: the printed line asks the very same question."""

    monkeypatch.setattr("loynes.questions.asking.ask.ask", asked)
    monkeypatch.chdir(tmp_path)
    question = load_all()[name]
    needed = {"trace": LOG, "snapshot": NOW, "backtest": LOG}
    base = {field: one for field, one in needed.items() if field in question.model_fields} or {"model": MODEL}
    for options in fullest(question, base):
        before = question.of(**options)
        for file, model in (("model", getattr(before, "model", None)), ("a", getattr(before, "model", None)),
                            ("b", getattr(before, "other", None))):  # fmt: skip
            if isinstance(model, loynes.Model):
                Path(f"{file}.toml").write_text(model.to_toml())
        line = command_line(question, json.loads(json.dumps(before.options())))
        with pytest.raises(Asked) as caught:
            main([*shlex.split(line)[1:], "--quiet"])
        after = caught.value.args[0]
        assert type(after) is question
        # How long it may take is no part of the question.
        kept = {n for n in question.model_fields if n == "path" or not option_of(question, n).kept}
        assert after.model_dump(exclude=kept) == before.model_dump(exclude=kept)
