"""What a page by itself holds from the command line: a threshold, a sweep, and the first jobs by the reference."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import TimeUpError, UnstableError
from loynes.estimate import Estimate, student
from loynes.estimators.measures import Waits
from loynes.execution.context import Context
from loynes.execution.progress import Progress, silent
from loynes.execution.steps import Steps
from loynes.explore.offline_table import packed
from loynes.inputs.jobs import Jobs, assignment_words, draw, places
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import JobTable, job_table
from loynes.kernels import reference
from loynes.model import Model
from loynes.questions.asking.ask import ask
from loynes.questions.asking.command_line import command_line
from loynes.questions.asking.question import Question
from loynes.questions.evaluate import Evaluate
from loynes.questions.stability import Stability
from loynes.questions.sweep import AskSweep
from loynes.results.base import Result
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.sweep import Sweep
from loynes.results.records.threshold import Threshold

LOADS = (0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95)
PRECISION = 0.02
# What the sweep may take, in seconds; points that it has no time for say so.
TIME = 120.0
SEED, CONFIDENCE = 1, 0.99
# Student's factors for means of up to so many replicas: as many as the page's kernel has.
MOST_REPLICAS = 64
# What the page computes goes on until these are reached (relative width of the bracket, relative half-width of the mean
# wait), or for so many seconds.
REACHED = {"threshold": 0.005, "waits": 0.005}
SECONDS = 30.0
# Blocks of jobs that the page compares with the reference.
CHECKED = 10


@dataclass(frozen=True)
class Known:
    """The answers, and the model they are of; at the model's own rate, too, where it says one that it can take.

    There is no sweep where there was no time for any of it.
    """

    model: Model
    threshold: Threshold
    sweep: Sweep | None
    own: Evaluation | None


def known_of(
    model: Model, loads: tuple[float, ...] = LOADS, precision: float = PRECISION, progress: Progress = silent
) -> Known:
    """Ask for the threshold and for waits at the loads, and at the model's own rate, as the command line does."""
    steps, own, sweep = Steps(Context("cpu", progress)), None, None
    threshold = ask(Stability.of(model, seed=SEED), progress=steps.next(1.0, 20.0, "threshold").progress)
    if model.rate is not None:
        question = Evaluate.of(model, precision=precision, seed=SEED, time=TIME)
        with suppress(UnstableError, TimeUpError):
            own = ask(question, progress=steps.next(4.0, 16.0, "own rate").progress)
    asked = AskSweep.of(model, loads=loads, precision=precision, seed=SEED, time=TIME)
    with suppress(TimeUpError):
        sweep = ask(asked, progress=steps.next(1.0, 0.0, "sweep").progress)
    assert isinstance(threshold, Threshold)
    assert sweep is None or isinstance(sweep, Sweep)
    assert own is None or isinstance(own, Evaluation)
    return Known(model, threshold, sweep, own)


def known_data(known: Known) -> dict[str, Any]:
    """The answers as the page holds them, with what its kernel needs besides the table."""
    points = []
    if known.sweep is not None:
        asked = command(AskSweep, known.sweep)
        points = [_point(point.config["load"], point.result, point.why, asked) for point in known.sweep.points]
    if known.own is not None:
        points.append(_point(known.own.load, known.own, "", command(Evaluate, known.own)))
    return {
        "seed": SEED,
        "confidence": CONFIDENCE,
        "factors": [0.0, 0.0] + [student(CONFIDENCE, count) for count in range(2, MOST_REPLICAS + 1)],
        "precision": REACHED,
        "seconds": SECONDS,
        "threshold": shown(known.threshold.threshold) | {"command": command(Stability, known.threshold)},
        "ideal": known.model.ideal,
        "points": sorted(points, key=lambda point: float(point["load"])),
        "check": first_jobs(known.model),
    }


def command(question: type[Question], result: Result) -> str:
    """The command line that answers the same."""
    time = f" --time {TIME:g}s" if "time" in question.model_fields and question is not Stability else ""
    return command_line(question, result.question) + time


def _point(load: float, result: Evaluation | None, why: str, asked: str) -> dict[str, Any]:
    if result is None:
        return {"load": load, "why": why}
    waits = [result.overall, *result.classes.values()]
    system = result.system
    kinds = [one.hol_loss for one in system.resources.values()] or [system.hol_loss]
    return {
        "load": load,
        "rate": result.rate,
        "standing": result.standing,
        "why": result.why,
        "burnIn": result.details.get("burn_in", 0),
        "stopped": bool(result.stopped),
        "warnings": list(result.warnings),
        "command": asked,
        "rows": [_row(one) for one in waits],
        "loss": [shown(one) for one in kinds],
    }


def _row(waits: Waits) -> dict[str, Any]:
    return {"mean": shown(waits.wait.mean), "p95": shown(waits.wait.p95), "noWait": shown(waits.no_wait)}


def shown(value: Estimate) -> dict[str, Any]:
    """An estimate with the text that tables show."""
    return value.to_dict() | {"text": str(value)}


def first_jobs(model: Model, blocks: int = CHECKED, seed: int = SEED, replica: int = 0) -> dict[str, Any]:
    """Waits of the first jobs of a replica at 0.6 of the ideal rate, and the workload after them, by the reference."""
    rate = 0.6 * model.ideal
    table = job_table(model, rate)
    workload, waits = np.zeros(model.servers), []
    for block in range(blocks):
        index = np.arange(block * reference.BLOCK, (block + 1) * reference.BLOCK)
        workload, wait = _served(
            table, draw(table, seed, STREAM_STATIONARY, replica, index), workload, seed, replica, index
        )
        waits.append(wait)
    return {
        "rate": rate, "seed": seed, "replica": replica, "blocks": blocks, "waits": packed(np.concatenate(waits)),
        "workload": packed(workload),
    }  # fmt: skip


def _served(table: JobTable, jobs: Jobs, workload: Array, seed: int, replica: int, index: Ints) -> tuple[Array, Array]:
    """The workload after a block of jobs, and their waits."""
    if table.plain:
        after, wait, _ = reference.advance_block(workload, jobs.need, jobs.service, jobs.gap)
        return after, wait
    own = [_specific(table, int(c), seed, replica, int(n)) for c, n in zip(jobs.job_class, index, strict=True)]
    kinds = np.split(workload, np.cumsum(table.units)[:-1])
    demand = table.demand[jobs.job_class]
    vectors, wait, _ = reference.kinds_block(kinds, demand, own, jobs.service, jobs.gap, table.strict)
    return np.concatenate(vectors), wait


def _specific(table: JobTable, job_class: int, seed: int, replica: int, index: int) -> list[Ints]:
    """The places of a job's specific servers, by kind."""
    counts = table.specific[job_class]
    words = assignment_words(seed, STREAM_STATIONARY, replica, index, int(counts.sum()))
    parts = np.split(words, np.cumsum(counts)[:-1])
    return [places(word, int(n), int(units)) for word, n, units in zip(parts, counts, table.units, strict=True)]
