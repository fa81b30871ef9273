"""Nonsense of every command, and of every place of a model: refused in a line, with nothing shown or written.

The examples are the same in every run; `make fuzz` tries others, for as long as one likes.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from odd_lines import BAD, DONE, SUBJECTS, cases, command_lines, holds, models, run, without_the_network, write_files

KNOWN = cases()
RECORDED = Path(__file__).parents[1] / "recorded"
# Examples are short: to look for shorter ones would take minutes.
SAME = settings(
    derandomize=True, database=None, suppress_health_check=list(HealthCheck), deadline=None, phases=[Phase.generate]
)
LINES, MODELS = 6, 120
COUNTED = Counter[object]()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with the files that command lines name."""
    place = tmp_path_factory.mktemp("fuzz")
    write_files(place, RECORDED)
    patch = pytest.MonkeyPatch()
    patch.chdir(place)
    without_the_network(patch)
    assert run(["check", "model.json", "-o", "result.json"]).code == DONE
    assert run(["evaluate", "model.json", "--samples", "200", "-o", "run", "--quiet"]).code == DONE
    yield place
    patch.undo()


def test_every_command_has_something_to_be_about() -> None:
    assert set(SUBJECTS) <= set(KNOWN)
    assert len(KNOWN) >= 23


@pytest.mark.parametrize("name", KNOWN)
def test_command_lines(name: str, folder: Path) -> None:
    """Whether they are answered or refused, every one keeps what is promised."""

    @settings(SAME, max_examples=LINES)
    @given(line=command_lines({name: KNOWN[name]}))
    def typed(line: list[str]) -> None:
        COUNTED[holds(line, folder).code] += 1

    typed()


def test_what_was_tried() -> None:
    """Most of what is typed is nonsense, but not all of it: what holds of answers was tried, too."""
    if COUNTED.total() < LINES * len(KNOWN):
        pytest.skip("not all command lines were tried in this process")
    assert COUNTED[BAD] > COUNTED.total() // 4
    assert COUNTED[DONE] > COUNTED.total() // 10


@settings(SAME, max_examples=MODELS)
@given(document=models(), command=st.sampled_from(["check", "exact", "simulate"]))
def test_models(document: object, command: str, folder: Path) -> None:
    (folder / "odd.json").write_text(json.dumps(document))
    few = {
        "check": (),
        "exact": ("--max-states", "300", "--quiet"),
        "simulate": ("--jobs", "20", "--replicas", "2", "--time", "3s", "--quiet"),
    }
    holds([command, "odd.json", *few[command]], folder)
    assert os.getcwd() == str(folder)
