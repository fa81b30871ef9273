"""How options are read, what is said of wrong ones, and what a run folder keeps."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic.fields import FieldInfo

import loynes
from loynes.errors import LoynesError, UsageError
from loynes.execution.context import Context
from loynes.questions.asking import folder as folders
from loynes.questions.asking.ask import Ask, _signature, answered
from loynes.questions.asking.command_line import command_line, python_line
from loynes.questions.asking.options import _above_zero, _finite, names_of, pairs_of, texts_of, values_of
from loynes.questions.asking.register import load_all
from loynes.questions.asking.subject import is_log
from loynes.results.base import Result

MODEL = {
    "servers": 2,
    "classes": [{"name": "only", "need": 1, "probability": 1.0, "service": {"law": "exponential", "mean": 1.0}}],
}


def question(name: str, **options: Any) -> Any:
    return load_all()[name].of(MODEL, **options)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (None, None),
        (3, (3,)),
        (0.5, (0.5,)),
        ([1, 2.5], (1, 2.5)),
        ("1,2.5, fcfs", (1, 2.5, "fcfs")),
        ("0.1:0.3:0.1", (0.1, 0.2, 0.3)),
        ("1:2:0.4", (1, 1.4, 1.8)),
        ("5:5:1", (5,)),
        ("0:10000:1", tuple(range(10_001))),
    ],
)
def test_values(given: object, values: tuple[Any, ...] | None) -> None:
    assert values_of(given) == values


@pytest.mark.parametrize("wrong", ["", "  ", "1:2:0", "1:2:-1", "3:1:1", "a:b:c", "0:10001:1", "0:inf:1", "nan:1:1"])
def test_wrong_values(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"values|range|step"):
        values_of(wrong)


def test_pairs_texts_and_names() -> None:
    assert pairs_of({"a": 1}) == {"a": 1}
    assert pairs_of([" a = b=c ", "d=e"]) == {"a": "b=c", "d": "e"}
    assert pairs_of(None) == {}
    for wrong in ("a", "=b", "a=", " =b", "a= "):
        with pytest.raises(ValueError, match="NAME=VALUE"):
            pairs_of([wrong])
    assert texts_of("a") == ("a",)
    assert texts_of(["a", "b"]) == ["a", "b"]
    assert names_of("a, b,,c ") == ("a", "b", "c")
    assert names_of(("a",)) == ("a",)


def test_times_and_numbers_above_zero() -> None:
    assert _finite(None) is _above_zero(None) is None
    assert _finite((0, 2.5)) == (0.0, 2.5)
    assert _above_zero((1e-9, 2)) == (1e-9, 2)
    for wrong in ((-1e-9,), (math.inf,), (math.nan,), ("a",), (1, -1)):
        with pytest.raises(ValueError, match="finite times of at least 0"):
            _finite(wrong)
    for wrong in ((), (0,), ("a",), (1, 0)):
        with pytest.raises(ValueError, match="above 0"):
            _above_zero(wrong)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precision": 0.0}, "precision 0: must be above 0 and below 1"),
        ({"precision": 1.0}, "precision 1: must be above 0 and below 1"),
        ({"replicas": 1}, "replicas 1: must be at least 2"),
        ({"replicas": 100_001}, "replicas 100001: must be at most 100000"),
        ({"replicas": "x"}, "replicas 'x': must be a whole number"),
        ({"seed": -1}, "seed -1: must be at least 0"),
        ({"seed": 2**64}, f"seed {2**64}: must be at most {2**64 - 1}"),
        ({"confidence": "x"}, "confidence 'x': must be a number"),
        ({"burn_in": -1}, "burn-in -1: must be at least 0"),
        ({"method": "x"}, "method 'x': must be one of sandwich, perfect, backward, forward"),
        ({"rate": -1.5}, "rate -1.5: must be a finite number above 0"),
        ({"load": 0.0}, "load 0: must be at least 1e-9 and below 1"),
        ({"precision": math.nan}, "precision nan: must be a number"),
    ],
)
def test_ranges_in_words(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        question("evaluate", **options)
    assert str(error.value) == said


@pytest.mark.parametrize(
    "options",
    [{"replicas": 2}, {"replicas": 100_000}, {"seed": 0}, {"burn_in": 0}, {"samples": 2}, {"samples": 2**32 - 1}],
)
def test_ends_of_ranges(options: dict[str, Any]) -> None:
    assert question("evaluate", **options).options() == options


def test_only_what_differs_from_the_default_is_kept() -> None:
    assert question("evaluate", seed=1, confidence=0.99, load=0.5).options() == {"load": 0.5}
    assert question("evaluate").subject == loynes.load(MODEL).label


def test_damaged_lines_are_counted_by_default() -> None:
    asked = load_all()["replay"].of("log.swf")
    assert asked.strict is False
    assert asked.subject == "log.swf"


def test_seconds_are_those_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 12.5])
    monkeypatch.setattr("loynes.questions.asking.ask.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    assert answered(question("check"), Context("cpu")).seconds == 2.5


def test_values_without_a_name() -> None:
    compare = load_all()["compare"]
    assert compare.of(MODEL, MODEL).other == loynes.load(MODEL)
    with pytest.raises(TypeError, match=r"compare\(\) takes 2 values without a name, not 3"):
        compare.of(MODEL, MODEL, MODEL)
    with pytest.raises(UsageError, match="which model"):
        compare.of()


def test_a_discipline_becomes_the_models() -> None:
    asked = question("evaluate", discipline="reserving")
    assert asked.model.discipline == "reserving"
    assert asked.options() == {}
    with pytest.raises(UsageError, match="discipline 'x': must be one of fcfs, reserving, random"):
        question("evaluate", discipline="x")


def test_signatures() -> None:
    """What has no name comes first; defaults are the question's own; folder, executor and progress are last."""
    there = list(loynes.evaluate.__signature__.parameters.values())
    assert there[0].name == "model"
    assert there[0].default is there[0].empty
    assert [one.name for one in there[-3:]] == ["folder", "executor", "progress"]
    assert {one.kind for one in there[1:]} == {there[0].KEYWORD_ONLY}
    assert loynes.evaluate.__signature__.parameters["precision"].default == 0.01
    first, second = list(loynes.compare.__signature__.parameters.values())[:2]
    assert (first.name, second.name, second.kind) == ("model", "other", first.POSITIONAL_OR_KEYWORD)
    assert isinstance(loynes.evaluate, Ask)
    assert repr(loynes.evaluate).startswith("<loynes.evaluate(model")


