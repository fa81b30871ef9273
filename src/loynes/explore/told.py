"""What the page is told of answers: plain numbers, the text that a table shows, and the command that asks again."""

from __future__ import annotations

import math
from typing import Any

from loynes.estimate import Estimate
from loynes.estimators.measures import System
from loynes.questions.asking.command_line import command_line
from loynes.questions.asking.question import Question
from loynes.results.base import Result
from loynes.results.records.comparison import Comparison
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.exact import ClassWait, Exact
from loynes.results.records.simulation import Simulation
from loynes.results.records.threshold import Threshold
from loynes.results.tails import Tails


def told(question: Question, result: Result) -> dict[str, Any]:
    """An answer, with the command line that gives it again; which parts there are depends on the question."""
    # A result does not keep how long it might have taken; asked again, it should end as this one did.
    limit = {"time": int(time)} if (time := getattr(question, "time", None)) else {}
    event = {
        "warnings": list(result.warnings),
        "command": command_line(type(question), question.options() | limit),
        "precision": getattr(question, "precision", None),
    }
    match result:
        case Threshold():
            return event | {"threshold": shown(result.threshold), "ideal": result.ideal}
        case Comparison():
            return event | {
                "overall": shown(result.overall.wait["mean"]),
                "classes": {name: shown(one.wait["mean"]) for name, one in result.classes.items()},
            }
        case Exact():
            return event | _exact(result)
        case Evaluation():
            return event | _evaluated(result)
        case Simulation():
            return event | _looked_at(result)
        case _:
            raise TypeError(f"{type(result).__name__}: the page shows no such answer")


def from_below(result: Evaluation) -> dict[str, Any]:
    """A short run from the empty cluster: waits are at least its lower ends, and that is all that is said of them.

    Chances to find enough servers free are largest in an empty cluster: they are at most its upper ends. Servers at
    work are known exactly; what is lost to blocking has no bound from such a run, nor have tails. No command gives it.
    """
    system = result.system
    return {
        "warnings": list(result.warnings), "command": "", "precision": None, "standing": "at least",
        "rate": result.rate, "jobs": result.jobs, "overall": _bounds(result.overall),
        "classes": {name: _bounds(one) for name, one in result.classes.items()},
        "system": {"busy": shown(system.busy_servers), "blocked": None, "idle": None, "jobs_waiting": None},
        "tails": None,
    }  # fmt: skip


def _bounds(waits: Any) -> dict[str, Any]:
    wait = waits.wait
    least = {name: _at_least(getattr(wait, name)) for name in ("mean", "p95", "p99")}
    most = waits.no_wait.high
    return least | {"no_wait": {"estimate": most, "low": 0.0, "high": most, "text": f"at most {most:.2g}"}}


def _at_least(value: Estimate) -> dict[str, Any]:
    low = max(value.low, 0.0)
    return {"estimate": low, "low": low, "high": None, "text": f"at least {low:.3g}"}


def _looked_at(result: Simulation) -> dict[str, Any]:
    """A first look under a policy: no interval is told, as none holds what starting empty leaves out."""
    waits = {name: _about_waits(one) for name, one in {"": result.overall, **result.classes}.items()}
    busy = Estimate.exact(result.rate * result.model.work)
    return {
        "standing": "first look", "rate": result.rate, "jobs": result.jobs,
        "overall": waits.pop(""), "classes": waits,
        "system": {"busy": shown(busy), "blocked": None, "idle": None, "jobs_waiting": None},
        "tails": None,
    }  # fmt: skip


def _about_waits(waits: Any) -> dict[str, Any]:
    wait = waits.wait
    figures = {"mean": wait.mean, "p95": wait.p95, "p99": wait.p99, "no_wait": waits.no_wait}
    return {name: _about(value) for name, value in figures.items()}


def _about(value: Estimate) -> dict[str, Any] | None:
    if not math.isfinite(value.estimate):
        return None
    return {"estimate": value.estimate, "low": None, "high": None, "text": f"about {value.estimate:.2g}"}


def _exact(result: Exact) -> dict[str, Any]:
    found: dict[str, Any] = {"threshold": shown(Estimate.exact(result.threshold)), "ideal": result.model.ideal}
    if result.rate is None or result.overall is None:
        return found
    busy = result.rate * result.model.work
    blocked = None if result.hol_loss is None else Estimate.exact(result.hol_loss)
    waiting = None if result.mean_jobs is None else result.mean_jobs - result.rate * result.model.mean_service
    return found | {
        "rate": result.rate, "load": result.load, "standing": "exact", "jobs": 0, "seconds": result.seconds,
        "overall": _exact_waits(result.overall),
        "classes": {name: _exact_waits(one) for name, one in result.classes.items()},
        "system": _bar(Estimate.exact(busy), _units(result) - busy, blocked)
        | {"jobs_waiting": None if waiting is None else shown(Estimate.exact(waiting))},
        "tails": _tails(result.tails),
    }  # fmt: skip


def _units(result: Exact | Evaluation) -> int:
    return result.model.units[result.model.bottleneck]


def _exact_waits(one: ClassWait) -> dict[str, Any]:
    figures = {"mean": one.mean, "no_wait": one.no_wait} | {k: one.percentiles.get(k) for k in ("p95", "p99")}
    return {name: None if value is None else shown(Estimate.exact(value)) for name, value in figures.items()}


def _evaluated(result: Evaluation) -> dict[str, Any]:
    """Waits by class, the state of the cluster, and P(wait > x)."""
    system: System = result.system
    apart = result.is_estimate and not result.details["starts"]["agree"]
    return {
        "threshold": shown(result.threshold), "ideal": result.model.ideal,
        "rate": result.rate, "load": result.load, "standing": "unsettled" if apart else result.standing,
        "jobs": result.jobs, "seconds": result.seconds,
        "overall": _waits(result.overall),
        "classes": {name: _waits(one) for name, one in result.classes.items()},
        "system": _bar(system.busy_servers, system.idle_servers, system.hol_loss)
        | {"jobs_waiting": shown(system.jobs_waiting)},
        "tails": _tails(result.tails),
    }  # fmt: skip


def _bar(busy: Estimate, idle: Estimate | float, blocked: Estimate | None) -> dict[str, Any]:
    """What servers do: work, stand empty because of who is at the head of the line, or stand empty as nobody waits.

    The last is what idles less what is blocked; its interval is as wide as both ends of these two allow.
    """
    all_idle = idle if isinstance(idle, Estimate) else Estimate.exact(idle)
    rest = all_idle if blocked is None else less(all_idle, blocked).within(0.0, math.inf)
    return {
        "busy": shown(busy),
        "blocked": None if blocked is None else shown(blocked),
        "idle": shown(rest) if blocked is not None else None,
    }


def less(first: Estimate, second: Estimate) -> Estimate:
    """The difference of two, with all that their intervals allow."""
    return Estimate(first.estimate - second.estimate, first.low - second.high, first.high - second.low)


def _waits(waits: Any) -> dict[str, Any]:
    wait = waits.wait
    return {"mean": shown(wait.mean), "p95": shown(wait.p95), "p99": shown(wait.p99), "no_wait": shown(waits.no_wait)}


def _tails(tails: Tails | None) -> dict[str, Any] | None:
    if tails is None:
        return None
    return {"x": list(tails.x), "classes": {name: list(one.estimate) for name, one in tails.classes.items()}}


def shown(value: Estimate) -> dict[str, Any]:
    """An estimate with the text that tables show."""
    return value.to_dict() | {"text": str(value)}
