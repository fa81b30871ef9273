"""What the page is told of a state: the answers of the questions, in order, and what is a bound is said to be one."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import loynes
from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.explore.asked import BESIDE, LOOKED_AT, LOOKS, Asking, facts_of
from loynes.explore.state import State, first_state, state_of
from loynes.explore.subject import service_of
from loynes.explore.told import less, told
from loynes.explore.what_ifs import what_ifs
from loynes.explore.worker import Worker
from loynes.model import load
from loynes.questions.asking.ask import ask
from loynes.questions.asking.question import Question
from loynes.questions.evaluate import Evaluate
from loynes.results.base import Result
from loynes.results.records.evaluation import Evaluation

LOG = Path(__file__).parents[1] / "recorded" / "log.swf"
EXAMPLES = Path(__file__).parents[2] / "examples"
MODEL: dict[str, Any] = {
    "servers": 8,
    "arrivals": {"rate": 1.0},
    "classes": [
        {"name": "small", "need": 1, "probability": 0.75, "service": {"law": "gamma", "shape": 2.0, "mean": 1.0}},
        {"name": "wide", "need": 6, "probability": 0.25, "service": {"law": "exponential", "mean": 1.0}},
    ],
}


def events_of(state: State, *also: Any) -> list[dict[str, Any]]:
    return list(Asking(state, also, ask).events())


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    return events_of(first_state(load(MODEL)))


def test_what_is_known_soonest_comes_first_and_holds_the_last(events: list[dict[str, Any]]) -> None:
    assert [event["kind"] for event in events][:4] == ["threshold", "waits", "threshold", "waits"]
    bracket, bound, threshold, *_, waits = events
    assert waits["precision"] == 0.01
    assert bracket["threshold"]["low"] <= threshold["threshold"]["estimate"] <= bracket["threshold"]["high"]
    assert bound["standing"] == "at least"
    assert waits["standing"] == "certified"
    for name in ("small", "wide"):
        first, last = bound["classes"][name], waits["classes"][name]
        assert first["mean"]["high"] is None
        assert first["mean"]["low"] <= last["mean"]["high"]
        assert first["no_wait"]["high"] >= last["no_wait"]["low"]
    answer = loynes.evaluate(MODEL, rate=1.0, precision=waits["precision"])
    assert waits["overall"]["mean"]["estimate"] == answer.overall.wait.mean.estimate
    # All three parts of the bar have intervals, and make up the servers.
    bar = waits["system"]
    assert sum(bar[name]["estimate"] for name in ("busy", "blocked", "idle")) == pytest.approx(8)
    width = bar["blocked"]["high"] - bar["blocked"]["low"]
    assert bar["idle"]["high"] - bar["idle"]["low"] == pytest.approx(width)
    assert width > 0


def test_a_small_chain_is_answered_exactly_and_at_once() -> None:
    classes = [MODEL["classes"][0] | {"service": {"law": "exponential", "mean": 1.0}}, MODEL["classes"][1]]
    events = events_of(first_state(load(MODEL | {"classes": classes})))
    assert [event["kind"] for event in events] == ["threshold", "waits"]
    assert events[1]["standing"] == "exact"
    answer = loynes.exact(MODEL | {"classes": classes}, rate=1.0)
    assert answer.overall is not None
    mean, system = events[1]["overall"]["mean"], events[1]["system"]
    assert mean["low"] == mean["high"] == answer.overall.mean
    # Little: those who wait are the rate times the mean wait.
    assert system["jobs_waiting"]["estimate"] == pytest.approx(answer.overall.mean)
    assert system["blocked"]["estimate"] == answer.hol_loss


def test_an_unstable_state_says_so() -> None:
    state = state_of({"model": MODEL, "rate": 3.2})
    events = events_of(state)
    assert "unstable" in next(event for event in events if event["kind"] == "waits")["unstable"]
    assert not any("overall" in event for event in events)


def test_the_command_that_is_shown_has_the_limit_of_the_page(events: list[dict[str, Any]]) -> None:
    commands = [event["command"] for event in events if event.get("standing") != "at least"]
    assert len(commands) == len(events) - 1  # no command gives the first bounds
    assert all(command.endswith(" --time 120") for command in commands)
    # It is one that the command line takes: the same question, but for the time that it may take.
    assert events[-1]["command"].startswith("loynes evaluate model.toml --rate 1.0 ")


def test_under_a_policy_short_runs_are_looked_at_first_and_no_digit_of_them_is_said_to_be_sure() -> None:
    state = first_state(load(MODEL)).model_copy(update={"policy": "easy"})
    events = Asking(state, (), ask).events()
    first = next(event for event in events if event["kind"] == "waits")
    then = next(event for event in events if event["kind"] == "waits")
    assert [first["standing"], then["standing"]] == ["first look", "estimate"]
    looked = loynes.simulate(MODEL, rate=1.0, policy="easy", replicas=LOOKS, jobs=LOOKED_AT)
    assert first["command"].startswith("loynes simulate model.toml --policy easy --rate 1.0 ")
    mean = first["overall"]["mean"]
    assert mean["estimate"] == looked.overall.wait.mean.estimate
    assert mean["text"].startswith("about ")
    assert all(one["low"] is one["high"] is None for one in first["overall"].values())
    # What is said of the servers holds without a run.
    assert first["system"]["busy"]["low"] == first["system"]["busy"]["high"] == 1.0 * load(MODEL).work


@pytest.mark.parametrize("name", ["five-class-exponential", "one-or-all", "two-class-200"])
def test_what_work_alone_says_of_the_threshold_is_there_at_once_and_holds_it(name: str) -> None:
    facts = facts_of(first_state(load(name)))
    assert 0 < facts["bounds"]["low"] <= loynes.exact(name).threshold <= facts["bounds"]["high"] <= facts["ideal"]


def test_a_threshold_is_asked_again_only_where_the_model_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    worker, asked = Worker(out), list[str]()
    answer = Worker._asked

    def counted(self: Worker, number: int, question: Question) -> Result:
        asked.append(question.command)
        if isinstance(question, Evaluate):
            raise KeyboardInterrupt  # not of interest here
        return answer(self, number, question)

    monkeypatch.setattr(Worker, "_asked", counted)
    for number, changes in enumerate([{}, {"rate": 1.1}, {"model": MODEL | {"servers": 9}}, {}], 1):
        worker.do({"job": number, "state": first_state(load(MODEL)).model_dump() | changes})
    assert asked.count("stability") == 2 * 2  # a first bracket and a closer one, of two models
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    brackets = [one["threshold"] for one in told if one["kind"] == "threshold"]
    assert brackets[0] == brackets[2] == brackets[6]
    assert brackets[1] == brackets[3] == brackets[7] != brackets[5]


def test_differences_of_two_runs_hold_all_that_their_intervals_allow() -> None:
    assert less(Estimate(5.0, 4.0, 7.0), Estimate(2.0, 1.5, 3.0)) == Estimate(3.0, 1.0, 5.5)
    state = first_state(load(MODEL)).model_copy(update={"policy": "easy"})
    pinned = state_of(state.model_dump() | {"policy": "easy", "pinned": {"model": MODEL, "rate": 1.0}})

    def ask_coarsely(question: Question) -> Result:
        """Answers nothing that takes longer than the difference does, which is then what is left."""
        if getattr(question, "precision", 1.0) != BESIDE:
            raise UsageError("not here")
        return ask(question)

    event = next(e for e in Asking(pinned, (), ask_coarsely).events() if e["kind"] == "difference")
    assert "two runs" in event["how"]
    strict, easy = (
        loynes.evaluate(MODEL, rate=1.0, precision=0.05, policy=policy).overall.wait.mean for policy in ("fcfs", "easy")
    )
    assert event["overall"]["estimate"] == easy.estimate - strict.estimate
    assert event["overall"]["low"] == easy.low - strict.high


def test_two_starts_that_do_not_agree_are_no_estimate() -> None:
    question = Evaluate.of(MODEL, rate=1.0, policy="easy", precision=0.5)
    result = ask(question)
    assert isinstance(result, Evaluation)
    assert told(question, result)["standing"] == "estimate"
    apart = replace(result, details=result.details | {"starts": result.details["starts"] | {"agree": False}})
    assert told(question, apart)["standing"] == "unsettled"


@pytest.mark.parametrize(
    ("subject", "names"),
    [
        ("five-class-exponential",
         ["one server more", "without T15", "T15 half as long", "needs of at most 10"]),
        ("five-class-pareto", ["one server more", "without T15", "T15 half as long", "needs of at most 10"]),
        ("cpu-gpu-mix", ["one gpu more", "without large-training", "large-training half as long"]),
        (str(EXAMPLES / "shared-nodes.toml"), ["one gpu node more", "without training", "training half as long"]),
    ],
)  # fmt: skip
def test_what_ifs_change_what_they_say(subject: str, names: list[str]) -> None:
    model = load(subject)
    found = {one.name: one for one in what_ifs(model, 1.0)}
    assert list(found) == names
    more, without, half, *_ = found.values()
    assert sum(more.model.units) > sum(model.units)
    assert len(without.model.classes) == len(model.classes) - 1
    kept = {c.label: c.probability for c in model.classes}
    for one in without.model.classes:  # every other class comes as often as before
        assert one.probability * without.rate == pytest.approx(kept[one.label])
    for before, after in zip(model.classes, half.model.classes, strict=True):
        scale = 0.5 if f"{before.label} half as long" == half.name else 1.0
        assert after.service.mean == pytest.approx(scale * before.service.mean)
        assert after.service.variation == pytest.approx(before.service.variation)


def test_of_a_log_there_is_a_fitted_model_beside_its_own_waits() -> None:
    service = service_of(str(LOG))
    fitted = loynes.fit(str(LOG), law="fit", compare=False)
    assert service.recorded is not None
    assert service.recorded.jobs == fitted.jobs
    for name, value in fitted.replayed.items():
        assert service.recorded.waits[name]["estimate"] == value.estimate
    names = {c["name"] for c in facts_of(service.state)["classes"]}
    assert names | {"all jobs"} == set(fitted.replayed)
    assert service.state.policy == fitted.policy
    begins = service.start()
    assert begins["recorded"]["source"] == fitted.source
    # It begins with what the address can hold, and every class can be edited.
    assert len(service.state.to_address()) < 4000
    assert all(c["service"]["law"] == "fit" for c in begins["state"]["model"]["classes"])
