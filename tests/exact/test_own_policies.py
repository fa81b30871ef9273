"""Policies of users: from a file, from a function, in other processes, from the cache, and in the tables."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import loynes
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.events.engine import Events, run_jobs, run_replicas
from loynes.kernels.events.loop import loop_of
from loynes.kernels.events.policies import Policy, find_policy, policies, policy, register
from loynes.policies import NOBODY, first_in_line, fits, next_in_line, start

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "my_policy.py"
UNITS, JOBS = np.array([4]), ([0.0, 1, 2, 2.5], [3, 4, 1, 1], [4.0, 1, 1, 1])


@pytest.fixture(autouse=True)
def _built_in_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever other tests have registered is not there, and what is registered here is gone afterwards."""
    known = {name: one for name, one in policies().items() if not one.digest}
    monkeypatch.setattr(register, "_register", known)


@pytest.fixture(autouse=True)
def _own_register(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    policies()
    monkeypatch.setattr(register, "_register", dict(register._register))


def starts(given: Any, option: int = 1) -> list[float]:
    arrival, need, service = (np.array(column) for column in JOBS)
    times, _ = run_jobs(UNITS, arrival, need[:, None], service, given, option)
    return [round(t, 9) for t in (arrival + times[:, 0]).tolist()]


def last_come(floor, option):  # type: ignore[no-untyped-def]
    """The last in line first, when it fits."""
    while True:
        last, slot = NOBODY, first_in_line(floor)
        while slot != NOBODY:
            last, slot = slot, next_in_line(floor, slot)
        if last == NOBODY or not fits(floor, last):
            return
        start(floor, last)


def test_from_a_file() -> None:
    """With no passes it is first come, first served; with one C passes B; with many D, too, as under first fit."""
    given = find_policy(str(EXAMPLE))
    assert given.name == "bounded-passing"
    assert given.option is not None
    assert (given.option.name, given.default_option, given.option.least) == ("passes", 10, 0)
    assert policies()["bounded-passing"] is given
    assert find_policy("bounded-passing") is given
    assert starts(given, 0) == starts("fcfs") == [0, 4, 5, 5]
    assert starts(given, 1) == [0, 4, 2, 5]
    assert starts(EXAMPLE, 10) == starts("first-fit") == [0, 4, 2, 3]
    assert find_policy(EXAMPLE) == given
    simulated = loynes.simulate("five-class-exponential", policy=str(EXAMPLE), rate=1.0, jobs=500, replicas=2)
    assert simulated.policy == "bounded-passing"
    assert simulated.details["passes"] == 10


def test_from_a_function() -> None:
    """C, at 2, is the last in line and fits; D takes its place at 3; B fits when A has ended."""
    given = find_policy(last_come)
    assert (given.name, given.summary) == ("last-come", "The last in line first, when it fits.")
    assert starts(last_come) == starts(njit(last_come)) == [0, 4, 2, 3]
    assert "last-come" not in policies()
    ready = policy("last-come-first", summary="the last in line, when it fits")(last_come)
    assert find_policy(ready) is policies()["last-come-first"]


def test_that_makes_arrays() -> None:
    """A function that its author has compiled may make arrays. This one starts one job at most at each event."""

    @njit
    def counting(floor, option):  # type: ignore[no-untyped-def]
        slots = np.zeros(2, np.int64)
        slots[0] = first_in_line(floor)
        if slots[0] != NOBODY and fits(floor, slots[0]):
            start(floor, slots[0])

    assert starts(counting) == [0, 4, 5, 6]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("lottery", "policy 'lottery': must be one of fcfs, first-fit, easy"),
        ("nowhere.py", "policy 'nowhere.py': there is no such file"),
        (3, "policy 3: must be a name"),
        (lambda floor: None, "must be a function of two arguments"),
    ],
)
def test_wrong_ones(given: Any, message: str) -> None:
    with pytest.raises(loynes.UsageError, match=message):
        find_policy(given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "registers none; decorate"),
        ("import nothing_of_that_name", "cannot be read: ModuleNotFoundError"),
        ("from loynes.policies import policy\n@policy('easy')\ndef f(floor, option): pass", "has one of that name"),
        (
            "from loynes.policies import policy\nfor name in ('a', 'b'):\n    policy(name)(lambda floor, option: None)",
            r"registers 2 policies \(a, b\)",
        ),
    ],
)
def test_wrong_files(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(text)
    with pytest.raises(loynes.UsageError, match=message):
        find_policy(tmp_path / "wrong.py")


def test_one_that_cannot_be_compiled() -> None:
    def wrong(floor, option):  # type: ignore[no-untyped-def]
        floor.nothing_of_that_name += 1

    with pytest.raises(loynes.UsageError, match="policy 'wrong': Numba cannot compile it"):
        starts(wrong)


def test_in_another_process() -> None:
    """Its code travels with it: a fresh interpreter knows neither this module nor the file."""
    table = job_table(loynes.load("five-class-exponential"), 1.0)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for given in ("smash", last_come, EXAMPLE):
            events = Events(
                table, 1, STREAM_STATIONARY, np.arange(2), find_policy(given), 3, jobs_observed=200, each=True
            )
            there = pool.submit(run_replicas, events, CpuEngine(1)).result()
            here = run_replicas(events, CpuEngine())
            for one, other in zip(there, here, strict=True):
                np.testing.assert_array_equal(one.observations.jobs, other.observations.jobs)
    for given in ("smash", last_come, EXAMPLE):
        known = find_policy(given)
        again = pickle.loads(pickle.dumps(known))
        assert again == known
        assert loop_of(again) is loop_of(known)


TWO_PROCESSES = """
import sys
import numpy as np
from loynes.kernels.events.engine import run_jobs
from loynes.kernels.events.loop import loop_of
from loynes.kernels.events.policies import find_policy
for given in sys.argv[1:]:
    arrival, need, service = np.array([0.0, 1, 2, 2.5]), np.array([[3], [4], [1], [1]]), np.array([4.0, 1, 1, 1])
    policy = find_policy(given)
    times, _ = run_jobs(np.array([4]), arrival, need, service, policy, 1)
    stats = loop_of(policy).stats
    print((arrival + times[:, 0]).tolist(), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def processes(folder: Path) -> Callable[..., Iterator[tuple[str, str]]]:
    """Starts of jobs, and compiled or cached, of policies that a fresh process runs with a cache in that folder."""

    def run(*given: object) -> Iterator[tuple[str, str]]:
        command = [sys.executable, "-c", TWO_PROCESSES, *map(str, given)]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        for line in ran.stdout.splitlines():
            times, hits, misses = line.rsplit(maxsplit=2)
            yield times, {("1", "0"): "cached", ("0", "1"): "compiled"}[hits, misses]

    return run


def test_the_cache(tmp_path: Path) -> None:
    """What one process compiles the next one reads, and no policy gets another's code: not one of the same name in
    another file, nor one whose file is the same while a module that it imports has changed."""
    run = processes(tmp_path / "cache")
    text = EXAMPLE.read_text()
    same, other = tmp_path / "same.py", tmp_path / "other.py"
    same.write_text(text.replace('"bounded-passing"', '"own"'))
    other.write_text(same.read_text().replace("if fits(floor, slot)", "if False"))
    importing = tmp_path / "importing.py"
    importing.write_text(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport limits\n"
        + same.read_text().replace("< passes", "< limits.MOST")
    )
    (tmp_path / "limits.py").write_text("MOST = 1\n")
    strict, one, fit = "[0.0, 4.0, 5.0, 5.0]", "[0.0, 4.0, 2.0, 5.0]", "[0.0, 4.0, 2.0, 3.0]"
    # Compiled from an empty cache; then by the side of the others; then all of it read.
    assert [*run("first-fit", same)] == [(fit, "compiled"), (one, "compiled")]
    assert [*run(importing, other)] == [(one, "compiled"), (strict, "compiled")]
    assert [*run(other, importing, "first-fit", same)] == [
        (strict, "cached"), (one, "cached"), (fit, "cached"), (one, "cached")
    ]  # fmt: skip
    (tmp_path / "limits.py").write_text("MOST = 100\n")
    assert [*run(importing), *run(importing)] == [(fit, "compiled"), (fit, "cached")]


def test_what_a_function_closes_over(tmp_path: Path) -> None:
    """Functions of the same code that close over other numbers are other policies."""

    def made(most: int) -> Callable[..., None]:
        def bounded(floor, option):  # type: ignore[no-untyped-def]
            slot, place = first_in_line(floor), 0
            while slot != NOBODY and place < most:
                behind = next_in_line(floor, slot)
                if fits(floor, slot):
                    start(floor, slot)
                slot, place = behind, place + 1

        return bounded

    assert find_policy(made(1)) == find_policy(made(1))
    assert find_policy(made(1)) != find_policy(made(9))
    assert starts(made(1)) == [0, 4, 5, 6]  # one at most at each event
    assert starts(made(9)) == [0, 4, 2, 3]


def test_the_tables() -> None:
    """The documentation's table is the register's, and one more policy is one more row."""
    docs = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8").splitlines()
    built_in = register.markdown_table()
    first = docs.index(built_in[0])
    assert docs[first : first + len(built_in) + 1] == [*built_in, ""]
    policy("last-come-first", summary="the last in line, when it fits", reference="nobody")(last_come)
    assert register.markdown_table()[-1] == "| `last-come-first` | the last in line, when it fits | nobody |"
    with pytest.raises(loynes.UsageError, match=r"balanced-splitting, last-come-first"):
        find_policy("lottery")


def test_policies_have_what_tables_need() -> None:
    assert list(policies())[:5] == ["fcfs", "first-fit", "easy", "easy-sjbf", "conservative"]
    for name, one in policies().items():
        assert isinstance(one, Policy)
        assert (one.name, one.digest, str(one), one.key) == (name, "", name, name)
        assert one.summary
        assert one.option is None or one.option.help
        assert one.option is None or one.option.default is None or one.option.default >= one.option.least