def test_lines_that_ask_again() -> None:
    evaluate, plan, sample = (load_all()[name] for name in ("evaluate", "plan", "sample"))
    options = {"load": 0.1 + 0.2, "exceeds": [1.0, 2.5]}
    assert command_line(evaluate, options) == (
        "loynes evaluate model.toml --load 0.30000000000000004 --exceeds 1.0 --exceeds 2.5"
    )
    assert python_line(evaluate, {"load": 0.5}) == "loynes.evaluate('model.toml', load=0.5)"
    assert command_line(plan, {"slo": ["mean(wait) <= 9"]}) == "loynes plan model.toml --slo 'mean(wait) <= 9'"
    assert command_line(sample, {"samples": 5}) == "loynes sample model.toml --samples 5 -o samples.parquet"
    assert python_line(sample, {"samples": 5}) == "loynes.sample('model.toml', 'samples.parquet', samples=5)"
    sweep, compare, policies, replay = (load_all()[name] for name in ("sweep", "compare", "policies", "replay"))
    assert command_line(sweep, {"vary": {"servers": [4, 6], "a": 1}, "loads": [0.5, 0.6]}) == (
        "loynes sweep model.toml --vary servers=4,6 --vary a=1 --loads 0.5,0.6"
    )
    assert command_line(compare, {"other": {}, "rate": 1.0, "seed": 3}) == (
        "loynes compare a.toml b.toml --rate 1.0 --seed 3"
    )
    assert command_line(policies, {"limits": False}) == (
        "loynes compare model.toml --policies fcfs,easy,first-fit --no-limits"
    )
    assert python_line(policies, {"limits": False}) == "loynes.compare_policies('model.toml', limits=False)"
    assert command_line(replay, {"trace": "my log", "strict": True, "columns": {"need": "n"}}) == (
        "loynes replay 'my log' --strict --column need=n"
    )


def test_differences_of_documents() -> None:
    then = {"a": 1, "b": {"c": [1, 2], "d": "x"}, "e": [1]}
    assert folders.differences(then, then) == []
    now = {"a": 2, "b": {"c": [1, 3], "d": "x"}, "e": [1, 2], "f": None}
    assert folders.differences(then, now) == ["a: 1, now 2", "b.c[1]: 2, now 3", "e: [1], now [1, 2]"]
    assert folders.differences({"a": "x" * 58}, {"a": "y" * 59}) == [
        f'a: "{"x" * 58}", now "{"y" * 56}...'  # sixty characters at most
    ]


