"""What-ifs about a log: the same jobs, but for what is changed about them.

All but `scale` change the log once and for all; a scaled log is put together anew in every resample (`workloads`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Ints
from loynes.errors import TraceError, UsageError
from loynes.traces.resampling import DAY, HOUR
from loynes.traces.trace import Trace, rows_of
from loynes.traces.units import unit_named

NIGHT_BEGINS, NIGHT_ENDS = 20.0, 6.0  # o'clock


@dataclass(frozen=True)
class Changes:
    """What to change about the jobs of a log."""

    scale: float = 1.0  # times as many jobs, of the same kinds
    max_need: int | None = None  # larger jobs run on so many servers, longer in proportion
    without: tuple[str, ...] = ()  # jobs of these users or classes are not there: alice, user=alice, queue=batch
    run_times: float = 1.0  # every run time, times this
    limits: float = 1.0  # every requested time, times this; jobs that run longer are ended then
    to_night: tuple[str, ...] = ()  # jobs of these classes that come by day come when the night begins
    # By a little, for sensitivities: run times of a class times a factor; one of so many jobs of a class left out; jobs
    # of a class on one more server.
    stretched: tuple[tuple[str, float], ...] = ()
    fewer: tuple[tuple[str, int], ...] = ()
    wider: tuple[str, ...] = ()
    larger: str = "stretch"  # what becomes of jobs that need more than max_need: stretch, split, refuse
    kill_at_limit: bool = False  # jobs that run longer than was requested are ended then
    need_of: str | None = None  # the resource that max_need counts, where there are several

    @property
    def texts(self) -> tuple[str, ...]:
        """In words, one each."""
        texts = [] if self.scale == 1.0 else [f"{self.scale:g} times as many jobs"]
        if self.max_need is not None:
            what = {"stretch": "", "split": ", larger ones in pieces", "refuse": ", larger ones refused"}[self.larger]
            unit = unit_named(self.need_of or "servers")
            texts.append(f"no job on more than {self.max_need} {unit}{what}")
        texts += [f"without {name}" for name in self.without]
        texts += [] if self.run_times == 1.0 else [f"run times times {self.run_times:g}"]
        texts += [] if self.limits == 1.0 else [f"requested times times {self.limits:g}"]
        texts += ["jobs ended at their limits"] if self.kill_at_limit and self.limits == 1.0 else []
        return (*texts, *(f"{name} by night" for name in self.to_night))


def changed(trace: Trace, changes: Changes, names: list[str], group: Ints) -> tuple[Trace, Ints]:
    """The log with the changes, and the class of each of its jobs; `names` and `group` are those of the log itself.

    Times stay the log's own, so that its first job may now come later than 0: days are the same days.
    """
    for name in changes.without:
        kept = ~_chosen(trace, name, names, group)
        trace, group = rows_of(trace, kept), group[kept]
        if trace.jobs == 0:
            raise TraceError(f"{trace.source}: no job is left without {name}")
    for name, every in changes.fewer:
        chosen = _chosen(trace, name, names, group)
        kept = ~(chosen & (np.cumsum(chosen) % every == 0))
        trace, group = rows_of(trace, kept), group[kept]
    if changes.max_need is not None and changes.larger != "stretch":
        unit = unit_named(changes.need_of or "servers")
        trace, group = _without_larger(trace, group, changes.max_need, changes.larger == "split", unit)
    service, need, requested, demand = trace.service, trace.need, trace.requested, trace.demand
    for name, factor in changes.stretched:
        service = np.where(_chosen(trace, name, names, group), service * factor, service)
    for name in changes.wider:
        need = need + _chosen(trace, name, names, group)
    if changes.run_times != 1.0:
        service = service * changes.run_times
    if changes.max_need is not None:
        # The same work on fewer servers: as long as it takes if it speeds up in proportion.
        need = np.maximum(need, 1)  # of several resources, a job may need none of one
        smaller = np.minimum(need, changes.max_need)
        demand = _in_proportion(demand, need, smaller)
        service, need = service * (need / smaller), smaller
    if changes.limits != 1.0 or changes.kill_at_limit:
        if requested is None:
            option = "limits" if changes.limits != 1.0 else "kill-at-limit"
            raise UsageError(f"{option}: {trace.source} has no requested times")
        requested = requested * changes.limits
        service = np.fmin(service, requested)
    labels = trace.labels if requested is None else trace.labels | {"requested_time": requested}
    trace = replace(trace, service=service, need=need, labels=labels, demand=demand)
    for name in changes.to_night:
        trace, group = _to_night(trace, _chosen(trace, name, names, group), group)
    return trace, group


def _without_larger(trace: Trace, group: Ints, most: int, split: bool, unit: str) -> tuple[Trace, Ints]:
    """Jobs that need more are split into pieces that run as long, beside each other or not; or they are left out."""
    large = trace.need > most
    if not split:
        if large.all():
            raise TraceError(f"{trace.source}: every one of its jobs needs more than {most} {unit}")
        refused = {f"refused: needs more than {most} {unit}": int(large.sum())} if large.any() else {}
        return replace(rows_of(trace, ~large), skipped=trace.skipped | refused), group[~large]
    pieces = np.maximum(-(-trace.need // most), 1)
    index = np.repeat(np.arange(trace.jobs), pieces)
    last = np.zeros(len(index), np.bool_)
    last[np.cumsum(pieces) - 1] = True
    # All pieces are as large as they may be, but for the last, which has the rest.
    need = np.where(last, trace.need[index] - (pieces[index] - 1) * most, np.minimum(trace.need[index], most))
    whole = rows_of(trace, index)
    return replace(whole, need=need, demand=_in_proportion(whole.demand, whole.need, need)), group[index]


def _in_proportion(demand: dict[str, Ints], need: Ints, smaller: Ints) -> dict[str, Ints]:
    """What jobs need of every resource once they need less of one: their part of it, rounded up."""
    less = smaller < need
    part = {name: -(-(units * smaller) // np.maximum(need, 1)) for name, units in demand.items()}
    return {name: np.where(less, part[name], units) for name, units in demand.items()}


def _chosen(trace: Trace, name: str, names: list[str], group: Ints) -> NDArray[np.bool_]:
    """The jobs of a class, of a user, or with a label's value."""
    label, equals, value = name.partition("=")
    if equals and label in trace.labels:
        chosen = trace.labels[label].astype(np.str_) == value
    elif name in names:
        chosen = group == names.index(name)
    elif "user" in trace.labels:
        chosen = trace.labels["user"].astype(np.str_) == name
    else:
        chosen = np.zeros(trace.jobs, np.bool_)
    if not chosen.any():
        known = ", ".join(trace.labels) or "none"
        raise UsageError(
            f"{name!r}: {trace.source} has no class or user of that name; classes are {', '.join(names)}; "
            f"or say LABEL=VALUE, with one of its labels: {known}"
        )
    return np.asarray(chosen, np.bool_)


def _to_night(trace: Trace, chosen: NDArray[np.bool_], group: Ints) -> tuple[Trace, Ints]:
    """Jobs that come by day are submitted when the night begins, in the order they came in."""
    clock = ((0.0 if trace.origin is None else trace.origin) + trace.submit) % DAY / HOUR
    late = chosen & (clock >= NIGHT_ENDS) & (clock < NIGHT_BEGINS)
    submit = np.where(late, trace.submit + (NIGHT_BEGINS - clock) * HOUR, trace.submit)
    order = np.argsort(submit, kind="stable")
    return rows_of(replace(trace, submit=submit), order), group[order]
