"""Work that ends before it is done: when it looks, what state it leaves, and what is known by then."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loynes
from loynes.cli.watch import LONGEST_BAR, SHORTEST_BAR, Watch, fitted
from loynes.errors import TimeUpError
from loynes.execution import chunks
from loynes.execution.context import Context
from loynes.execution.deadline import NEVER, SOON, Deadline, Stopped
from loynes.execution.journal import Journal
from loynes.execution.progress import duration
from loynes.execution.steps import Steps
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.engine import CUT
from loynes.model.units import seconds_of
from loynes.questions.answering.outlook import Outlook
from loynes.questions.asking.ask import ask, resume
from loynes.questions.asking.register import load_all
from loynes.questions.evaluate import Evaluate
from loynes.stationary.forward import Chains

MONTH = str(Path(__file__).parents[1] / "recorded" / "month.csv")
MODEL = str(Path(__file__).parents[1] / "recorded" / "models" / "small.toml")


class Clock:
    """Stands still unless it is told otherwise."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class AfterLooks(Deadline):
    """Has passed at the n-th look."""

    def __init__(self, looks: float, asked: bool = False) -> None:
        super().__init__(1.0, clock=Clock())
        self._looks, self._by_somebody = looks, asked

    def check(self, at: int = 0) -> None:
        self._looks -= 1
        if self._looks <= 0:
            self.note_cut()
            if self._by_somebody:
                self.stop()
            raise Stopped(at)

    def within(self, share: float) -> Deadline:
        return self


def test_a_deadline_passes_when_its_time_is_up_or_somebody_asks() -> None:
    clock = Clock()
    deadline = Deadline(10.0, clock=clock)
    assert (deadline.left, deadline.passed) == (10.0, False)
    clock.now += 4.0
    part = deadline.within(0.5)
    assert part.left == pytest.approx(3.0)
    deadline.spare(1.0)  # a second of the four was for compiling
    assert (deadline.left, part.left) == (pytest.approx(7.0), pytest.approx(4.0))
    clock.now += 5.0
    assert part.passed
    assert not deadline.passed
    with pytest.raises(Stopped) as stopped:
        part.check(17)
    assert stopped.value.at == 17
    assert deadline.cut  # what a part of the work has cut short, the whole has
    assert deadline.unhurried().left == math.inf
    part.stop()
    assert deadline.passed
    assert deadline.unhurried().passed
    assert Deadline().within(0.1).left == NEVER.left == math.inf


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30.0), ("30", 30.0), ("1.5 min", 90.0), ("2h", 7200.0), ("1d", 86400.0), ("250ms", 0.25), ("1e3", 1e3)],
)
def test_durations_are_written_as_people_write_them(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "3 fortnights", "s", "--3s", "1 2s", "nan"])
def test_what_is_no_duration_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        seconds_of(text)
    with pytest.raises(loynes.UsageError, match=r"^time"):
        Evaluate.of(MODEL, load=0.5, time=text)


@pytest.mark.parametrize("wrong", [0, -1, "0s", math.inf])
def test_a_time_is_above_zero(wrong: object) -> None:
    with pytest.raises(loynes.UsageError, match=r"^time .*must be a time above 0, such as 30s"):
        Evaluate.of(MODEL, load=0.5, time=wrong)


def test_the_time_is_no_part_of_the_question() -> None:
    assert Evaluate.of(MODEL, load=0.5, time="2min").time == 120.0
    assert Evaluate.of(MODEL, load=0.5, time="2min").options() == {"load": 0.5}


def test_a_part_of_the_time_is_noticed_as_soon_as_the_whole() -> None:
    assert Deadline(9.0, soon=0.04).within(0.5).unhurried().soon == 0.04
    assert Deadline(9.0).soon == SOON


def chains_of(engine: Any) -> Chains:
    model = loynes.load(MODEL)
    ways: dict[str, Any] = {"seed": 3, "replicas": np.arange(8), "rows": 8, "engine": engine}
    return Chains(job_table(model, 1.0), needs_of(model), 1.0, **ways)


