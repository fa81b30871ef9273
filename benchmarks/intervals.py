"""How often a 99% interval holds the truth: many small evaluations of cases with exact answers.

    python benchmarks/intervals.py [--repetitions 1000] [--case NAME ...] [-o docs/coverage.csv]

Two ways of stopping: after a fixed number of observed arrivals, and by the sequential rule (`--precision`), which could
be too optimistic because it stops where the interval happens to be short. Repetition i has seed i.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import loynes
from loynes.estimate import proportion_of


@dataclass(frozen=True)
class Case:
    """A model at a rate, its exact mean wait and what else is known, and sizes of small evaluations."""

    model: Any
    rate: float
    exact: dict[str, float]
    precision: float
    samples: int
    options: dict[str, Any]


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


def exponential(servers: int) -> dict[str, Any]:
    service = {"law": "exponential", "mean": 1.0}
    return {"servers": servers, "classes": [{"need": 1, "probability": 1, "service": service}]}


# Exact mean waits of one-or-all: docs/agreement.md; of five-class-exponential: a level-dependent QBD of 842 phases.
CASES = {
    "M/M/1, load 0.8": Case(exponential(1), 0.8, many_servers(1, 0.8), 0.03, 100_000, {}),
    "M/M/5, load 0.8": Case(exponential(5), 4.0, many_servers(5, 4.0), 0.03, 100_000, {}),
    "five-class-exponential, load 0.9": Case(
        "five-class-exponential", 1.62, {"mean": 26.5513257006}, 0.05, 200_000, {}
    ),
    "one-or-all, load 0.5": Case("one-or-all", 10.224035833, {"mean": 35.586642}, 0.07, 400_000, {"replicas": 64}),
    # A given burn-in, after which a few pairs in a hundred are apart, saves each repetition most of its time.
    "one-or-all, load 0.9": Case(
        "one-or-all", 18.4032644994, {"mean": 330.57994}, 0.25, 1_000_000, {"replicas": 32, "burn_in": 1_000_000}
    ),
}


def one(task: tuple[str, bool, int]) -> dict[str, bool]:
    name, sequential, seed = task
    case = CASES[name]
    stop: dict[str, Any] = {"precision": case.precision} if sequential else {"samples": case.samples}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", loynes.LoynesWarning)
        found = loynes.evaluate(case.model, rate=case.rate, seed=seed, **stop, **case.options)
    wait = found.overall.wait
    known = {"mean": wait.mean, "variance": wait.variance, "no wait": found.overall.no_wait, "p95": wait.p95}
    return {what: known[what].low <= truth <= known[what].high for what, truth in case.exact.items()}


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
    parser.add_argument("--stop", choices=["fixed", "sequential"], help="default: both")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    rows = []
    counter = multiprocessing.Value("i", 0)
    with multiprocessing.Pool(len(os.sched_getaffinity(0)), on_one_core, (counter,)) as pool:
        for name in asked.case or CASES:
            for sequential in (False, True) if asked.stop is None else (asked.stop == "sequential",):
                began = time.perf_counter()
                tasks = [(name, sequential, seed) for seed in range(1, asked.repetitions + 1)]
                hits = pool.map(one, tasks, chunksize=4)
                for what in CASES[name].exact:
                    count = sum(hit[what] for hit in hits)
                    share = proportion_of(count, len(hits), 0.95)
                    rule = f"precision {CASES[name].precision:g}" if sequential else f"{CASES[name].samples} arrivals"
                    rows.append((name, rule, what, len(hits), count, share.estimate, share.low, share.high))
                    print(*rows[-1], f"{time.perf_counter() - began:.0f} s", sep="\t", flush=True)
    if asked.output:
        with asked.output.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["case", "stop", "quantity", "repetitions", "held", "coverage", "low", "high"])
            writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
