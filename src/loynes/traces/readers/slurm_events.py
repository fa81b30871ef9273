"""Events of the Slurm simulator: `-dt 10.5 -e submit_batch_job | -sim-walltime 600 -N 2 -n 32 -t 1:00:00 ...`"""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np

from loynes.traces.jobs import Jobs
from loynes.traces.ledger import Ledger
from loynes.traces.readers.register import Asked, reader
from loynes.traces.templates import Learnt, Templates
from loynes.traces.text import lines_of
from loynes.traces.times import duration, number
from loynes.traces.trace import Trace
from loynes.traces.words import by_distinct_word, mebibytes

NO_JOB = "event that submits no job"

# How sbatch calls it, in short and at length -> our name.
OPTIONS = {
    "-sim-walltime": "service", "-N": "nodes", "--nodes": "nodes", "-n": "tasks", "--ntasks": "tasks",
    "-c": "each", "--cpus-per-task": "each", "--ntasks-per-node": "on_a_node", "-t": "limit", "--time": "limit",
    "--uid": "user", "-p": "queue", "--partition": "queue", "-A": "account", "--account": "account", "-q": "qos",
    "--qos": "qos", "--mem": "mem", "--mem-per-cpu": "mem_each", "--gres": "gres", "-G": "gpus", "--gpus": "gpus",
    "--gpus-per-node": "gpus_node", "-J": "job", "--job-name": "job",
}  # fmt: skip
FIELDS = ("submit", *dict.fromkeys(OPTIONS.values()))
LABELS = ("user", "queue", "account", "qos")
_PLACE = {option: FIELDS.index(ours) for option, ours in OPTIONS.items()}
_GPUS = re.compile(r"gpu(?::[A-Za-z][\w.-]*)?(?::(\d{1,9}))?(?:\(.*\))?$")


@reader(
    "slurm-events",
    summary="Slurm simulator: `.events`, one `submit_batch_job` a job",
    reference="[slurm_simulator](https://github.com/ubccr-slurm-simulator/slurm_sim_tools)",
    units="nodes, cpus or gpus; mem",
    endings=(".events",),
    recognises=lambda beginning: b"submit_batch_job" in beginning.split(b"\n")[0],
)
def read_slurm_events(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    words: list[str] = []
    place, damaged, others = list[int](), list[tuple[int, str, str]](), 0
    fields = Templates(_values, _learn).fields
    for line, text in lines_of(data, ledger):
        if "submit_batch_job" in text and "|" in text and "-dt" in text and text.lstrip()[0] != "#":
            words += fields(text)
            place.append(line)
        elif not text.lstrip().startswith("#"):
            others += 1
            if "|" in text and "-dt" in text:
                ledger.skip(NO_JOB)
            else:
                damaged.append((line, "no event", "-dt SECONDS -e submit_batch_job | options of sbatch"))
    columns = {name: words[i :: len(FIELDS)] for i, name in enumerate(FIELDS)}
    jobs = Jobs(ledger, asked, place, len(place) + others, damaged)
    jobs.put("submit", columns["submit"], "-dt")
    jobs.put("service", columns["service"], "-sim-walltime")
    limits, _ = by_distinct_word(columns["limit"], _limit)
    jobs.values["requested_time"] = limits
    _resources(columns, jobs)
    jobs.labels = {name: columns[name] for name in LABELS if any(columns[name])}
    jobs.derive()
    return jobs.trace("slurm-events")


def _values(text: str) -> list[str]:
    """What a line says of FIELDS."""
    event, _, job = text.partition("|")
    fields = [""] * len(FIELDS)
    before = event.split()
    fields[0] = dict(pairwise(before)).get("-dt", "")
    parts = iter(job.split())
    for word in parts:
        if word in _PLACE:
            fields[_PLACE[word]] = next(parts, "")
        elif word[:2] == "--" and "=" in word:
            option, _, value = word.partition("=")
            if option in _PLACE:
                fields[_PLACE[option]] = value
    return fields


def _learn(text: str) -> Learnt | None:
    """The same options in the same order; the values of those that are wanted may differ, and what is no option."""
    parts, places, words = [], dict[int, int](), text.split()
    if not words or words[0] != "-dt" or "|" not in words:
        return None
    value_of = 0  # the field that the next word is the value of, from 1
    for i, word in enumerate(words):
        option, equals, _ = word.partition("=")
        known = _PLACE.get(option) if i > words.index("|") else 0 if word == "-dt" else None
        if value_of:
            places[value_of - 1] = len(places) + 1
            parts.append(r"([^\s|]+)")
            value_of = 0
        elif known is not None and (equals != "") == option.startswith("--"):
            if known in places:
                return None
            if equals:
                places[known] = len(places) + 1
                parts.append(re.escape(option) + r"=(\S*)")
            else:
                parts.append(re.escape(word))
                value_of = known + 1
        else:
            parts.append(re.escape(word))
    if value_of:
        return None
    return r"\s*" + r"\s+".join(parts) + r"\s*", tuple(places.get(i, 0) for i in range(len(FIELDS)))


def _resources(columns: dict[str, list[str]], jobs: Jobs) -> None:
    """As sbatch counts: a task has a processor unless told otherwise, a job a task, and as many nodes as it takes."""
    count = {}
    for name in ("nodes", "tasks", "each", "on_a_node"):
        values, bad = by_distinct_word(columns[name], lambda word: number(word.partition("-")[0] or word))
        jobs.damage(bad, columns[name], name, "a number")
        count[name] = values
    nodes, tasks, each, on_a_node = count.values()
    each = np.where(each > 0, each, 1.0)
    tasks = np.where(tasks > 0, tasks, np.where(nodes > 0, nodes, 1.0) * np.where(on_a_node > 0, on_a_node, 1.0))
    nodes = np.where(nodes > 0, nodes, np.ceil(np.where(on_a_node > 0, tasks / on_a_node, 1.0)))
    jobs.demand["node"], jobs.demand["cpu"] = nodes, tasks * each
    by_node = by_distinct_word(columns["gres"], _gpus)[0] + by_distinct_word(columns["gpus_node"], _gpus)[0]
    of_job, _ = by_distinct_word(columns["gpus"], lambda text: _gpus(text and f"gpu:{text}"))
    gpus = np.where(of_job > 0, of_job, by_node * nodes)
    if np.any(gpus > 0):
        jobs.demand["gpu"] = gpus
    memory, _ = by_distinct_word(columns["mem"], mebibytes)
    each_memory, _ = by_distinct_word(columns["mem_each"], mebibytes)
    memory = np.where(memory > 0, memory * nodes, each_memory * jobs.demand["cpu"])
    if np.any(memory > 0):
        jobs.demand["mem"] = memory


def _gpus(text: str) -> float:
    """Of gpu:2, gpu:a100:2, or several kinds of things with commas between them; a number alone is GPUs, too."""
    total = 0.0
    for one in text.removeprefix("gres:").split(",") if text else ():
        match = _GPUS.match(one if one.startswith("gpu") else f"gpu:{one}" if one.isdecimal() else "")
        total += 0.0 if match is None else float(match[1] or 1)
    return total


def _limit(text: str) -> float:
    """Seconds of what sbatch takes: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS."""
    days, dash, clock = text.strip().rpartition("-")
    if not clock:
        return math.nan
    if not dash:
        return 60.0 * float(clock) if ":" not in clock else duration(clock)
    return 86400.0 * float(days) + duration(clock + ":00:00:00"[: 3 * (3 - clock.count(":") - 1)])