def test_chains_that_are_stopped_are_equally_far_and_go_on_to_the_same_bits() -> None:
    """Also where a stretch is done some rows at a time: what is done of it by then is left."""
    whole = chains_of(Context("cpu").engine)
    whole.observe(3 * CUT)
    for soon in (SOON, 0.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chunks, "LONG", 0.0)  # stretches of one cut
            patch.setattr(chunks, "PROMPT", 0.0)  # as few rows at a time as there can be
            patch.setattr(chunks, "cores", lambda: 1)
            # It looks before every stretch; by four rows at a time, before each of these, too.
            deadline = AfterLooks(3 if soon else 6)
            deadline.soon = soon
            parts = chains_of(Context("cpu", deadline=deadline).engine)
            with pytest.raises(Stopped):
                parts.observe(3 * CUT)
            assert parts.position == (2 * CUT if soon else CUT)
            one_more = parts.tally.looks
            assert one_more.min() == one_more.max() > 0
            parts.catch_up(3 * CUT, Context("cpu").engine)
        for now, then in zip(parts.tally, whole.tally, strict=True):
            assert np.array_equal(now, then)
        assert np.array_equal(parts.workload, whole.workload)


def test_a_journal_keeps_what_a_stopped_run_has_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loynes.execution.journal.CHEAP", -1.0)
    monkeypatch.setattr(chunks, "LONG", 0.0)
    whole = chains_of(Context("cpu").engine)
    whole.observe(2 * CUT)
    first = chains_of(Context("cpu", journal=Journal(tmp_path), deadline=AfterLooks(2)).engine)
    with pytest.raises(Stopped):
        first.observe(2 * CUT)
    told: list[int] = []

    def progress(share: float, text: str) -> None: ...

    progress.simulated = told.append  # type: ignore[attr-defined]
    again = chains_of(Context("cpu", progress, journal=Journal(tmp_path)).engine)
    again.observe(2 * CUT)
    assert told == [8 * CUT]  # the second half only
    assert np.array_equal(again.tally.bins, whole.tally.bins)


def test_workers_leave_the_rows_before_some_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of a run by rows are put in their order, however they come; stopped, those before a gap are there."""
    from loynes.execution import workers

    monkeypatch.setattr(workers, "A_WORKER", 1)
    monkeypatch.setattr(workers, "unpacked", lambda one: one)
    deadline, order, put = Deadline(), [1, 0, 3], list[int]()

    class There:
        by_rows = True

        def put(self, state: Any, rows: Any, after: int) -> None:
            put.append(after)

    with ThreadPoolExecutor(1) as executor:
        spread = workers.Spread(workers.Pool(executor), "cpu", deadline)

        def run(row: int) -> int:
            if row == 3:
                deadline.stop()
            return row

        monkeypatch.setattr(workers, "run_unit", run)
        lines: Any = [iter([(np.array([row]), row)]) for row in (*order, 2)]
        with pytest.raises(Stopped) as stopped:
            spread._hand_out(There(), None, lines, 0)  # type: ignore[arg-type]
    assert put == list(range(stopped.value.at))
    assert deadline.cut


def test_steps_share_what_is_left() -> None:
    told: list[tuple[float, str]] = []
    steps = Steps(
        Context(progress=lambda share, text: told.append((share, text)), deadline=Deadline(8.0, clock=Clock()))
    )
    first = steps.next(1.0, 3.0, "first")
    first.progress(0.0, "a")
    first.progress(1.0, "b")
    second = steps.next(1.0, 9.0, "second")  # more than was thought is left
    second.progress(1.0, "c")
    steps.next(5.0, 0.0).progress(1.0, "d")
    assert told == [
        (0.0, "first; a"), (0.25, "first; b"), (pytest.approx(0.325), "second; c"), (pytest.approx(1.0), "d")
    ]  # fmt: skip
    assert (first.deadline.left, second.deadline.left) == (pytest.approx(2.0), pytest.approx(0.8))


# What is known when the time is up


def stopped_at(looks: float, name: str, asked: bool = False, **options: Any) -> Any:
    return ask(load_all()[name].of(**options), deadline=AfterLooks(looks, asked))


def last_look(name: str, **options: Any) -> int:
    """How often a question looks at its deadline."""
    deadline = AfterLooks(math.inf)
    counted = [0]
    check = deadline.check

    def counting(at: int = 0) -> None:
        counted[0] += 1
        check(at)

    deadline.check = counting  # type: ignore[method-assign]
    ask(load_all()[name].of(**options), deadline=deadline)
    return counted[0]


def test_an_evaluation_says_what_it_knows() -> None:
    options = {"model": MODEL, "load": 0.6, "precision": 0.004, "seed": 5}
    result = stopped_at(last_look("evaluate", **options), "evaluate", **options)
    whole = loynes.evaluate(**options)
    assert result.stopped["by"] == "time"
    assert result.stopped["precision"] == result.overall.wait.mean.relative > 0.004
    assert any("stopped as the time was up" in text and "--time" in text for text in result.warnings)
    assert result.jobs < whole.jobs
    assert result.overall.wait.mean.low < whole.overall.wait.mean.estimate < result.overall.wait.mean.high
    assert result.certificate is not None
    assert type(result).from_dict(result.to_dict()) == result


@pytest.mark.filterwarnings("ignore::loynes.errors.LoynesWarning")
def test_without_time_for_a_certificate_chains_from_empty_are_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage that has used up its part of the time gives way to the next."""
    from loynes.questions.answering import evaluating, long_chains

    monkeypatch.setattr(evaluating, "OF_CERTIFICATE", 0.0)
    result = loynes.evaluate(MODEL, load=0.6, precision=0.2, time=600)
    assert result.method == "forward"
    assert result.why == evaluating.NO_TIME
    assert result.stopped == {"by": "time"}
    monkeypatch.setattr(evaluating, "OF_CERTIFICATE", 0.4)
    monkeypatch.setattr(long_chains, "OF_PAIRS", 0.0)
    result = loynes.evaluate(MODEL, load=0.6, precision=0.2, time=600)
    assert "no time to burn in" in result.why


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("evaluate", {"load": 0.6, "precision": 0.3}),
        ("evaluate", {"load": 0.6, "precision": 0.3, "method": "perfect"}),
        ("stability", {"precision": 0.1}),
        ("simulate", {"load": 0.5, "jobs": 500, "replicas": 6}),
        ("sweep", {"loads": (0.3, 0.5), "samples": 3000}),
        ("compare", {"without": ("all",), "load": 0.5, "samples": 5000}),
    ],
)
def test_enough_time_gives_the_same_bytes(name: str, options: dict[str, Any]) -> None:
    def told(**more: Any) -> dict[str, Any]:
        return dict(_timeless(ask(load_all()[name].of(model=MODEL, **options, **more)).to_dict()))

    assert told(time="1h") == told()


