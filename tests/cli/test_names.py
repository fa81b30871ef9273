"""Names that are a terminal's commands, marks of direction, line breaks or endless: shown escaped everywhere."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import matplotlib
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

import loynes
from loynes.cli.app import main
from loynes.cli.watch import Bar, Lines
from loynes.errors import ModelError
from loynes.execution.deadline import NEVER
from loynes.model import load
from loynes.readable import LONGEST_TEXT, readable, readable_throughout, visible
from loynes.results.base import Result
from loynes.results.charts.drawing import _with_plain_texts
from loynes.results.charts.register import charts_of
from loynes.results.table import Table

matplotlib.use("Agg")

CLEAR, TURNED, BROKEN = "a\x1b[2J\x07b", "\u202eevil\u2066", "one\r\ntwo\x85three\u2028four"
EVIL = (CLEAR, TURNED, BROKEN, "x" * 1_000_000, "$\\frac{", "_hidden")
# Nothing of this may reach people: control characters but the ends of lines, marks of direction, separators.
OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def model(names: tuple[str, ...] = EVIL, title: str = f"m{CLEAR}{TURNED}") -> dict[str, Any]:
    service = {"law": "exponential", "mean": 1.0}
    classes = [{"name": n, "need": 1 + k % 2, "probability": 1 / len(names), "service": service}
               for k, n in enumerate(names)]  # fmt: skip
    return {"name": title, "servers": 4, "arrivals": {"rate": 1.0}, "classes": classes}


@pytest.fixture(scope="module")
def answers() -> list[Result]:
    cluster = load(model())
    short: dict[str, Any] = {"jobs": 100, "replicas": 6}
    return [
        loynes.check(cluster),
        loynes.exact(load(model(EVIL[:3]))),
        loynes.evaluate(cluster, load=0.5, samples=2000),
        loynes.simulate(cluster, load=0.5, replicas=4, horizon=4.0),
        loynes.compare_policies(cluster, policies=("fcfs", "easy"), rates=(1.0,), limits=False, **short),
        loynes.sweep(cluster, loads=(0.3, 0.5), samples=500),
    ]


def seen_of(answer: Result) -> Iterator[str]:
    page = answer.report()
    assert not OBEYED.search(page)
    yield re.sub("<pre>.*?</pre>", "", page, flags=re.DOTALL)  # the model is copied from there, so it is whole
    yield answer._repr_html_()
    yield repr(answer)
    for table in answer.tables:
        yield str(table)
        yield table.to_html()


def test_whatever_is_shown(answers: list[Result]) -> None:
    for answer in answers:
        texts = [*seen_of(answer)]
        for text in texts:
            assert not OBEYED.search(text), answer.command
            assert max(map(len, re.findall(r"x+", text)), default=0) < 1000, answer.command
            assert len(text) < 300_000
        assert any(r"a\u001b[2J\u0007b" in text for text in texts), answer.command


def test_files_keep_names(answers: list[Result], tmp_path: Path) -> None:
    for answer in answers:
        assert type(answer).from_dict(json.loads(answer.to_json())) == answer
    evaluation = answers[2]
    assert set(EVIL) <= set(json.loads(evaluation.to_json())["classes"])
    assert CLEAR in evaluation.flat.to_csv()


def test_the_model_of_a_page_is_the_model(answers: list[Result]) -> None:
    """What a page shows of the model, copied into a file, is the same model: escapes are TOML's."""
    page = answers[2].report()
    shown = re.search(r"<details><summary>The model: .*?</summary><pre>(.*?)</pre></details>", page, re.DOTALL)
    assert shown
    again = load(tomllib.loads(unescape(shown[1])))
    assert [c.label for c in again.classes] == list(EVIL)


