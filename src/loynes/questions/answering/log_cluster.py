"""What recorded jobs are run on: servers, resources or nodes, and how much a user may hold; and which jobs fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Ints
from loynes.errors import TraceError, UsageError
from loynes.kernels.events.layout import NEVER, Layout, Rules
from loynes.model.nodes import MOST_NODES
from loynes.model.sizes import MOST_SERVERS
from loynes.questions.answering.log_nodes import LogNodes, PlacedJobs, asked_nodes, placed
from loynes.questions.answering.orders import Order
from loynes.questions.asking.changed import ChangedLog
from loynes.questions.asking.logs import ONLY_KIND, LogOnCluster
from loynes.traces.jobs import NEEDS_NONE
from loynes.traces.trace import TOO_LARGE, Trace, work_of
from loynes.traces.units import unit_named

OVER_LIMIT = "needs more than a user may hold"
NO_LIMIT = -1
# What is varied of a cluster of nodes.
NODES = "nodes"


class UserLimits(NamedTuple):
    """How much the jobs of every user may hold at once, in units of every kind; NO_LIMIT of others."""

    label: str  # who is a user
    own: tuple[int, ...]
    borrow: tuple[int, ...] | None = None  # beyond that, as long as others leave it of theirs


@dataclass(frozen=True)
class Cluster:
    """What recorded jobs are run on."""

    counts: tuple[tuple[str, int], ...]  # of every resource, or of servers alone; none where there are nodes
    nodes: LogNodes | None = None
    limits: UserLimits | None = None

    @property
    def units(self) -> dict[str, int]:
        """How much there is of every kind."""
        return dict(self.counts) if self.nodes is None else self.nodes.units

    @property
    def kinds(self) -> tuple[str, ...]:
        """Resources of logs; none where servers are of one kind, whatever a log calls it."""
        names = tuple(self.units)
        return () if names == (ONLY_KIND,) and self.nodes is None else names

    @property
    def sizes(self) -> tuple[str, ...]:
        """What there may be more or less of: resources, servers, or nodes of an entry."""
        if self.nodes is None:
            return tuple(self.units)
        names = self.nodes.names
        return (NODES,) if len(names) == 1 else tuple(f"{NODES}.{name}" for name in names)

    @property
    def servers(self) -> int:
        """Of the first kind."""
        return next(iter(self.units.values()))

    def size(self, name: str) -> int:
        """How much there is of what may be more or less."""
        return self.units[name] if self.nodes is None else int(self.nodes.counts[self.sizes.index(name)])

    def on(self, count: int, name: str = "") -> Cluster:
        """With so much of a kind, or so many nodes of an entry; by default of the first."""
        name = name or self.sizes[0]
        if self.nodes is not None:
            if not 1 <= count <= MOST_NODES:
                raise UsageError(f"{name} {count}: must be between 1 and {MOST_NODES}")
            return replace(self, nodes=self.nodes.with_count(self.sizes.index(name), count))
        return replace(self, counts=tuple((one, count if one == name else there) for one, there in self.counts))

    @property
    def text(self) -> str:
        """96 servers; 64 cpus, 8 gpus; 16 nodes of cpu 64 gpu 4."""
        if self.nodes is not None:
            return ", ".join(one.text for one in self.nodes.entries)
        return ", ".join(f"{count} {unit_named(name)}" for name, count in self.counts)

    @property
    def limits_in_words(self) -> dict[str, object]:
        """What users may hold, as details of a result."""
        limits = self.limits
        if limits is None:
            return {}
        found: dict[str, object] = {"user_limit": _named(limits.own, self)}
        found |= {} if limits.borrow is None else {"user_borrow": _named(limits.borrow, self)}
        return found | ({} if limits.label == "user" else {"user_label": limits.label})

    def check(self, order: Order) -> None:
        """Refuse a policy that cannot run there."""
        rule, name = order.rule, order.policy
        if len(self.units) > 1 and rule.identical_servers_only:
            raise UsageError(f"policy {name!r}: is for identical servers")
        if self.limits is None:
            return
        if rule.keeps_place:
            raise UsageError(f"policy {name!r}: it stops jobs by itself, and knows no limits of users")
        if rule.prepare is not None:
            raise UsageError(f"policy {name!r}: is computed for the mix of jobs, and knows no limits of users")


def jobs_on(question: ChangedLog) -> tuple[Trace, LogNodes | None]:
    """A question's log, with jobs that need any of what there is, and the nodes, where there are some.

    Where a resource is counted by --max-need, it is what jobs' needs are.
    """
    nodes = asked_nodes(question)
    if nodes is not None and question.predict == "last-two":
        raise UsageError("predict 'last-two': is for pools of servers, not for nodes")
    recorded = recorded_on(question, nodes)
    kinds = tuple(question.resources) if nodes is None else nodes.kinds
    if question.max_need is None:
        if question.max_need_of is not None:
            raise UsageError(f"max-need-of {question.max_need_of!r}: means nothing without --max-need")
        return recorded, nodes
    name = question.max_need_of or (kinds[0] if len(kinds) == 1 else "")
    if not kinds and name:
        raise UsageError(f"max-need-of {name!r}: is for several resources; servers are of one kind")
    if not kinds:
        return recorded, nodes
    if name not in kinds:
        said = f"max-need-of {name!r}: must be one" if name else f"max-need {question.max_need}: say --max-need-of, one"
        raise UsageError(f"{said} of {', '.join(kinds)}")
    return replace(recorded, need=recorded.demand[name], unit=unit_named(name)), nodes


def recorded_on(question: LogOnCluster, nodes: LogNodes | None) -> Trace:
    """The log, without the jobs that need nothing of what there is."""
    if nodes is not None and (question.resources or question.servers is not None or question.unit is not None):
        raise UsageError("nodes: say what there is; servers, unit and resources are for a cluster without them")
    kinds = tuple(question.resources) if nodes is None else nodes.kinds
    recorded = question.recorded(kinds)
    if question.resources:
        question.check_resources(recorded, question.resources)
    for kind in kinds:
        if kind not in recorded.demand:
            told = ", ".join(recorded.demand) or "none"
            raise UsageError(f"has {kind!r}: {recorded.source} does not tell of it; it tells of: {told}")
    if not kinds:
        return recorded
    recorded = recorded.select(np.any([recorded.demand[kind] > 0 for kind in kinds], axis=0), NEEDS_NONE)
    if not recorded.jobs:
        raise TraceError(f"{recorded.source}: no job needs any of these resources")
    return recorded


def cluster_of(question: LogOnCluster, recorded: Trace, nodes: LogNodes | None) -> Cluster:
    """What a question's jobs are run on."""
    if nodes is not None:
        cluster = Cluster((), nodes)
    elif question.resources:
        cluster = Cluster(tuple(question.resources.items()))
    else:
        cluster = on_servers(question.servers_of(recorded))
    if not isinstance(question, ChangedLog):
        return cluster
    return replace(cluster, limits=_limits(question, recorded, cluster.units))


