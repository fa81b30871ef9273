"""How often a 99% interval of a mean wait holds the truth, with controls and without, after runs of any length.

    python benchmarks/stretches.py [--case NAME ...] [--repetitions 1000] [--replicas 128 32]

Chains in stationarity are watched for a stretch of jobs, run on unseen for several times as long as waits remember, and
watched again: stretches that know nothing of one another, of the very same jobs with and without a regression. That is
where a regression is in danger: `evaluate` stops after as long a run as it burned in for, but may be told to stop at
once. Of 128 replicas every repetition takes all, or cuts them into groups of fewer. Cases marked with a star are those
on which the rules of `estimators/regression.py` were chosen.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

import loynes
from intervals import exponential, many_servers, servers_of
from loynes.arrays import Array
from loynes.estimate import mean_of, proportion_of
from loynes.estimators.chains import mean_waits
from loynes.estimators.regression import Regression
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.cpu.engine import CpuEngine
from loynes.stationary.forward import Chains
from loynes.stationary.long_services import far_reaching
from loynes.stationary.wait_controls import WaitControls

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from mg1 import mean_wait

REPLICAS, CONFIDENCE = 128, 0.99
FIVE, FIVE_THRESHOLD = "five-class-exponential", 1.80086
MIXED = {"law": "hyperexponential", "probabilities": [0.9, 0.1], "means": [0.5, 5.5]}


@dataclass(frozen=True)
class Case:
    """A model at a rate, its mean wait, and jobs of a replica: watched, and unseen between stretches."""

    model: Any
    rate: float
    threshold: float
    exact: float
    jobs: int
    between: int


def single(law: dict[str, Any], load: float, jobs: int, between: int) -> Case:
    """M/G/1."""
    service = loynes.load(servers_of(law)).classes[0].service
    rate = load / service.mean
    wait = mean_wait(rate, service.mean, service.variance + service.mean**2)
    return Case(servers_of(law), rate, 1.0 / service.mean, wait, jobs, between)


def regular(load: float, jobs: int, between: int) -> Case:
    """Erlang gaps of three phases, one server, exponential services: an arrival meets a geometric number of jobs."""
    meets = brentq(lambda x: (3.0 * load / (3.0 * load + 1.0 - x)) ** 3 - x, 1e-9, 1.0 - 1e-9)
    gaps = {"process": "renewal", "gap": {"law": "erlang", "phases": 3, "mean": 1.0}}
    return Case(exponential(1) | {"arrivals": gaps}, load, 1.0, meets / (1.0 - meets), jobs, between)


def chain(classes: list[tuple[int, float, float]], servers: int, load: float, jobs: int, between: int) -> Case:
    """A small cluster, solved as a Markov chain."""
    columns = [
        {"need": n, "probability": p, "service": {"law": "exponential", "mean": m}} for n, p, m in classes
    ]  # fmt: skip
    model = {"servers": servers, "classes": columns}
    threshold = loynes.exact(model).threshold
    return Case(model, load * threshold, threshold, loynes.exact(model, rate=load * threshold).mean_wait, jobs, between)


LOGNORMAL = {"law": "lognormal", "mean": 1.0, "cv": 2.0}
# Made when asked for. Mean waits of five classes: a level-dependent QBD of 842 phases.
CASES = {
    "M/M/1, load 0.9, 1024 jobs *": partial(single, {"law": "exponential", "mean": 1.0}, 0.9, 1024, 1024),
    "five classes, load 0.9, 1024 jobs *": lambda: Case(FIVE, 1.62, FIVE_THRESHOLD, 26.5513257, 1024, 14336),
    "five classes, load 0.9, 4096 jobs *": lambda: Case(FIVE, 1.62, FIVE_THRESHOLD, 26.5513257, 4096, 12288),
    "five classes, load 0.9, 16384 jobs *": lambda: Case(FIVE, 1.62, FIVE_THRESHOLD, 26.5513257, 16384, 8192),
    "M/G/1, lognormal, cv 2, load 0.7, 2048 jobs *": partial(single, LOGNORMAL, 0.7, 2048, 2048),
    "M/G/1, lognormal, cv 2, load 0.7, 8192 jobs *": partial(single, LOGNORMAL, 0.7, 8192, 2048),
    "M/M/20, load 0.9, 1024 jobs": lambda: Case(
        exponential(20), 18.0, 20.0, many_servers(20, 18.0)["mean"], 1024, 3072
    ),
    "M/G/1, hyperexponential, load 0.8, 2048 jobs": partial(single, MIXED, 0.8, 2048, 4096),
    "Erlang gaps, M/1, load 0.9, 1024 jobs": partial(regular, 0.9, 1024, 1024),
    "needs 1 and 3 of 4, load 0.9, 1024 jobs": partial(chain, [(1, 0.7, 1.0), (3, 0.3, 2.0)], 4, 0.9, 1024, 2048),
    "five classes, load 0.75, 2048 jobs": lambda: Case(
        FIVE,
        0.75 * FIVE_THRESHOLD,
        FIVE_THRESHOLD,
        loynes.exact(FIVE, rate=0.75 * FIVE_THRESHOLD).mean_wait,
        2048,
        4096,
    ),
}


def stretches(case: Case, repetitions: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """Mean waits of the replicas, and their controls, of one stretch after the other."""
    model = loynes.load(case.model)
    table, needs, engine = job_table(model, case.rate), needs_of(model), CpuEngine(1)
    reaching = not all(c.service.light_tail for c in model.classes) or bool(far_reaching(table).any())
    controls = WaitControls(
        model, table, threshold=case.threshold, stride=engine.look_every(table), far_reaching=reaching
    )
    options: dict[str, Any] = {"seed": seed, "replicas": np.arange(REPLICAS), "rows": REPLICAS, "engine": engine}
    options["controls"] = controls.sums
    chains = Chains(table, needs, model.mean_service, **options)
    chains.skip(16 * (case.jobs + case.between))
    for _ in range(repetitions):
        chains = Chains(table, needs, model.mean_service, workload=chains.workload, position=chains.position, **options)
        chains.observe(case.jobs)
        yield mean_waits(chains.tally, needs), controls.deviations(chains.tally)
        chains.skip(case.between)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--replicas", type=int, nargs="+", default=[REPLICAS, 32])
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print("| case | replicas | intervals | held with controls | without | truth above, with | without | width |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in asked.case or CASES:
        case = CASES[name]()
        found: dict[int, list[tuple[bool, bool, bool, bool, float, float]]] = {n: [] for n in asked.replicas}
        for values, controls in stretches(case, asked.repetitions, asked.seed):
            for count, rows in found.items():
                for first in range(0, REPLICAS, count):
                    own = slice(first, first + count)
                    seen = values[own]
                    with_them = mean_of(Regression(controls[own])(seen), CONFIDENCE)
                    without = mean_of(seen, CONFIDENCE)
                    rows.append((
                        with_them.low <= case.exact <= with_them.high, without.low <= case.exact <= without.high,
                        case.exact > with_them.high, case.exact > without.high,
                        with_them.half_width, without.half_width,
                    ))  # fmt: skip
        for count, rows in found.items():
            held, held_without, above, above_without, width, width_without = np.sum(rows, axis=0)
            shares = (proportion_of(int(hits), len(rows), 0.95) for hits in (held, held_without))
            cells = (f"{s.estimate:.2%} ({100 * s.low:.2f} to {100 * s.high:.2f})" for s in shares)
            print(f"| {name} | {count} | {len(rows)} | {' | '.join(cells)} | {above:.0f} | {above_without:.0f} | "
                  f"{width / width_without:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
