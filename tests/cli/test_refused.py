"""What hostile people typed once: each is one line that names the field, exit code 2 or 3, nothing shown or written,
and quickly, before it is paid for."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from odd_lines import BAD, DONE, MODEL, MODELS, UNSTABLE, TooLongError, bounded, run, there, write_files

RECORDED = Path(__file__).parents[1] / "recorded"
ERLANG = {"law": "erlang", "phases": 10**9, "mean": 1.0}
# Of processor time: what is refused is refused before it is computed. Loading what is needed is part of it.
MOST_SECONDS = 5.0


def one(**changes: Any) -> dict[str, Any]:
    """A model of one class."""
    only = {"name": "a", "need": 1, "probability": 1.0, "service": {"law": "exponential", "mean": 1.0}}
    return {"servers": 4, "arrivals": {"rate": 0.5}, "classes": [only | changes]}


ODD = {
    "phases.json": one(service=ERLANG),
    "more-phases.json": one(service=ERLANG | {"phases": 10**400}),
    "wide.json": one(service={"law": "bounded_pareto", "low": 1e-100, "high": 1e100, "shape": 0.001}),
    "gaps.json": {
        "servers": 4,
        "classes": [
            {"name": name, "need": 1, "service": {"law": "exponential", "mean": 1.0}, "arrivals": arrivals}
            for name, arrivals in (
                ("a", {"process": "renewal", "gap": ERLANG}),
                ("b", {"process": "poisson", "rate": 1.0}),
            )
        ],
    },
    "all-lost.json": MODEL | {"scenario": [{"from": 1, "until": 2, "lost": "101%"}]},
    "of-which.json": {
        "resources": {"cpu": 8, "gpu": 2},
        "classes": [{"need": {"cpu": 1}, "probability": 1.0, "service": {"law": "exponential", "mean": 1.0}}],
        "scenario": [{"from": 1, "until": 2, "lost": 1}],
    },
    "stiff.json": one(service={"law": "coxian", "rates": [1e100, 2.0], "continue": [0.5]}),
    "crews.json": {
        "servers": 100_000,
        "classes": [
            {"name": name, "need": need, "probability": 0.5, "service": {"law": "exponential", "mean": mean}}
            for name, need, mean in (("a", 1, 1.0), ("b", 77, 2.0))
        ],
    },
    "no-classes.json": {"servers": 4, "scenario": [{"from": 1, "until": 2, "lost": 1}]},
}
ONES, MANY = [1.0] * 200, [[1.0] * 400] * 400
OF_NODES = {key: MODELS[-2][key] for key in ("arrivals", "classes")}
ODD |= {
    "long.json": one(service=ERLANG | {"phases": 8000}),
    "many-phases.json": one(service={"law": "phase_type", "initial": [1.0], "generator": MANY}),
    "many-rates.json": one(service={"law": "coxian", "rates": ONES, "continue": []}),
    "many-moves.json": one() | {"arrivals": {"process": "map", "d0": MANY, "d1": [[1.0]], "rate": 1.0}},
    "many-values.json": one(service={"law": "empirical", "values": [1] * 1_000_001}),
    "many-kinds.json": OF_NODES | {"nodes": [{"count": 1, "has": {f"r{k}": 1 for k in range(100_000)}}]},
    "many-losses.json": MODEL | {"scenario": [{"from": k, "until": k + 2, "lost": 3} for k in range(20_000)]},
}
DEEP = "[" * 100_000
CASES = [
    ("exact phases.json", "a erlang service of 1e+09 phases, whose rates would take 7.45e+09 GiB; at most 8192"),
    ("exact long.json", "1.7088e+14 states, more than max-states 500000"),
    (f"exact long.json --max-states {10**18}", "of 1.7088e+14 states in 8000 stages would take 3.07e+10 GiB"),
    ("check many-phases.json", "service.generator: has 400 entries, at most 100 are taken"),
    ("check many-rates.json", "class 'a': service.rates: has 200 entries, at most 100 are taken"),
    ("check many-moves.json", "arrivals.d0: has 400 entries, at most 100 are taken"),
    ("check many-values.json", "service.values: has 1000001 entries, at most 1000000 are taken"),
    ("check many-kinds.json", "nodes[0].has: has 100000 entries, at most 1000 are taken"),
    ("check many-losses.json", "scenario: at time 1 6 servers are lost, of 4"),
    ("check zeros.toml", "zeros.toml: cannot be read: begins with zeros, as no text does"),
    ("evaluate zeros.json", "zeros.json: cannot be read: begins with zeros, as no text does"),
    ("report zeros.json -o new.html", "zeros.json: cannot be read: begins with zeros, as no text does"),
    ("replay zeros.csv --servers 4", "zeros.csv: cannot be read: begins with zeros, as no text does"),
    ("eta zeros.csv --servers 4", "zeros.csv: cannot be read: begins with zeros, as no text does"),
    ("replay month.csv --servers 12 --outage zeros.toml", "cannot be read: begins with zeros, as no text does"),
    ("replay month.csv --servers 12 --policy zeros.py", "cannot be read: begins with zeros, as no text does"),
    ("replay wide.csv --servers 4", "wide.csv: has 100003 columns, at most 10000 are read"),
    ("replay month.csv --servers 12 --outage deep.toml", "outage 'deep.toml': is nested too deeply"),
    ("replay month.csv --servers 12 --outage from=1,until=2,lost=1,lost=2", "lost is given twice"),
    ("replay month.csv --servers 12 --outage from=1,until=2,lost=1,lost.cpu=2", "lost is given twice"),
    ("replay month.csv --nodes 3 --has cpu=4,cpu=5", "cpu is given twice"),
    ("eta now.csv --servers 8 --what-if limit=4h,need=" + "9" * 5000, "need must be a whole number of at least 1"),
    ("resume foreign", "does not say what was asked; the folder cannot be resumed"),
    ("check more-phases.json", "service.phases = 1000"),
    ("check gaps.json", "1000000000 phases together"),
    ("simulate stiff.json --jobs 20 --replicas 2", "service: rates of up to 1e+100 beside a mean of 0.25"),
    ("plan nodes.json --slo mean(wait)<=9 --vary servers -o new-folder", "servers"),
    ("evaluate model.json --rate 100 -o new-folder", "rate 100 per min is unstable"),
    ("evaluate model.json --rate 100 -o folder", "rate 100 per min is unstable"),
    ("evaluate wide.json", "rate 0.5 is unstable"),
    ("exact crews.json --max-states 1000000000", "states in 2 stages would take 24.7 GiB, more than 4"),
    ("check all-lost.json", "scenario[0]: lost = '101%': must be at most 100%"),
    ("check of-which.json", "scenario[0].lost = 1: must say of which resource"),
    ("check no-classes.json", "classes: is missing"),
    ("check model.json --set servers=" + "9" * 5000, "servers = "),
    ("check model.json --set servers=" + DEEP, "servers"),
    ("report deep.json", "not a result of loynes"),
    ("report .json", ".json: cannot be read"),
    ("sweep model.json --loads 0:1:1e-9999999", "loads: '0:1:1e-9999999'"),
    ("sweep model.json --loads 0:1e999999:1", "loads: '0:1e999999:1'"),
    ("sweep model.json --loads 1e28:1e28:1", "load 1e+28 is unstable"),
    ("sweep model.json --rates 90,91", "all 2 points are unstable"),
    ("plan model.json --slo mean(wait)<=1 --most nan", "most nan: must be"),
    ("plan model.json --slo mean(wait)<=1 --most 1e30", "most 1e+30: must be at most 1000000"),
    ("simulate model.json --policy smash --window 1" + "0" * 30, "window: must be at most 2^53"),
    ("simulate model.json --policy quick-swap --threshold 1" + "0" * 30, "threshold: must be at most 2^53"),
    ("simulate model.json --policy smash --window 1e30", "'--window'"),
    ("simulate model.json --horizon 1e300", "jobs in 512 replicas, weeks or more on one machine"),
    ("simulate model.json --jobs 1099511627776", "weeks or more on one machine"),
    ("simulate model.json --rate 1e100 --horizon 5", "weeks or more on one machine"),
    ("sample model.json -o ", "output path must not be empty"),
    ("replay month.csv --servers 12 --policies fcfs,easy --policy msr", "policy or policies, not both"),
    ("compare month.csv --servers 12 --policies fcfs,easy --policy msr", "policy or policies, not both"),
    ("replay month.csv --servers 12 --run-times 1e-300", "run-times 1e-300: must be at least 1e-06"),
    ("replay month.csv --servers 12 --scale 1e-300", "no job is left at scale 1e-300"),
    ("replay month.csv --nodes 999999999 --has cpu=4", "nodes 999999999: must be at most 100000"),
    ("advise model.json --rate 1 --jobs 99999999999 --replicas 1000", "weeks or more on one machine"),
    ("compare model.json --policies fcfs,easy --rates 1 --jobs 99999999999", "weeks or more on one machine"),
    ("compare model.json --policies fcfs --rates 1", "name at least two"),
    ("compare month.csv --servers 12 --policies fcfs,easy --user-limit \udc80", "user-limit"),
    ("plan model.json --partition --rate 1 --jobs 99999999999", "weeks or more on one machine"),
    ("evaluate ", "model: no file and no built-in model is named"),
    ("sensitivity model.json --load 0.5 --seed " + "9" * 400, "must be at most 18446744073709551615"),
    ("check model.json --workers 999999999", "workers 999999999: must be at least 1 and at most"),
    ("evaluate", "Missing argument 'MODEL|LOG'; see loynes evaluate -h"),
    ("evalute model.json", "No such command 'evalute'"),
    ("evaluate model.json --rates 1", "No such option: --rates"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("refused")
    write_files(place, RECORDED)
    for name, document in ODD.items():
        (place / name).write_text(json.dumps(document))
    for name in ("zeros.toml", "zeros.json", "zeros.csv", "zeros.py"):
        with (place / name).open("wb") as file:
            file.truncate(1 << 30)
    (place / "wide.csv").write_text("submit,need,service," + ",".join(map(str, range(100_000))) + "\n")
    (place / "deep.toml").write_text("scenario = " + DEEP)
    (place / "foreign").mkdir()
    (place / "foreign" / "run.json").write_text(DEEP)
    return place


@pytest.mark.parametrize(("line", "said"), CASES, ids=[line[:50] for line, _ in CASES])
def test_refused(line: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["loynes"])
    before, began = there(folder), time.process_time()
    ended = run(line.split(" "))
    assert ended.code in (BAD, UNSTABLE), ended
    assert said in ended.err
    assert (ended.err.count("\n"), ended.out) == (1, "")
    assert ended.err.startswith("loynes: ")
    assert len(ended.err) < 1000
    assert there(folder) == before
    assert time.process_time() - began < MOST_SECONDS


def test_large_models_are_judged_quickly(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """100,000 servers, and 10,000 classes: `check` took minutes."""
    monkeypatch.chdir(folder)
    service = {"law": "exponential", "mean": 1.0}
    classes = [{"name": f"c{k}", "need": k % 1000 + 1, "probability": 1e-4, "service": service} for k in range(10_000)]
    two = [{"name": n, "need": need, "probability": 0.5, "service": service} for n, need in (("a", 1), ("b", 77))]
    for model in ({"servers": 1000, "classes": classes}, {"servers": 100_000, "classes": two}):
        (folder / "large.json").write_text(json.dumps({**model, "arrivals": {"rate": 0.1}}))
        began = time.process_time()
        assert run(["check", "large.json"]).code == DONE
        assert time.process_time() - began < 4 * MOST_SECONDS


def test_a_program_that_prints_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `eta --run` runs is ended, and nothing of it is kept in memory; one that fails says why."""
    monkeypatch.setattr("loynes.traces.snapshots.read.MOST_PRINTED", 1 << 20)
    endless = [sys.executable, "-c", "while True: print('x' * 1000)"]
    ended = run(["eta", "--run", shlex.join(endless), "--servers", "8", "--quiet"])
    assert (ended.code, ended.err.count("\n")) == (BAD, 1)
    assert "printed more than 1 MiB, which is no list of jobs" in ended.err
    failing = [sys.executable, "-c", "import sys; sys.exit('no such cluster')"]
    ended = run(["eta", "--run", shlex.join(failing), "--servers", "8", "--quiet"])
    assert (ended.code, ended.err.count("\n")) == (BAD, 1)
    assert "ended with 1: no such cluster" in ended.err


def test_times_beyond_all_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are answered, without a word of Python's about it."""
    monkeypatch.chdir(folder)
    line = ["eta", "now.csv", "--servers", "8", "--draws", "8", "--within", "1e300", "--quiet", "--json"]
    ended = run(line)
    assert ended.code == DONE, ended.err
    assert json.loads(ended.out)["command"] == "eta"


def test_time_is_bounded_in_these_tests() -> None:
    """What holds the fuzz tests' processor time ends a loop that has no end."""

    def endless() -> None:
        with bounded():
            while True:
                pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("odd_lines.MOST_SECONDS", 0.05)
        with pytest.raises(TooLongError):
            endless()
