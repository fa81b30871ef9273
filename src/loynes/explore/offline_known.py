"""What a page by itself holds from the command line: a threshold, waits at some loads, first jobs of the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import TimeUpError, UnstableError
from loynes.estimate import Estimate, student
from loynes.estimators.measures import Waits
from loynes.execution.context import Context
from loynes.execution.deadline import Deadline
from loynes.execution.progress import Progress, duration, silent
from loynes.execution.steps import Steps
from loynes.explore.asked import FIRST_JOBS, FIRST_WIDTH
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
# What all questions together may take, in seconds, and of what is left the next one: so a large model gets a few good
# points, and the page says which are missing.
TIME, OF_THRESHOLD, OF_POINT = 180.0, 0.25, 0.35
# Loads are asked for from here on outwards; a point that has less than so many seconds is not begun.
MIDDLE, LEAST = 0.7, 0.5
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
class Point:
    """What was answered at a load; or why nothing was."""

    load: float
    result: Evaluation | None
    why: str = ""
    seconds: float = 0.0  # that it might have taken


@dataclass(frozen=True)
class Known:
    """The answers, and the model they are of: by load, and at the model's own rate, if it says one."""

    model: Model
    threshold: Threshold
    points: tuple[Point, ...]
    seconds: float  # that all might have taken
    of_threshold: float  # and this one


def known_of(
    model: Model,
    loads: tuple[float, ...] = LOADS,
    precision: float = PRECISION,
    progress: Progress = silent,
    deadline: Deadline | None = None,
) -> Known:
    """Ask for the threshold and for waits at the model's own rate and at the loads, as the command line does.

    It ends by the deadline, with what is known by then; but a threshold there must be.
    """
    deadline = Deadline(TIME) if deadline is None else deadline
    own = () if model.rate is None else (model.rate,)
    then = sum(map(_weight, loads)) + len(own)
    steps, part = Steps(Context("cpu", progress)), deadline.within(OF_THRESHOLD)
    watched = steps.next(1.0, then, "threshold").progress
    threshold = _threshold_of(model, watched, part, deadline)
    points = []
    options = {"precision": precision, "seed": SEED}
    for rate in own:
        then -= 1.0
        load, watched = rate / threshold.threshold.estimate, steps.next(1.0, then, f"rate {rate:g}").progress
        points.append(_point_of(Evaluate.of(model, **options), load, watched, deadline))
    for load in sorted(loads, key=lambda load: abs(load - MIDDLE)):
        then -= _weight(load)
        watched = steps.next(_weight(load), then, f"load {load}").progress
        points.append(_point_of(Evaluate.of(model, load=load, **options), load, watched, deadline))
    ordered = tuple(sorted(points, key=lambda point: point.load))
    return Known(model, threshold, ordered, deadline.seconds or TIME, part.seconds or TIME)


def _threshold_of(model: Model, progress: Progress, part: Deadline, whole: Deadline) -> Threshold:
    """The threshold within a part of the time, or a first bracket, which takes little but to compile, in all of it."""
    try:
        result = ask(Stability.of(model, seed=SEED), progress=progress, deadline=part)
    except TimeUpError:
        if whole.passed:
            raise
        first = Stability.of(model, precision=FIRST_WIDTH, max_jobs=FIRST_JOBS, seed=SEED)
        result = ask(first, progress=progress, deadline=whole)
    assert isinstance(result, Threshold)
    return result


def _weight(load: float) -> float:
    return 1.0 / (1.0 - load)


def _point_of(question: Evaluate, load: float, progress: Progress, whole: Deadline) -> Point:
    """The answer within a part of the time that is left."""
    part = whole.within(OF_POINT)
    seconds = part.seconds or TIME
    if whole.left < LEAST:
        return Point(load, None, "there was no time left for it")
    try:
        result = ask(question, progress=progress, deadline=part)
    except UnstableError as error:
        return Point(load, None, str(error))
    except TimeUpError:  # also where a part of the question had less time than the whole of it
        pass
    except KeyboardInterrupt:
        if not whole.asked and not part.passed:
            raise
    else:
        assert isinstance(result, Evaluation)
        return Point(load, result, result.why, seconds)
    return Point(load, None, f"nothing was known after {duration(seconds)}", seconds)


def known_data(known: Known) -> dict[str, Any]:
    """The answers as the page holds them, with what its kernel needs besides the table."""
    return {
        "seed": SEED,
        "confidence": CONFIDENCE,
        "factors": [0.0, 0.0] + [student(CONFIDENCE, count) for count in range(2, MOST_REPLICAS + 1)],
        "precision": REACHED,
        "seconds": SECONDS,
        "threshold": shown(known.threshold.threshold)
        | {"command": _command(Stability, known.threshold, known.of_threshold)},
        "ideal": known.model.ideal,
        "points": [_point(point) for point in known.points],
        "written": duration(known.seconds),
        "check": first_jobs(known.model),
    }


def _command(question: type[Question], result: Result, seconds: float) -> str:
    """The command line that answers the same; with the time that it had, where that ended it."""
    return command_line(question, result.question) + (f" --time {seconds:.3g}s" if result.stopped else "")


def _point(point: Point) -> dict[str, Any]:
    result = point.result
    if result is None:
        return {"load": point.load, "why": readable(point.why)}
    waits = [result.overall, *result.classes.values()]
    system = result.system
    kinds = [one.hol_loss for one in system.resources.values()] or [system.hol_loss]
    return {
        "load": point.load,
        "rate": result.rate,
        "standing": result.standing,
        "why": readable(result.why),
        "burnIn": result.details.get("burn_in", 0),
        "warnings": list(map(readable, result.warnings)),
        "command": _command(Evaluate, result, point.seconds),
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
