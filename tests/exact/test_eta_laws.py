"""Run times by a model's laws, and recalibration by earlier instants."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import loynes
from loynes.errors import LoynesWarning, UsageError
from loynes.estimators.forecasts import LEVELS
from loynes.kernels.cpu.starts import draw_times
from loynes.kernels.reference import BLOCK
from loynes.questions.answering.model_laws import ModelLaws
from loynes.traces.run_times import RunTimeLaws, remaining
from loynes.traces.snapshot import Snapshot

LINE = Path(__file__).parents[2] / "examples" / "line"
SEED, STREAM = 3, 32
FALSE_ALARM = 1e-6


def model(**service: object) -> loynes.Model:
    """Three classes, in hours: of one server, of one by another law, and of four."""
    laws = [
        {"law": "exponential", "mean": 2.0},
        {"law": "deterministic", "value": 5.0},
        service or {"law": "lognormal", "mean": 3.0, "cv": 1.5},
    ]
    named = zip(("small", "fixed", "large"), (1, 1, 4), (0.3, 0.1, 0.6), laws, strict=True)
    classes = [{"name": n, "need": need, "probability": p, "service": law} for n, need, p, law in named]
    return loynes.load({"servers": 8, "time_unit": "hours", "classes": classes})


def snapshot(need: list[int], elapsed: list[float], limit: list[float], queue: list[str] | None = None) -> Snapshot:
    """In hours; the jobs that have run already are the first."""
    hours = 3600.0
    return Snapshot(
        ids=tuple(map(str, range(len(need)))),
        running=int(np.count_nonzero(elapsed)),
        demand={"servers": np.array(need)},
        elapsed=hours * np.array(elapsed),
        limit=hours * np.array(limit),
        submit=np.zeros(len(need)),
        labels={} if queue is None else {"queue": np.array(queue)},
    )


def drawn(laws: RunTimeLaws, count: int) -> np.ndarray:
    """[draw, job], what is left in hours."""
    times = np.empty((count, len(laws.limit)))
    word = np.empty((4, BLOCK), np.uint64)
    for draw in range(count):
        draw_times(laws, np.uint64(SEED), STREAM, draw, word, times[draw])
    return times / 3600.0


def holds(sample: np.ndarray, cdf: object) -> None:
    assert stats.kstest(sample, cdf).pvalue > FALSE_ALARM


def test_run_times_are_those_of_the_class() -> None:
    """By need, and by the queue's name; given what a job has run; at most its limit."""
    shape = np.sqrt(np.log1p(1.5**2))
    large = stats.lognorm(shape, scale=3.0 / np.exp(shape**2 / 2))
    jobs = snapshot(
        [1, 4, 4, 1, 1], [1.0, 2.5, 0, 0, 0], [1e4, 1e4, 1e4, 1e4, 1.5], ["small", "", "", "fixed", "small"]
    )
    left = drawn(ModelLaws(model()).laws_of(jobs, ("servers",)), 20_000)
    holds(left[:, 0], stats.expon(scale=2.0).cdf)  # exponential: what it has run does not matter
    holds(left[:, 1], lambda x: (large.cdf(x + 2.5) - large.cdf(2.5)) / large.sf(2.5))
    holds(left[:, 2], large.cdf)
    assert left[:, 2].mean() == pytest.approx(3.0, abs=5 * large.std() / np.sqrt(20_000))
    assert np.allclose(left[:, 3], 5.0)
    assert left[:, 4].max() == 1.5
    assert np.mean(left[:, 4] == 1.5) == pytest.approx(np.exp(-0.75), abs=5 * 0.5 / np.sqrt(20_000))


def test_classes_of_one_need_are_mixed_by_their_probabilities() -> None:
    jobs = snapshot([1, 1], [1.0, 0.0], [1e4, 1e4])
    left = drawn(ModelLaws(model()).laws_of(jobs, ("servers",)), 20_000)
    # Given that it has run an hour, the fixed one is likelier than it was.
    fixed = 0.1 / (0.1 + 0.3 * np.exp(-0.5))
    for column, share, at in ((0, fixed, 4.0), (1, 0.25, 5.0)):
        assert np.mean(np.abs(left[:, column] - at) < 0.02) == pytest.approx(share, abs=0.02)


def test_an_unknown_need_has_any_class_and_it_is_said() -> None:
    laws = ModelLaws(model())
    jobs = snapshot([3], [0.0], [1e4])
    found = laws.laws_of(jobs, ("servers",))
    mean = np.mean([remaining(found, (k + 0.5) / 2000)[0] for k in range(2000)]) / 3600
    assert mean == pytest.approx(0.3 * 2 + 0.1 * 5 + 0.6 * 3, rel=0.02)
    assert list(laws.assumed) == ["0"]
    assert not laws.warnings


