"""What a page by itself holds from the command line: a threshold, waits at some loads, first jobs of the reference."""

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
from loynes.readable import readable
from loynes.results.base import Result
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.threshold import Threshold

LOADS = (0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95)
PRECISION = 0.02
# What each question may take, in seconds; where nothing is known by then, the page says so.
TIME = 30.0
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
    """The answers, and the model they are of: by load, and at the model's own rate, if it says one that it can take.

    There is none where there was no time for it.
    """

    model: Model
    threshold: Threshold
    points: dict[float, Evaluation | None]
    own: Evaluation | None


def known_of(
    model: Model, loads: tuple[float, ...] = LOADS, precision: float = PRECISION, progress: Progress = silent
) -> Known:
    """Ask for the threshold and for waits at the loads, and at the model's own rate, as the command line does."""
    steps, then = Steps(Context("cpu", progress)), sum(map(_weight, loads))
    threshold = ask(Stability.of(model, seed=SEED, time=TIME), progress=steps.next(1.0, then, "threshold").progress)
    assert isinstance(threshold, Threshold)
    points: dict[float, Evaluation | None] = {}
    for load in loads:
        then -= _weight(load)
        question = Evaluate.of(model, load=load, precision=precision, seed=SEED, time=TIME)
        points[load] = _waits(question, steps.next(_weight(load), then + 1.0, f"load {load}").progress)
    own = None
    if model.rate is not None:
        question = Evaluate.of(model, precision=precision, seed=SEED, time=TIME)
        own = _waits(question, steps.next(1.0, 0.0, f"rate {model.rate:g}").progress)
    return Known(model, threshold, points, own)


def _weight(load: float) -> float:
    return 1.0 / (1.0 - load)


def _waits(question: Evaluate, progress: Progress) -> Evaluation | None:
    """The answer; None where the line grows for ever, or where nothing is known in time."""
    with suppress(UnstableError, TimeUpError):
        result = ask(question, progress=progress)
        assert isinstance(result, Evaluation)
        return result
    return None


def known_data(known: Known) -> dict[str, Any]:
    """The answers as the page holds them, with what its kernel needs besides the table."""
    points = [_point(load, result) for load, result in known.points.items()]
    if known.own is not None:
        points.append(_point(known.own.load, known.own))
    return {
        "seed": SEED,
        "confidence": CONFIDENCE,
        "factors": [0.0, 0.0] + [student(CONFIDENCE, count) for count in range(2, MOST_REPLICAS + 1)],
        "precision": REACHED,
        "seconds": SECONDS,
        "threshold": shown(known.threshold.threshold) | {"command": _command(Stability, known.threshold)},
        "ideal": known.model.ideal,
        "points": sorted(points, key=lambda point: float(point["load"])),
        "check": first_jobs(known.model),
    }


def _command(question: type[Question], result: Result) -> str:
    """The command line that answers the same; with the time that it had, where that ended it."""
    return command_line(question, result.question) + (f" --time {TIME:g}s" if result.stopped else "")


def _point(load: float, result: Evaluation | None) -> dict[str, Any]:
    if result is None:
        return {"load": load, "why": "nothing was known in time"}
    waits = [result.overall, *result.classes.values()]
    system = result.system
    kinds = [one.hol_loss for one in system.resources.values()] or [system.hol_loss]
    return {
        "load": load,
        "rate": result.rate,
        "standing": result.standing,
        "why": readable(result.why),
        "burnIn": result.details.get("burn_in", 0),
        "warnings": list(map(readable, result.warnings)),
        "command": _command(Evaluate, result),
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