def by_scarce(recorded: Trace, units: Mapping[str, int]) -> Trace:
    """What is used most of several resources is what a job's need counts."""
    scarce = max(units, key=lambda name: work_of(recorded.demand[name], recorded.service) / units[name])
    return replace(recorded, need=recorded.demand[scarce], unit=unit_named(scarce))


def on_servers(count: int) -> Cluster:
    """So many servers of one kind."""
    if not 1 <= count <= MOST_SERVERS:
        raise UsageError(f"servers {count}: must be between 1 and {MOST_SERVERS}")
    return Cluster(((ONLY_KIND, count),))


def _limits(question: ChangedLog, recorded: Trace, units: Mapping[str, int]) -> UserLimits | None:
    """How much users may hold, as it is asked for."""
    label = question.user_label
    if not question.user_limit:
        for name, given, usual in (("user-borrow", question.user_borrow, {}), ("user-label", label, "user")):
            if given != usual:
                raise UsageError(f"{name}: means nothing without --user-limit")
        return None
    if label not in recorded.labels:
        known = ", ".join(recorded.labels) or "none"
        said = f"{recorded.source} has no label {label!r} that says whose a job is"
        raise UsageError(f"user-limit: {said}; it has: {known}")
    own = _by_kind("user-limit", question.user_limit, units)
    borrow = _by_kind("user-borrow", question.user_borrow, units) if question.user_borrow else None
    return UserLimits(label, own, borrow)


def _by_kind(option: str, given: Mapping[str, int], units: Mapping[str, int]) -> tuple[int, ...]:
    """Units of every kind; NO_LIMIT where there is none."""
    kinds = tuple(units)
    if set(given) == {ONLY_KIND} and len(kinds) == 1:
        given = {kinds[0]: given[ONLY_KIND]}
    for name in given:
        if name == ONLY_KIND and name not in kinds:
            raise UsageError(f"{option} {given[name]}: say of which resource: {kinds[0]}={given[name]}")
        if name not in kinds:
            raise UsageError(f"{option} {name!r}: no such resource; there are: {', '.join(kinds)}")
    return tuple(given.get(kind, NO_LIMIT) for kind in kinds)


class JobClasses(NamedTuple):
    """Jobs as the events know them: those of a class need the same, and count against the same limit."""

    job_class: Ints
    demand: Ints  # [class, kind]
    layout: Layout | None = None
    rules: Rules | None = None