def _timeless(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _timeless(v) for k, v in data.items() if k != "seconds"}
    return [_timeless(value) for value in data] if isinstance(data, list) else data


@pytest.mark.parametrize(
    ("name", "options", "known"),
    [
        ("stability", {"precision": 0.01}, lambda one: one.stopped["precision"] > 0.01),
        ("stability", {"precision": 1e-3, "method": "doubling"}, lambda one: one.threshold.low > 0),
        ("evaluate", {"load": 0.6, "precision": 0.05, "method": "perfect"}, lambda one: one.details["samples"] > 30),
        ("simulate", {"load": 0.5, "jobs": 500, "replicas": 40}, lambda one: 2 <= one.replicas < 40),
        ("sweep", {"loads": (0.3, 0.5), "samples": 3000}, lambda one: one.points[0].result and one.points[1].late),
        ("policies", {"rates": (1.0, 1.2), "jobs": 500, "replicas": 6, "limits": False},
         lambda one: one.points[0].result and one.points[-1].result.replicas < 6),
        ("sensitivity", {"load": 0.5, "samples": 3000, "replicas": 16},
         lambda one: "lack of time" in " ".join(one.remarks)),
        ("compare", {"without": ("all",), "load": 0.5, "samples": 2 * CUT, "replicas": 2},
         lambda one: one.b.stopped["by"] == "time"),
    ],
)  # fmt: skip
def test_all_questions_say_what_they_know(
    name: str, options: dict[str, Any], known: Callable[[Any], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended at the last look but one: the answer has what there is, and says that, and who would have to wait."""
    monkeypatch.setattr(chunks, "LONG", 0.0)
    options = {"model": MODEL, "seed": 7} | options
    result = stopped_at(last_look(name, **options), name, **options)
    assert result.stopped["by"] == "time"
    assert known(result)
    assert any("time" in text for text in result.warnings) or name == "sensitivity"
    assert result.tables[0].rows
    assert type(result).from_dict(result.to_dict()) == result
    with pytest.raises(TimeUpError, match="was up before anything was known"):
        stopped_at(1, name, **options)
    with pytest.raises(KeyboardInterrupt):
        stopped_at(1, name, asked=True, **options)


@pytest.mark.parametrize(
    ("name", "options", "known"),
    [
        ("evaluate-log", {}, lambda one: 2 <= one.resamples < 6),
        ("compare-log", {"policies": ("fcfs", "easy")},
         lambda one: one.cases[0].result.resamples == one.cases[1].result.resamples < 6 and one.cases[1].differences),
        ("sweep-log", {"vary": {"servers": (12, 14)}}, lambda one: len({c.result.resamples for c in one.cases}) == 1),
        ("sensitivity-log", {}, lambda one: one.effects and one.resamples < 6),
    ],
)  # fmt: skip
def test_logs_say_what_they_know(
    name: str, options: dict[str, Any], known: Callable[[Any], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The resamples that are done, the same of all cases."""
    monkeypatch.setattr(chunks, "LONG", 0.0)
    monkeypatch.setattr("loynes.kernels.cpu.engine.FIRST_PART", 100)  # two rows at a time, or one
    options = {"trace": MONTH, "servers": 12, "resamples": 6} | options
    result = stopped_at(last_look(name, **options), name, **options)
    assert result.stopped["by"] == "time"
    assert known(result)
    assert type(result).from_dict(result.to_dict()) == result


def test_a_plan_for_a_log_says_what_it_knows() -> None:
    options: dict[str, Any] = {"trace": MONTH, "servers": 12, "slo": "mean(wait) <= 20000", "resamples": 4}
    whole = ask(load_all()["plan-log"].of(**options, probability=0.7))
    looks = last_look("plan-log", **options, probability=0.7)
    known = 0
    for look in range(1, looks + 1):
        with suppress(TimeUpError):
            result = stopped_at(look, "plan-log", **options, probability=0.7)
            known += 1
            assert result.stopped["by"] == "time"
            assert result.answer >= whole.answer  # type: ignore[attr-defined]
    assert 0 < known < looks


def test_samples_are_written_as_far_as_they_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LONG", 0.0)
    options = {"model": MODEL, "load": 0.5, "samples": 300, "path": str(tmp_path / "w.csv")}
    result = stopped_at(last_look("sample", **options), "sample", **options)
    rows = (tmp_path / "w.csv").read_text().splitlines()
    assert 2 <= result.samples == len(rows) - 1 < 300
    assert "of 300 samples" in result.warnings[-1]


def test_a_run_that_was_out_of_time_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder has the answer so far, and the journal; resumed, it ends as if it had never been stopped."""
    options = {"model": MODEL, "load": 0.6, "precision": 0.004, "seed": 5}
    question = Evaluate.of(**options)
    cut = ask(question, folder=tmp_path / "run", deadline=AfterLooks(last_look("evaluate", **options)))
    assert cut.stopped["by"] == "time"
    assert loynes.read_result(tmp_path / "run") == cut
    assert (tmp_path / "run" / "journal").is_dir()
    whole = resume(tmp_path / "run")
    assert whole == replace(ask(question), seconds=whole.seconds)
    assert not (tmp_path / "run" / "journal").exists()


def test_a_plan_says_what_it_knows() -> None:
    options: dict[str, Any] = {"model": MODEL, "rate": 1.5, "slo": ("mean(wait) <= 9",), "confidence": 0.9}
    looks = last_look("plan", **options)
    whole = loynes.plan(**options)
    seen = set()
    for look in range(looks, 1, -max(looks // 12, 1)):
        try:
            result = stopped_at(look, "plan", **options)
        except TimeUpError:
            continue
        assert result.stopped["by"] == "time"
        assert result.answer >= whole.answer
        seen.add("not shown by a second run" in result.warnings[-1])
    assert seen


def test_a_rate_is_found_to_a_resolution() -> None:
    options: dict[str, Any] = {"vary": "rate", "slo": "utilization <= 0.4", "confidence": 0.9}
    coarse, fine = (loynes.plan(MODEL, **options, resolution=r) for r in (0.2, 0.01))
    assert coarse.adjacent
    assert fine.adjacent
    assert coarse.answer <= fine.answer < coarse.fails_at <= 1.2 * coarse.answer * (1 + 1e-9)
    assert fine.fails_at <= 1.01 * fine.answer * (1 + 1e-9)
    assert len(coarse.tried) < len(fine.tried)
    assert "found to 20%" in coarse.footer
    with pytest.raises(loynes.UsageError, match=r"resolution 0\.1: is for what is no whole number"):
        loynes.plan(MODEL, rate=1.0, slo="utilization <= 0.4", resolution=0.1)


# Progress


def watch() -> tuple[Watch, Clock]:
    clock = Clock()
    return Watch(clock=clock), clock


def test_the_share_never_goes_back_and_grows_with_jobs() -> None:
    bar, _ = watch()
    bar.simulated(100)
    bar(0.2, "a")
    bar.simulated(100)
    assert bar.share == pytest.approx(0.4)
    bar(0.1, "more work than was thought")
    assert bar.share == pytest.approx(0.4)
    bar.simulated(10**6)
    assert bar.share <= 0.99
    bar(1.0, "done")
    assert bar.share == 1.0


def test_the_time_left_is_told_when_it_is_known() -> None:
    bar, clock = watch()
    bar(0.0, "pilot")
    clock.now += 20.0
    bar.simulated(1000)
    assert bar.left is None
    for share in (0.1, 0.2, 0.3, 0.4, 0.5):
        clock.now += 2.0
        bar(share, "")
    assert bar.left == pytest.approx(10.0, rel=0.25)  # by the last seconds, not by those of the pilot


def test_compiling_is_said_and_does_not_count() -> None:
    bar, clock = watch()
    clock.now += 1.0
    bar.compiling(True)
    clock.now += 60.0
    assert bar.text == "compiling, once: about 10 s"
    assert bar.rate == 0.0
    bar.compiling(False)
    bar.simulated(5000)
    assert bar.seconds == pytest.approx(1.0)
    assert bar.rate == pytest.approx(5000.0)


def test_a_limited_time_is_what_progress_is_measured_by() -> None:
    clock = Clock()
    bar = Watch(Deadline(20.0, clock=clock), clock)
    bar(0.01, "far from precise")
    clock.now += 15.0
    assert bar.share == pytest.approx(0.75)
    assert bar.left == pytest.approx(5.0)


@pytest.mark.parametrize("width", [30, 50, 79, 100, 200])
def test_the_bar_is_never_short(width: int) -> None:
    texts = ("mean wait 12.345 ±0.12 (1.02%), and a good deal more to say", "about 12 min left", "25.1 M jobs/s")
    line = fitted(width, "five-class-exponential: evaluate", 0.42, "0:00:12", *texts)
    assert SHORTEST_BAR <= line.bar <= max(LONGEST_BAR, width)
    assert len(line.before) + line.bar + len(line.after) + (2 if line.before else 1) <= width
    assert " 42% 0:00:12" in line.after
    assert ("about 12 min left" in line.after) is (width >= 50)


def test_the_outlook_names_the_limit_that_comes_first() -> None:
    told, announced = [], []
    clock = Clock()

    def progress(share: float, text: str) -> None:
        told.append(share)

    progress.announce = announced.append  # type: ignore[attr-defined]
    wait = loynes.Estimate(10.0, 9.0, 11.0)

    def after(seconds: float, max_jobs: float, time: float | None) -> str:
        outlook = Outlook("forward", Context(progress=progress, deadline=Deadline(time, clock=clock)), 0.01, max_jobs)
        clock.now += seconds
        outlook.told(wait, 10.0, 100.0, 1100.0)
        return str(announced[-1])

    assert after(10.0, 1e9, None) == "1% will take about 16 min"  # 99 times the 10 s
    assert told[-1] == pytest.approx(1100.0 / 100_100.0)
    assert after(10.0, 4100.0, None) == "1% will take about 16 min; stops at max-jobs, at about 5.0%, in 30 s"
    assert told[-1] == pytest.approx(1100.0 / 4100.0)
    assert after(10.0, 1e9, 40.0) == "1% will take about 16 min; stops at the end of the time, at about 5.0%, in 30 s"


def test_durations_for_people() -> None:
    assert [duration(x) for x in (12.3, 89, 360, 6000, 400_000)] == ["12 s", "89 s", "6 min", "1.7 h", "5 days"]