def test_a_job_beyond_its_law_ends_before_its_limit() -> None:
    jobs = snapshot([4], [6.0], [10.0])
    law = ModelLaws(model(law="deterministic", value=5.0)).laws_of(jobs, ("servers",))
    holds(drawn(law, 4000)[:, 0], stats.uniform(0, 4).cdf)


def test_laws_of_a_model_in_an_answer(tmp_path: Path) -> None:
    """One server, an exponential job that has run for long: the next starts after an exponential time."""
    (tmp_path / "model.toml").write_text(
        'servers = 1\n[[classes]]\nname = "a"\nneed = 1\nprobability = 1\n'
        'service = { law = "exponential", mean = 3600 }\n'
    )
    (tmp_path / "now.csv").write_text("id,state,need,elapsed,limit\n1,R,1,50000,900000\n2,PD,1,,900000\n")
    with pytest.warns(LoynesWarning, match="time_unit"):
        found = loynes.eta(tmp_path / "now.csv", servers=1, laws_of=str(tmp_path / "model.toml"), draws=40_000)
    for probability, said in ((0.5, found.jobs[0].median), (0.9, found.jobs[0].high80), (0.1, found.jobs[0].low80)):
        error = 3600 / (1 - probability) * np.sqrt(probability * (1 - probability) / 40_000)
        assert said == pytest.approx(-3600 * np.log1p(-probability), abs=5 * error)
    assert "laws of" in found.footer


def test_recalibration_is_said_and_used(tmp_path: Path) -> None:
    """A history whose scheduler had other rules: strict order is far off, and where it is off is learnt."""
    ask = {"servers": 64, "history": str(LINE / "history.swf.gz"), "draws": 400}
    plain = loynes.eta(LINE / "squeue.json", **ask)
    better = loynes.eta(LINE / "squeue.json", recalibrate=60, **ask)
    found = better.recalibration
    assert found is not None
    assert plain.recalibration is None
    assert (found.instants, found.truth) == (60, "the history's own starts")
    assert found.judged > 100
    assert "recalibrated on" in better.footer
    assert list(found.levels) == [f"{level:g}" for level in LEVELS]
    assert sorted(found.levels.values()) == list(found.levels.values())
    assert found.held["0.8"] < 0.7  # of the draws of another policy
    # EASY lets jobs pass, so that the line is served otherwise than in turn: what is said of it is wider.
    widths = [sum(one.high80 - one.low80 for one in result.jobs) for result in (plain, better)]
    assert widths[1] > widths[0]
    for one in better.jobs:
        assert one.low95 <= one.low80 <= one.low50 <= one.median <= one.high50 <= one.high80 <= one.high95
        assert all(0 <= chance <= 1 for chance in one.within.values())


def test_recalibration_needs_a_history_in_which_somebody_waits(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="recalibrate: needs a history"):
        loynes.eta(LINE / "squeue.json", servers=64, recalibrate=60)
    text = gzip.decompress((LINE / "history.swf.gz").read_bytes()).decode("ascii").splitlines()
    (tmp_path / "short.swf").write_text("\n".join(text[:400]) + "\n")
    with pytest.warns(LoynesWarning, match="100 are needed"):
        found = loynes.eta(
            LINE / "squeue.json", servers=64, history=str(tmp_path / "short.swf"), recalibrate=5, draws=50
        )
    assert found.recalibration is None


def test_a_recorded_moment_knows_nothing_later(tmp_path: Path) -> None:
    """What comes after the moment may be anything: the answer is the same."""
    text = gzip.decompress((LINE / "history.swf.gz").read_bytes()).decode("ascii").splitlines()
    now = 15 * 86400 + 64800
    altered = []
    for line in text:
        words = line.split()
        if not line.startswith(";") and int(words[1]) > now:
            words[3] = str(int(words[3]) + 1)
        altered.append(" ".join(words))
    answers = []
    for name, lines in (("whole", text), ("altered", altered)):
        (tmp_path / f"{name}.swf").write_text("\n".join(lines) + "\n")
        answers.append(loynes.eta(log=str(tmp_path / f"{name}.swf"), now=now, servers=64, draws=100, recalibrate=40))
    assert answers[0].jobs == answers[1].jobs
    first, second = (answer.recalibration for answer in answers)
    assert first is not None
    assert second is not None
    assert first.levels == second.levels