@dataclass(frozen=True)
class FittingJobs:
    """The jobs of a log that can run on a cluster."""

    cluster: Cluster
    jobs: Trace  # on nodes with what all their tasks take
    kept: NDArray[np.bool_]  # of the log, which these are
    placed: PlacedJobs | None = None
    placed_class: Ints = field(default_factory=lambda: np.empty(0, np.int64))  # of every job of these

    @property
    def servers(self) -> int:
        return self.cluster.servers

    @property
    def details(self) -> dict[str, object]:
        """In words: nodes and tasks, and the limits of users."""
        nodes, found = self.cluster.nodes, dict[str, object]()
        if nodes is not None and self.placed is not None:
            found |= nodes.details | {"tasks": self.placed.assumption}
        return found | self.cluster.limits_in_words

    @property
    def needs(self) -> Ints:
        """[job, kind]."""
        kinds = self.cluster.kinds
        return np.array([self.jobs.demand[kind] for kind in kinds]).T if kinds else self.jobs.need[:, None]

    @cached_property
    def classes(self) -> JobClasses:
        """The jobs as classes, with nodes and limits."""
        if self.placed is None:
            demand, job_class = np.unique(self.needs, axis=0, return_inverse=True)
        else:
            demand, job_class = self.placed.demand, self.placed_class
        place = np.arange(len(demand))
        job_class, rules = job_class.ravel().astype(np.int64), None
        if self.cluster.limits is not None:
            users, user = np.unique(self.jobs.labels[self.cluster.limits.label], return_inverse=True)
            pairs, job_class = np.unique(job_class * len(users) + user.ravel(), return_inverse=True)
            place, holder = pairs // len(users), pairs % len(users)
            rules = _rules(self.cluster, self.cluster.limits, holder, len(users))
        layout = None
        if self.placed is not None and self.cluster.nodes is not None:
            layout = self.placed.layout(self.cluster.nodes, place)
        return JobClasses(
            job_class.ravel().astype(np.int64), np.ascontiguousarray(demand[place], np.int64), layout, rules
        )


def _named(amounts: tuple[int, ...], cluster: Cluster) -> str:
    named = [f"{n} {unit_named(kind)}" for kind, n in zip(cluster.units, amounts, strict=True) if n != NO_LIMIT]
    return ", ".join(named)


def _rules(cluster: Cluster, limits: UserLimits, holder: Ints, users: int) -> Rules:
    """Every user holds a quota; where they lend, all of them are one cohort."""
    kinds = len(limits.own)
    # Those that are never reached are alike, and their sum is no huge number.
    own = [min(one, 2 * there) for one, there in zip(limits.own, cluster.units.values(), strict=True)]
    borrow = (NO_LIMIT,) * kinds if limits.borrow is None else tuple(
        NO_LIMIT if own == NO_LIMIT else max(more, 0) for own, more in zip(limits.own, limits.borrow, strict=True)
    )  # fmt: skip
    return Rules(
        priority=np.zeros(len(holder), np.int64),
        preemption=NEVER,
        holder=holder.astype(np.int64),
        quota=np.tile(np.array(own, np.int64), (users, 1)),
        cohort=np.full(users, -1 if limits.borrow is None else 0, np.int64),
        borrow=np.tile(np.array(borrow, np.int64), (users, 1)),
    )


def fitting(log: Trace, cluster: Cluster) -> FittingJobs:
    """The jobs that can ever run there; the others are counted as skipped, each with why."""
    on_nodes = None if cluster.nodes is None else placed(log, cluster.nodes)
    if on_nodes is not None:
        kept = on_nodes.tasks[on_nodes.job_class] > 0
        where = on_nodes.demand[on_nodes.job_class]
        log = replace(log, demand=log.demand | {kind: where[:, k] for k, kind in enumerate(cluster.kinds)})
    elif cluster.kinds:
        needs = np.array([log.demand[kind] for kind in cluster.kinds])
        kept = np.all(needs <= np.array(list(cluster.units.values()))[:, None], axis=0)
    else:
        kept = log.need <= cluster.servers
    if not kept.any():
        if cluster.kinds:
            there = "these resources" if on_nodes is None else "these nodes"
            raise TraceError(f"{log.source}: not one of its {log.jobs} jobs fits {there}")
        raise TraceError(f"{log.source}: every one of its {log.jobs} jobs needs more than {cluster.servers} servers")
    jobs = log.select(kept, TOO_LARGE)
    if cluster.limits is not None:
        allowed = _within(jobs, cluster, cluster.limits)
        if not allowed.any():
            raise TraceError(f"{log.source}: every one of its jobs {OVER_LIMIT}")
        jobs, kept = jobs.select(allowed, OVER_LIMIT), _narrowed(kept, allowed)
    if on_nodes is None:
        return FittingJobs(cluster, jobs, kept)
    return FittingJobs(cluster, jobs, kept, on_nodes, on_nodes.job_class[kept])


def _narrowed(kept: NDArray[np.bool_], allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of the jobs that were kept, those that are allowed."""
    narrow = kept.copy()
    narrow[kept] = allowed
    return narrow


def _within(jobs: Trace, cluster: Cluster, limits: UserLimits) -> NDArray[np.bool_]:
    """The jobs that need no more than a user may ever hold."""
    users = len(np.unique(jobs.labels[limits.label]))
    needs = np.array([jobs.demand[kind] for kind in cluster.kinds]) if cluster.kinds else jobs.need[None]
    most = []
    for place, own in enumerate(limits.own):
        lent = 0 if limits.borrow is None else min(max(limits.borrow[place], 0), own * (users - 1))
        most.append(np.iinfo(np.int64).max if own == NO_LIMIT else own + lent)
    return np.asarray(np.all(needs <= np.array(most)[:, None], axis=0))