def test_a_folder_is_of_one_question(tmp_path: Path) -> None:
    """An unfinished run of another question is refused; a finished one is replaced, and the same is taken up."""
    first, second = question("evaluate", load=0.5), question("evaluate", load=0.6, seed=2)
    journal = folders.open_journal(tmp_path / "run", first)
    assert journal.folder == tmp_path / "run" / "journal"
    assert not folders.complete(tmp_path / "run")
    folders.open_journal(tmp_path / "run", first)
    with pytest.raises(UsageError, match=r"another question \(options.load: 0.5, now 0.6, and 1 more differences\)"):
        folders.open_journal(tmp_path / "run", second)
    with pytest.raises(UsageError, match=r"another question \(options.load: 0.5, now 0.7\); take"):
        folders.open_journal(tmp_path / "run", question("evaluate", load=0.7))
    (tmp_path / "run" / "result.json").write_text("{}")
    assert not folders.complete(tmp_path / "run")  # its journal is still there
    assert not folders.holds_answer(tmp_path / "run", first)
    folders.remove_journal(tmp_path / "run")
    assert folders.complete(tmp_path / "run")
    assert folders.holds_answer(tmp_path / "run", first) is True
    assert not folders.holds_answer(tmp_path / "run", second)
    folders.open_journal(tmp_path / "run", second)
    assert not (tmp_path / "run" / "result.json").exists()
    assert folders.read_document(tmp_path / "run")["options"] == {"load": 0.6, "seed": 2}


def test_what_is_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no run folder"):
        folders.read_document(tmp_path)
    for wrong in ("[]", "{", '{"command": "evaluate"}'):
        (tmp_path / "run.json").write_text(wrong)
        with pytest.raises(UsageError, match="does not say what was asked"):
            folders.read_document(tmp_path)
    with pytest.raises(UsageError, match="is a file; a run is recorded in a folder"):
        folders.open_journal(tmp_path / "x.json", question("evaluate"))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("command", "guess", "a run of 'guess' cannot be resumed"),
        ("version", "0.0", "was begun by another loynes \\(version 0.0"),
        ("kernels", "0", "was begun by another loynes \\(kernels 0"),
    ],
)
def test_what_cannot_be_resumed(key: str, value: str, said: str, tmp_path: Path) -> None:
    folders.open_journal(tmp_path, question("evaluate", load=0.5))
    asked = json.loads((tmp_path / "run.json").read_text()) | {key: value}
    (tmp_path / "run.json").write_text(json.dumps(asked))
    with pytest.raises(LoynesError, match=said):
        loynes.resume(tmp_path)


def test_what_a_run_folder_says_was_asked() -> None:
    """A model as it is defined, not as it is called; of a log, where it is."""
    asked = folders.document(load_all()["evaluate"].of("five-class-exponential", load=0.5))
    assert asked["model"] == loynes.load("five-class-exponential").to_dict()
    assert folders.document(load_all()["replay"].of("log.swf"))["model"] is None


def test_what_is_given_by_place_comes_first() -> None:
    fields = {"rate": FieldInfo(annotation=float, default=1.0), "model": FieldInfo(annotation=str)}
    question: Any = SimpleNamespace(model_fields=fields, positional=("model",))
    signature = _signature(question, Result)
    assert list(signature.parameters)[:2] == ["model", "rate"]
    assert signature.parameters["rate"].default == 1.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"at": (2.0, 30.0), "horizon": 10.0}, "at 30: is after the horizon, 10"),
        ({"at": (0.0,)}, "at 0: say a horizon, too"),
    ],
)
def test_moments_that_cannot_be(options: dict[str, Any], said: str) -> None:
    question = load_all()["simulate"].of("five-class-exponential", rate=0.5, **options)
    with pytest.raises(loynes.UsageError, match=said):
        question.answer(Context("cpu"))


@pytest.mark.parametrize(
    ("name", "text", "log"),
    [
        ("a.toml", "servers = 2", False),
        ("a.json", json.dumps(MODEL), False),
        ("a.json", '[{"submit": 0}]', True),
        ("a.json", '{"jobs": []}', True),
        ("a.json", "{", False),
        ("a.csv", "submit,need,service\n0,1,1\n", True),
        ("a.swf", "; MaxProcs: 4\n", True),
    ],
)
def test_what_is_a_log(name: str, text: str, log: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert is_log(tmp_path / name) is is_log(str(tmp_path / name)) is log
    assert not is_log(tmp_path / "nothing.csv")
    assert not is_log("five-class-exponential")
    assert not is_log(MODEL)


def test_all_seeds_begin_with_1() -> None:
    fields = [question.model_fields["seed"] for question in load_all().values() if "seed" in question.model_fields]
    assert {field.default for field in fields} == {1}
