"""A command that has a question has everything: every format, run folder, resume, workers, page, picture, pandas.

All questions of the register go through the same table; one that is added must be added to SMALL, or the first test
says so.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import matplotlib
import pytest

import loynes
from loynes.cli.app import main
from loynes.questions.asking.ask import ask, resume
from loynes.questions.asking.command_line import command_line, python_line
from loynes.questions.asking.question import Question, option_of
from loynes.questions.asking.register import load_all
from loynes.results.base import _RESULTS, Result

matplotlib.use("Agg")

RECORDED = Path(__file__).parents[1] / "recorded"
MODEL = str(RECORDED / "models" / "small.toml")
OTHER = str(RECORDED / "models" / "other.toml")
LOG = str(RECORDED / "log.swf")
MONTH = str(RECORDED / "month.csv")
# Every question, asked of something small; options that are no defaults, of every way to write them.
SMALL: dict[str, list[dict[str, Any]]] = {
    "check": [{"model": MODEL}],
    "certify": [{"model": MODEL, "load": 0.7, "seed": 2}],
    "stability": [{"model": MODEL, "precision": 0.1}],
    "evaluate": [{"model": MODEL, "load": 0.6, "precision": 0.3, "exceeds": (1.0, 2.5), "seed": 5}],
    "exact": [{"model": MODEL, "load": 0.5, "exceeds": (1.0,)}, {"model": MODEL}],
    "sample": [{"model": MODEL, "load": 0.5, "samples": 50, "delta": 1e-6}],
    "simulate": [
        {"model": MODEL, "load": 0.5, "jobs": 500, "replicas": 6, "policy": "smash", "window": 3},
        {"model": MODEL, "load": 0.5, "replicas": 20, "horizon": 10.0, "at": (2.0, 9.0)},
        {"model": MODEL, "load": 0.5, "jobs": 500, "replicas": 4, "precision": 0.2},
    ],
    "compare": [
        {"model": MODEL, "other": OTHER, "rate": 1.0, "samples": 5000},
        {"model": MODEL, "without": ("all",), "load": 0.5, "samples": 5000},
    ],
    "policies": [
        {"model": MODEL, "policies": ("fcfs", "easy"), "rates": (1.0, 1.2), "jobs": 500, "replicas": 6, "limits": False}
    ],
    "sweep": [{"model": MODEL, "loads": (0.3, 0.5), "vary": {"servers": (4, 6)}, "samples": 3000}],
    "plan": [{"model": MODEL, "rate": 1.5, "slo": ("mean(wait) <= 9", "no_wait >= 0.1"), "confidence": 0.9}],
    "sensitivity": [
        {"model": MODEL, "load": 0.5, "samples": 3000, "replicas": 16, "per": "unit"},
        {"model": MODEL, "load": 0.6, "samples": 3000, "objective": "P(wait[two] > 1.5)", "confidence": 0.9},
    ],
    "replay": [{"trace": LOG, "policy": "easy", "inflation": 2.0, "windows": 5}],
    "evaluate-log": [
        {"trace": MONTH, "servers": 10, "policy": "easy", "resamples": 4, "exceeds": (60.0,), "without": ("a",)},
        {"trace": MONTH, "servers": 16, "scale": 1.3, "max_need": 4, "resamples": 3, "classes": "user", "block": 4.0},
    ],
    "plan-log": [{"trace": MONTH, "servers": 12, "slo": ("mean(wait) <= 20000",), "resamples": 4, "probability": 0.7}],
    "compare-log": [{"trace": MONTH, "servers": 12, "policies": ("fcfs", "easy"), "resamples": 4}],
    "sensitivity-log": [{"trace": MONTH, "servers": 12, "resamples": 3, "objective": "p95(wait)"}],
    "sweep-log": [{"trace": MONTH, "vary": {"servers": (12, 14)}, "run_times": 0.9, "resamples": 3, "servers": 12}],
    "fit": [{"trace": LOG, "classes": 3, "law": "exponential"}],
}
# Those that do not sample take no time.
UNTIMED = {"check", "exact", "replay"}
CASES = [pytest.param(name, one, id=f"{name}-{k}") for name, some in SMALL.items() for k, one in enumerate(some)]
ENDINGS = ("json", "csv", "parquet", "html", "png", "svg", "pdf")


def run(*line: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main(list(line))
    return out.getvalue()


def answer(name: str, options: dict[str, Any], place: Path, **ways: Any) -> Result:
    path = {"path": str(place / "w.csv")} if name == "sample" and "folder" not in ways else {}
    return ask(load_all()[name].of(**options, **path), **ways)


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


@pytest.mark.parametrize(("name", "options"), CASES)
def test_results(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    """Saved in every format, read back equal; shown in all ways; the same with workers, in a folder, in enough time."""
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
    assert result.plot().has_data()
    with ThreadPoolExecutor(2) as pool:
        enough = {} if name in {*UNTIMED, "fit"} else {"time": "1h"}
        assert document(answer(name, options | enough, tmp_path, executor=pool)) == document(result)
    folder = tmp_path / "run"
    recorded = answer(name, options, tmp_path, folder=folder)
    assert document(recorded) == document(result)
    whole = (folder / "result.json").read_bytes()
    assert resume(folder) == recorded
    # Stopped before its result was written, the run is taken up again, to the same bytes.
    (folder / "result.json").unlink()
    (folder / "journal").mkdir()
    assert document(resume(folder)) == document(recorded)
    assert (folder / "result.json").read_bytes() == whole


@pytest.mark.parametrize(("name", "options"), CASES)
def test_the_command_line_of_a_result_gives_it_again(
    name: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a page shows under "the same again", typed in a folder with the page's models: the same document."""
    question = load_all()[name]
    result = answer(name, options, tmp_path)
    monkeypatch.chdir(tmp_path)
    models = {"model.toml": getattr(result, "model", None)}
    if name == "compare":
        models |= {"a.toml": result.a.model, "b.toml": result.b.model}  # type: ignore[attr-defined]
    if name in ("evaluate", "sample", "certify", "simulate", "compare", "plan", "sensitivity"):
        models["model.toml"] = loynes.load(MODEL)
    for file, model in models.items():
        if isinstance(model, loynes.Model):
            Path(file).write_text(model.to_toml())
    line = command_line(question, result.question)
    typed = json.loads(run(*shlex.split(line)[1:], "--json", "--quiet"))
    shown, now = document(result), document(type(result).from_dict(typed))
    for side in (shown, now):  # the second model's way is not the same where it was made of the first
        side.pop("question")
    if name == "compare" and "other" in options:
        for side in (shown, now):
            side.pop("names")
            for one in ("a", "b"):
                side[one].pop("question")
    assert now == shown
    assert python_line(question, result.question).startswith("loynes.")
    if name not in ("sample", "compare"):
        value = eval(python_line(question, result.question), {"loynes": loynes})
        assert document(value)["question"] == result.question


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
    subject = {key: options[key] for key in ("model", "trace") if key in options}
    with pytest.raises(loynes.LoynesError):
        question.of(**subject | dict.fromkeys(subject, "no-such-thing")).answer(loynes_context())


def loynes_context() -> Any:
    from loynes.execution.context import Context

    return Context("cpu")
