"""How often a 99% interval holds the truth: many small evaluations of cases with exact answers.

    python benchmarks/intervals.py [--repetitions 1000] [--case NAME ...] [--only heavy] [-o docs/coverage.csv]

Two ways of stopping: after a fixed number of observed arrivals, and by the sequential rule (`--precision`), which could
be too optimistic because it stops where the interval happens to be short. Repetition i has seed i. Rows of a table that
is there already are kept unless they are measured again.

Heavy services, whose waits have no exponential moments, are held against the distribution of waits in M/G/1
(tests/mg1.py). Where the wait has no variance, its mean is looked at only if it is bracketed by cutting services (`cut`
in details).
"""

from __future__ import annotations

import argparse
import csv
import math
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import loynes
from loynes.estimate import proportion_of

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from mg1 import mean_wait, percentile


@dataclass(frozen=True)
class Case:
    """A model at a rate, its exact mean wait and what else is known, and sizes of small evaluations."""

    model: Any
    rate: float
    exact: Callable[[], dict[str, float]]
    precision: float
    samples: int
    options: dict[str, Any]
    variance: bool = True  # whether the wait has one


def many_servers(servers: int, rate: float) -> dict[str, float]:
    """M/M/c with mean service 1: Erlang C, and the wait given that there is one is exponential."""
    term = total = 1.0
    for k in range(1, servers):
        term *= rate / k
        total += term
    term *= rate / servers
    last = term * servers / (servers - rate)
    waits = last / (total + last)
    slack = servers - rate
    return {
        "mean": waits / slack,
        "variance": waits * (2.0 - waits) / slack**2,
        "no wait": 1.0 - waits,
        "p95": math.log(waits / 0.05) / slack,
    }


def servers_of(service: dict[str, Any], servers: int = 1) -> dict[str, Any]:
    return {"servers": servers, "classes": [{"need": 1, "probability": 1, "service": service}]}


def exponential(servers: int) -> dict[str, Any]:
    return servers_of({"law": "exponential", "mean": 1.0}, servers)


@cache
def single_server(name: str) -> dict[str, float]:
    """M/G/1: Pollaczek and Khinchine, and percentiles to 1e-4; the median where less than half of all do not wait."""
    case = CASES[name]
    law = loynes.load(case.model).classes[0].service
    exact = {"mean": mean_wait(case.rate, law.mean, law.variance + law.mean**2), "no wait": 1.0 - case.rate * law.mean}
    for what, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        if q > exact["no wait"]:
            exact[what] = sum(percentile(law, case.rate, q)) / 2.0
    return exact


def heavy() -> dict[str, Case]:
    """Services of mean 1 whose tails are heavier than exponential, at three loads; the smallest runs there are."""
    laws: dict[str, dict[str, Any]] = {
        "lognormal, cv 2": {"law": "lognormal", "mean": 1.0, "cv": 2.0},
        "Pareto 3.5": {"law": "pareto", "shape": 3.5, "mean": 1.0},
        "Pareto 2.5": {"law": "pareto", "shape": 2.5, "mean": 1.0},
    }
    cases = {}
    for title, law in laws.items():
        for load in (0.5, 0.7, 0.9):
            name, variance = f"M/G/1, {title}, load {load}", law.get("shape") != 2.5
            cases[name] = Case(servers_of(law), load, partial(single_server, name), 0.1, 50_000, {}, variance)
    return cases


# Exact mean waits of one-or-all: docs/agreement.md; of five-class-exponential: a level-dependent QBD of 842 phases.
CASES = {
    "M/M/1, load 0.8": Case(exponential(1), 0.8, partial(many_servers, 1, 0.8), 0.03, 100_000, {}),
    "M/M/5, load 0.8": Case(exponential(5), 4.0, partial(many_servers, 5, 4.0), 0.03, 100_000, {}),
    "five-class-exponential, load 0.9": Case(
        "five-class-exponential", 1.62, lambda: {"mean": 26.5513257006}, 0.05, 200_000, {}
    ),
    "one-or-all, load 0.5": Case(
        "one-or-all", 10.224035833, lambda: {"mean": 35.586642}, 0.07, 400_000, {"replicas": 64}
    ),
    # A given burn-in, after which a few pairs in a hundred are apart, saves each repetition most of its time.
    "one-or-all, load 0.9": Case(
        "one-or-all",
        18.4032644994,
        lambda: {"mean": 330.57994},
        0.25,
        1_000_000,
        {"replicas": 32, "burn_in": 1_000_000},
    ),
}
HEAVY = heavy()
CASES |= HEAVY


def one(task: tuple[str, bool, int]) -> dict[str, bool]:
    name, sequential, seed = task
    case = CASES[name]
    stop: dict[str, Any] = {"precision": case.precision} if sequential else {"samples": case.samples}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", loynes.LoynesWarning)
        found = loynes.evaluate(case.model, rate=case.rate, seed=seed, **stop, **case.options)
    wait = found.overall.wait
    known = {"mean": wait.mean, "variance": wait.variance, "no wait": found.overall.no_wait}
    known |= {"p50": wait.p50, "p95": wait.p95, "p99": wait.p99}
    if not case.variance and "cut" not in found.details:
        del known["mean"]
    return {what: own.low <= case.exact()[what] <= own.high for what, own in known.items() if what in case.exact()}


def on_one_core(counter: Any) -> None:
    """Each process keeps to a core of its own; its kernels then use one thread."""
    cores = sorted(os.sched_getaffinity(0))
    with counter.get_lock():
        mine = cores[counter.value % len(cores)]
        counter.value += 1
    os.sched_setaffinity(0, {mine})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--only", choices=["heavy"], help="these cases")
    parser.add_argument("--stop", choices=["fixed", "sequential"], help="default: both")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="default: one a core")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    rows: list[tuple[Any, ...]] = []
    counter = multiprocessing.Value("i", 0)
    with multiprocessing.Pool(asked.processes, on_one_core, (counter,)) as pool:
        for name in asked.case or (HEAVY if asked.only else CASES):
            for sequential in (False, True) if asked.stop is None else (asked.stop == "sequential",):
                began = time.perf_counter()
                tasks = [(name, sequential, seed) for seed in range(1, asked.repetitions + 1)]
                hits = pool.map(one, tasks, chunksize=4)
                for what in hits[0]:
                    count = sum(hit[what] for hit in hits)
                    share = proportion_of(count, len(hits), 0.95)
                    rule = f"precision {CASES[name].precision:g}" if sequential else f"{CASES[name].samples} arrivals"
                    rows.append((name, rule, what, len(hits), count, share.estimate, share.low, share.high))
                    print(*rows[-1], f"{time.perf_counter() - began:.0f} s", sep="\t", flush=True)
                if asked.output:
                    write(asked.output, rows)


def write(path: Path, rows: list[tuple[Any, ...]]) -> None:
    """The table with these rows in place of what it had of them."""
    table = {}
    if path.exists():
        with path.open(newline="") as file:
            table = {tuple(row[:3]): row for row in list(csv.reader(file))[1:]}
    table |= {row[:3]: list(row) for row in rows}
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "stop", "quantity", "repetitions", "held", "coverage", "low", "high"])
        writer.writerows(table.values())


if __name__ == "__main__":
    sys.exit(main())