def test_pictures(answers: list[Result], tmp_path: Path) -> None:
    """matplotlib takes a dollar for a formula, and names with an underscore before them for none."""
    for answer in answers:
        for chart in charts_of(answer):
            data = json.dumps(readable_throughout(chart).to_data(), ensure_ascii=False)
            assert not OBEYED.search(data)
            assert not re.search(r"[^\\]\$", str(_with_plain_texts(chart).to_data()).replace(r"\\$", ""))
        answer.save(tmp_path / "picture.svg")
        assert not OBEYED.search((tmp_path / "picture.svg").read_text(encoding="utf-8"))
    assert answers[2].plot().get_xticklabels()


def test_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables, warnings, what was written, mistakes: in the file's name, the model's name and those of classes."""
    folder = tmp_path / f"f{TURNED}\x1b[1m"
    folder.mkdir()
    path = folder / "m\n.toml"
    path.write_text(tomli_w.dumps(model()), encoding="utf-8")
    target = folder / "result.json"
    with pytest.raises(SystemExit) as done:
        main(["evaluate", str(path), "--rate", "1", "--samples", "2000", "-o", str(target)])
    assert done.value.code == 0
    said = capsys.readouterr()
    assert not OBEYED.search(said.out)
    assert not OBEYED.search(said.err)
    assert r"f\u202eevil\u2066\u001b[1m/result.json" in said.err
    assert len(said.out) < 10_000
    for line, code in (
        ([str(path), "--set", f"classes.{TURNED}.need=7"], 2),
        ([str(path), "--rate", "100"], 3),
        ([f"no{BROKEN}"], 2),
        ([str(path), f"--no{CLEAR}"], 2),
        ([str(path), "--slo", f"mean(wait[{CLEAR}]) < x"], 2),
    ):
        with pytest.raises(SystemExit) as end:
            main(["evaluate", *line])
        said = capsys.readouterr()
        assert (end.value.code, said.err.count("\n"), said.out) == (code, 1, ""), said.err
        assert not OBEYED.search(said.err)
        assert len(said.err) < 2000


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    Lines(f"{CLEAR}: evaluate").announce(TURNED)
    assert capsys.readouterr().err == "loynes: a\\u001b[2J\\u0007b: evaluate: \\u202eevil\\u2066\n"
    told: list[str] = []
    Bar(CLEAR, NEVER, told.append).announce(BROKEN)
    assert told == [r"a\u001b[2J\u0007b: one\r\ntwo\u0085three\u2028four"]


def test_a_mistake_in_a_line(tmp_path: Path) -> None:
    """Several mistakes are several lines; a line break in a name makes no line."""
    document = model((BROKEN, "b"))
    document["classes"][0]["need"] = 0
    document["classes"][1]["need"] = 0
    with pytest.raises(ModelError) as error:
        load(document)
    assert len(error.value.lines) == 2
    assert str(error.value) == "\n".join(error.value.lines)


def test_long_texts() -> None:
    assert readable("x" * 1_000_000) == f"{'x' * 60}...(1000000 signs)...{'x' * 20}"
    assert len(readable("many words " * 100_000)) < LONGEST_TEXT
    assert len(readable("\x1b" * 1_000_000)) < LONGEST_TEXT
    plain = "Ünïcode, 日本語, 👩\u200d💻 (joined), 1 000 ± 2% … – “quoted” \\n"
    assert readable(plain) == visible(plain) == plain
    assert visible("a\nb\tc", lines=True) == "a\nb\\tc"


@given(st.text(st.characters(), max_size=500))
def test_any_text(text: str) -> None:
    """What is shown is one line without what is obeyed, changes no more when shown again, and is a TOML text."""
    shown = readable(text)
    assert not OBEYED.search(shown)
    assert "\n" not in shown
    assert readable(shown) == shown
    if not re.search(r"[\"\\\ud800-\udfff]", text):
        assert tomllib.loads(f'name = "{visible(text)}"')["name"] == text


def test_records_that_need_no_change_stay_the_same() -> None:
    table = Table("t", ("a",), (("x", 1.0),))
    assert readable_throughout(table) is table
    assert readable_throughout(replace(table, title=CLEAR)).title == r"a\u001b[2J\u0007b"
