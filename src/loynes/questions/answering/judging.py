"""Whether an answer meets objectives: `--slo` of evaluate and simulate."""

from __future__ import annotations

from collections.abc import Sequence

from loynes.estimate import Estimate
from loynes.questions.answering.objectives import HasMeasures, Objective, objectives_of
from loynes.results.judged import Judged, Met

# Known from the model alone, whatever was sampled (the utilization law).
KNOWN = ("busy_servers", "utilization", "idle_servers")
STRADDLES = "the bound lies within the interval"
MET: dict[int, Met] = {1: "yes", -1: "no", 0: "unsure"}


def asked_of(
    texts: Sequence[str], classes: Sequence[str], time_unit: str | None, slowdowns: bool = False
) -> tuple[Objective, ...]:
    """The objectives of a question, if it has any; `slowdowns` says whether bounded slowdowns will be known."""
    return objectives_of(texts, classes, time_unit, searched=False, slowdowns=slowdowns) if texts else ()


def with_tails(exceeds: Sequence[float], objectives: Sequence[Objective]) -> tuple[float, ...]:
    """What must be asked for: the x of every P(wait > x)."""
    return tuple(sorted({*exceeds, *(x for one in objectives for x in one.exceeds)}))


def with_percentiles(asked: Sequence[float], objectives: Sequence[Objective]) -> tuple[float, ...]:
    """Percentiles that must be asked for."""
    return tuple(sorted({*asked, *(q for one in objectives for q in one.percentiles)}))


def judged(
    objectives: Sequence[Objective],
    result: HasMeasures,
    *,
    lower: str = "",
    unbounded: Sequence[str] = (),
    unsettled: str = "",
) -> tuple[Judged, ...]:
    """Every objective with its value in a result, and whether it is met.

    `lower` says why the result is only a lower bound of waits, where it is: then whatever grows with the workload may
    be larger, and what falls with it smaller. Of metrics that are `unbounded`, the interval need not hold the truth; of
    none does it where the result is `unsettled`, which says why, so that nothing is then shown to be met.
    """
    return tuple(_judged(one, one.value(result), lower, unbounded, unsettled) for one in objectives)


def _judged(objective: Objective, value: Estimate, lower: str, unbounded: Sequence[str], unsettled: str) -> Judged:
    metric, verdict, why = objective.metric, objective.met_by(value), ""
    if verdict > 0 and unsettled:
        verdict, why = 0, unsettled
    elif verdict and metric.name in unbounded:
        verdict, why = 0, "its interval is not proved to hold the truth"
    elif verdict and lower and metric.name not in KNOWN and not _safe(objective, verdict):
        verdict, why = 0, lower
    elif not verdict:
        why = STRADDLES if value.low < value.high else "it is not known"
    of = f" of {objective.of}" if objective.of else ""
    return Judged(objective.text, f"{metric.label}{of}", objective.bound, value, MET[verdict], why, metric.unit)


def _safe(objective: Objective, verdict: int) -> bool:
    """Whether a verdict stays right if waits are longer than they seem: it says that things are bad."""
    says_large = (verdict > 0) == objective.at_least
    return says_large if objective.metric.grows > 0 else not says_large if objective.metric.grows < 0 else False
