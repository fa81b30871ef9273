"""A model file to start from: every key with a comment that says what it is, in which unit.

This is the one place where that text is written; `loynes init` fills in the numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

# How busy servers are where nobody says how many there are.
BUSY = 0.6


@dataclass(frozen=True)
class JobKind:
    """A kind of job, as people describe it: mean length in minutes, share in any unit."""

    name: str
    need: int
    mean: float
    share: float
    cv: float = 1.0


SMALL, MEDIUM, LARGE = KINDS = (
    JobKind("small", 1, 10.0, 70.0),
    JobKind("medium", 4, 20.0, 25.0),
    JobKind("large", 8, 30.0, 5.0),
)
SERVERS, JOBS_PER_HOUR = 16, 12.0

HEAD = """\
# A cluster and its jobs, for loynes. What follows a # is a comment. Is the file right, and what does it ask for?
#     loynes check {path}
# How long do jobs wait, and how much more could the cluster take?
#     loynes evaluate {path}
#     loynes stability {path}
name = {name}

# The unit of times that are plain numbers, and of files that are written: seconds, minutes, hours, days, ...
# Times may also say their own: "90 s", "4 min", "1h 30m", "2 days".
time_unit = "minutes"

# How many servers there are: cores, GPUs or whole nodes, whatever jobs take several of at once.
# Of several kinds, say instead:  resources = {{ cpu = 64, gpu = 8 }}
servers = {servers}

# When jobs come.
[arrivals]
# "poisson": one by one, independently of each other. Others (in batches, by the hour of the day): docs/arrivals.md
process = "poisson"
# Jobs of all classes together. It may be left out, and given by --rate '12 per hour' or --load 0.7.
rate = {rate}
"""
FIRST_CLASS = """
# Kinds of jobs: a [[classes]] table for each.
[[classes]]
# What tables call it.
name = {name}
# How many servers a job takes, all at once, from its start to its end (with resources: {{ cpu = 4, gpu = 1 }}).
need = {need}
# The share of jobs that are of this class, from 0 to 1. The shares of all classes sum to 1.
probability = {probability}
# How long a job runs. "exponential" needs a mean alone: most jobs are shorter, a few much longer.
# {{ law = "fit", mean = "10 min", cv = 2.0 }} also says how much they vary: cv is the standard deviation over the mean.
# {{ law = "deterministic", value = "10 min" }} are jobs that are all alike. More laws: docs/models.md
service = {service}
"""
# The same without comments, for the classes that follow.
NEXT_CLASS = "".join(line for line in FIRST_CLASS.splitlines(keepends=True) if not line.startswith("#"))


NODES = """\
# A cluster of nodes and its jobs, for loynes. What follows a # is a comment. Is the file right, what does it ask for?
#     loynes check {path}
# How long do jobs wait, and what do nodes cost beside one pool of all they have?
#     loynes simulate {path} --policy easy
# How many nodes are enough?
#     loynes plan {path} --vary nodes.gpu --policy easy --slo 'p95(wait) <= 1h'
name = {name}

# The unit of times that are plain numbers, and of files that are written: seconds, minutes, hours, days, ...
time_unit = "minutes"

# Which node a task takes of those with room: "pack" (the fullest), "spread" (the emptiest), "first-fit" (the first).
placement = "pack"

# Nodes that are alike: a [[nodes]] table for each kind.
[[nodes]]
# What classes call it.
name = "gpu"
# How many there are.
count = 4
# What each of them has. Amounts are whole numbers, or sizes of memory such as "512 GB" or "64 GiB".
has = {{ cpu = 64, gpu = 8, memory = "512 GB" }}

[[nodes]]
name = "cpu"
count = 2
has = {{ cpu = 128, memory = "256 GB" }}

# When jobs come.
[arrivals]
# "poisson": one by one, independently of each other. Others (in batches, by the hour of the day): docs/arrivals.md
process = "poisson"
# Jobs of all classes together. It may be left out, and given by --rate '12 per hour' or --load 0.7.
rate = {rate}

# Kinds of jobs: a [[classes]] table for each.
[[classes]]
# What tables call it.
name = "training"
# How many pieces a job is made of, which start together and end together.
tasks = 2
# What ONE task takes, all of it on one node.
need = {{ cpu = 32, gpu = 8, memory = "256 GB" }}
# How many tasks of a job may be on the same node.
per_node = 1
# Which nodes it may run on; on all of them, if this is left out.
nodes = ["gpu"]
# Larger goes first. Running jobs are not stopped for it, unless the file says preemption = "restart" or "resume".
priority = 1
# The share of jobs that are of this class, from 0 to 1. The shares of all classes sum to 1.
probability = 0.1
# How long a job runs. "exponential" needs a mean alone: most jobs are shorter, a few much longer.
service = {{ law = "exponential", mean = "60 min" }}

[[classes]]
name = "notebook"
need = {{ cpu = 8, gpu = 1, memory = "64 GB" }}
probability = 0.5
service = {{ law = "exponential", mean = "30 min" }}

[[classes]]
name = "prepare"
need = {{ cpu = 16, memory = "32 GB" }}
probability = 0.4
service = {{ law = "exponential", mean = "10 min" }}

# How much some classes may hold at once: a [[quotas]] table for each limit.
[[quotas]]
# What it is called.
name = "interactive"
# Whose jobs count against it.
classes = ["notebook"]
# The most they hold together.
limit = {{ gpu = 16 }}
"""


def nodes_text(path: str, name: str, jobs_per_hour: float) -> str:
    """The text of a model file with nodes."""
    return NODES.format(path=path, name=_quoted(name), rate=f'"{jobs_per_hour:.6g} per hour"')


def starting_text(path: str, name: str, servers: int, jobs_per_hour: float, kinds: Sequence[JobKind]) -> str:
    """The text of a model file."""
    shares = _shares([kind.share for kind in kinds])
    rate = f'"{jobs_per_hour:.6g} per hour"'
    text = HEAD.format(path=path, name=_quoted(name), servers=servers, rate=rate)
    for form, kind, share in zip((FIRST_CLASS, *[NEXT_CLASS] * len(kinds)), kinds, shares, strict=False):
        text += form.format(name=_quoted(kind.name), need=kind.need, probability=share, service=_service(kind))
    return text


def enough_servers(jobs_per_hour: float, kinds: Sequence[JobKind]) -> int:
    """So many that about BUSY of them are busy, and every job fits."""
    total = math.fsum(kind.share for kind in kinds)
    busy = jobs_per_hour / 60.0 * math.fsum(kind.share / total * kind.need * kind.mean for kind in kinds)
    return max(math.ceil(busy / BUSY), max(kind.need for kind in kinds))


def _shares(given: Sequence[float]) -> list[float]:
    """Probabilities of few digits whose sum is 1: the largest has what the others leave."""
    total = math.fsum(given)
    shares = [float(f"{one / total:.6g}") for one in given]
    largest = shares.index(max(shares))
    shares[largest] = round(1.0 - math.fsum(share for place, share in enumerate(shares) if place != largest), 12)
    return shares


def _service(kind: JobKind) -> str:
    mean = f'"{kind.mean:.6g} min"'
    if kind.cv == 0:
        return f'{{ law = "deterministic", value = {mean} }}'
    if kind.cv == 1:
        return f'{{ law = "exponential", mean = {mean} }}'
    return f'{{ law = "fit", mean = {mean}, cv = {kind.cv!r} }}'


def _quoted(text: str) -> str:
    """A text as TOML and JSON write it; what cannot be printed is left out."""
    return json.dumps("".join(letter for letter in text if letter.isprintable()), ensure_ascii=False)
