"""How cost grows: with servers, classes, load, jobs and workers. Processor time; five minutes of it.

python benchmarks/growth.py                          measures all, writes results/growth.json
python benchmarks/growth.py --only servers --quick   one axis, and stops at sizes that take long
python benchmarks/growth.py --only certified --beyond 0.99 --long 100   a series goes on from there, and for longer

docs/figures.py draws the file, docs/growth.md reads it. An exponent is the slope of log(cost) against log(size), fitted
by least squares to the upper half of the sizes; against load, size is 1 / (1 - load). Everything is run once before it
is measured: compiling is not in it.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import loynes
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.cpu.stretches import run_replay
from loynes.kernels.engine import Forward, ForwardState
from loynes.kernels.events.engine import Events, run_jobs, run_replicas
from loynes.kernels.events.policies import find_policy
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import step_cost
from loynes.kernels.tally import new_tally
from loynes.traces.trace import Trace
from recorder import RESULTS, clock, machine, options, since, timed

FILE = RESULTS / "growth.json"
# A point is measured for about so many seconds; a series ends with the first point that took longer than the second.
ENOUGH, TOO_LONG, LONGER = 0.2, 10.0, 20.0
SERVERS = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CLASSES = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
LOADS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
JOBS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
WORKERS = (1, 2, 4, 8, 16)

# What a series measures: of a size, the work that was done and a function that does it.
Case = Callable[[Any], tuple[float, Callable[[], Any]]]


@dataclass(frozen=True)
class Series:
    axis: str
    name: str
    unit: str  # of what cost is given: a job, an answer
    sizes: tuple[float, ...]
    case: Case
    too_long: float = TOO_LONG


def cluster(servers: int, kind: str) -> loynes.Model:
    """Of one need; of five classes whose needs grow with the cluster; of one server or all."""
    five = ((1, 0.5, 0.5), (2, 0.1, 0.83), (5, 0.2, 1.25), (10, 0.19, 3.33), (15, 0.01, 10.0))
    mix = {
        "need 1": [(1, 1.0, 1.0)],
        "five classes": [(max(1, servers * n // 20), p, m) for n, p, m in five],
        "one or all": [(1, 0.999, 1.0), (servers, 0.001, 40.0)],
        # One large job to as many small ones as there are servers: thousands run side by side, and then wait for it.
        "one or half": [(1, 1.0 - 1.0 / servers, 1.0), (max(1, servers // 2), 1.0 / servers, 1.0)],
    }[kind]
    classes = [{"need": n, "probability": p, "service": {"law": "exponential", "mean": m}} for n, p, m in mix]
    return loynes.load({"servers": servers, "classes": classes})


def of_classes(count: int) -> loynes.Model:
    """1,000 servers, and classes of a hundred different needs."""
    return loynes.load({
        "servers": 1_000,
        "classes": [
            {"name": f"c{i}", "need": 1 + 7 * i % 100, "probability": 1.0 / count,
             "service": {"law": "exponential", "mean": 1.0 + i % 13 / 7.0}} for i in range(count)
        ],
    })  # fmt: skip


def forward(model: loynes.Model, workers: int = 1, rows: int = 1) -> tuple[float, Callable[[], Any]]:
    """Observed as `evaluate` observes, at half of the ideal rate."""
    table, needs = job_table(model, 0.5 * model.ideal), needs_of(model)
    tally = new_tally(rows, len(needs.need), model.mean_service, len(model.kinds))
    # Half of the servers busy with jobs of their own, as in the long run if needs are 1.
    busy = np.sort(np.random.default_rng(1).exponential(1.0, (rows, model.servers // 2)), axis=1)
    if model.classes[0].need == 1 and model.classes[0].probability > 0.9:
        workload = np.hstack([np.zeros((rows, model.servers - model.servers // 2)), busy])
    else:
        workload = np.zeros((rows, model.servers))
    state = ForwardState(workload, np.zeros(rows, np.int64), tally)
    task, engine = Forward(table, 1, 0, np.arange(rows), needs, np.arange(rows), True), CpuEngine(workers)
    # A run begins and ends with a look at all servers: so many jobs that it does not count.
    jobs = BLOCK * max(8, int(0.03e9 / step_cost(table) / BLOCK / rows))
    position = [0]

    def run() -> None:
        engine.run(task, state, position[0], position[0] + jobs)
        position[0] += jobs

    return rows * jobs, run


def events(model: loynes.Model, policy: str) -> tuple[float, Callable[[], Any]]:
    rule = find_policy(policy)
    table = job_table(model, 0.5 * model.ideal)
    jobs = max(20_000, 2 * model.servers)
    numbers = (table, 1, STREAM_STATIONARY, np.arange(1))
    task = Events(*numbers, rule, rule.default_option, jobs_observed=jobs, unit=model.mean_service)
    return jobs, lambda: run_replicas(task, CpuEngine(1))


def log(jobs: int, servers: int = 4096) -> Trace:
    """Needs are powers of two, run times lognormal, half of the work that servers could do."""
    rng = np.random.default_rng(1)
    need = 2 ** rng.integers(0, 8, jobs)
    service = np.ceil(rng.lognormal(6.0, 1.5, jobs))
    submit = np.sort(np.floor(rng.uniform(0.0, float(need @ service) / (0.5 * servers), jobs)))
    return Trace(submit - submit[0], need, service, np.zeros(jobs), servers=servers, records=jobs)


def of_log(jobs: int, policy: str) -> tuple[float, Callable[[], Any]]:
    trace = log(jobs)
    if policy == "figures":
        return jobs, lambda: loynes.replay(trace)
    arrays = (np.array([4096]), trace.submit, trace.need[:, None], trace.service)
    return jobs, lambda: run_jobs(*arrays, policy, 0)


def at_load(load: float, method: str) -> tuple[float, Callable[[], Any]]:
    """The mean wait of five classes, with its certificate or without."""
    ask = {"rate": load * 1.80086, "precision": 0.2, "max_jobs": 1e10, "backend": "cpu", "method": method}
    return 1, lambda: loynes.evaluate("five-class-exponential", **ask)


def exactly(load: float) -> tuple[float, Callable[[], Any]]:
    return 1, lambda: loynes.exact("five-class-exponential", rate=load * 1.80086)


def side_by_side(threads: int) -> tuple[float, Callable[[], Any]]:
    trace = log(1_000_000)
    return trace.jobs, lambda: run_replay(4096, trace.need, trace.service, trace.submit, threads=threads)


ALL = (
    *(Series("servers", f"forward, {kind}", "job", SERVERS, lambda s, kind=kind: forward(cluster(s, kind)))
      for kind in ("need 1", "five classes", "one or all")),
    *(Series("servers", f"events, {policy}, need 1", "job", SERVERS,
             lambda s, policy=policy: events(cluster(s, "need 1"), policy)) for policy in ("fcfs", "easy")),
    Series("servers", "stability to 5%, need 1", "answer", SERVERS,
           lambda s: (1, lambda: loynes.stability(cluster(s, "need 1"), precision=0.05))),
    Series("servers", "stability to 5%, one or half", "answer", SERVERS[1:],
           lambda s: (1, lambda: loynes.stability(cluster(s, "one or half"), precision=0.05))),
    Series("servers", "check", "answer", SERVERS, lambda s: (1, lambda: loynes.check(cluster(s, "five classes")))),
    Series("servers", "stability to 5%", "answer", SERVERS,
           lambda s: (1, lambda: loynes.stability(cluster(s, "five classes"), precision=0.05))),
    Series("classes", "forward", "job", CLASSES, lambda k: forward(of_classes(k))),
    Series("classes", "events, fcfs", "job", CLASSES, lambda k: events(of_classes(k), "fcfs")),
    Series("classes", "model read and checked", "answer", CLASSES, lambda k: (1, lambda: loynes.check(of_classes(k)))),
    Series("classes", "stability to 5%", "answer", CLASSES,
           lambda k: (1, lambda: loynes.stability(of_classes(k), precision=0.05))),
    Series("load", "evaluate to 20%, certified", "answer", LOADS, lambda x: at_load(x, "sandwich"), LONGER),
    Series("load", "evaluate to 20%, forward", "answer", LOADS, lambda x: at_load(x, "forward"), LONGER),
    Series("load", "exact", "answer", (0.5, 0.9, 0.99, 0.999), exactly),
    Series("jobs", "replay, fcfs, figures included", "answer", JOBS, lambda n: (1, of_log(n, "figures")[1])),
    Series("jobs", "replay, easy, event by event", "answer", JOBS, lambda n: (1, of_log(n, "easy")[1])),
    Series("workers", "forward, five classes, 16 replicas", "job", WORKERS,
           lambda n: forward(cluster(20, "five classes"), n, 16)),
    Series("workers", "replay in stretches", "job", WORKERS, side_by_side),
)  # fmt: skip


def measured(series: Series, too_long: float, beyond: float) -> Iterator[tuple[float, float]]:
    """Sizes, and seconds of processor time a unit."""
    series.case(series.sizes[0])[1]()  # compiled
    for size in (size for size in series.sizes if size > beyond):
        work, run = series.case(size)
        took, _ = timed(run)
        if took.processor < 0.5 * too_long:
            took, _ = timed(run)  # the first may have compiled another form; this says how often to repeat
        times = int(ENOUGH / max(took.processor, 1e-4))
        if times > 0:
            total, _ = timed(lambda run=run, times=times: [run() for _ in range(times)])
            took = total._replace(processor=total.processor / times)
        yield size, took.processor / work
        if took.processor > too_long:
            return


def exponent(sizes: list[float], seconds: list[float], axis: str) -> float:
    """The slope of the upper half."""
    half = len(sizes) // 2 if len(sizes) > 3 else 0
    place = [1.0 / (1.0 - x) if axis == "load" else x for x in sizes[half:]]
    return float(np.polyfit(np.log(place), np.log(seconds[half:]), 1)[0])


def steepest(sizes: list[float], seconds: list[float], axis: str) -> tuple[float, float]:
    """The steepest step from one size to the next as an exponent, and where it ends: a cliff would show here."""
    place = [1.0 / (1.0 - x) if axis == "load" else x for x in sizes]
    slopes = np.diff(np.log(seconds)) / np.diff(np.log(place))
    worst = int(np.argmax(slopes))
    return float(slopes[worst]), sizes[worst + 1]


def main() -> None:
    parser = options(__doc__)
    parser.set_defaults(record=FILE)
    parser.add_argument("--only", action="append", help="an axis, or part of a series' name")
    parser.add_argument("--quick", action="store_true", help="a series ends with what takes a second")
    parser.add_argument("--long", type=float, help="a series ends with the first point that takes so many seconds")
    parser.add_argument("--beyond", type=float, help="sizes up to this one stay as they were measured")
    parser.add_argument("--nice", type=int, default=10, help="10: others go first")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    os.nice(chosen.nice)
    path: Path = chosen.record
    used = clock()
    known = json.loads(path.read_text())["series"] if path.exists() else []
    found = {(one["axis"], one["name"]): one for one in known}
    print("| axis | measured | a | sizes | from | to | exponent | steepest step |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: | ---: |")
    for series in ALL:
        if chosen.only and not any(series.axis == one or one in series.name for one in chosen.only):
            continue
        before = found.get((series.axis, series.name), {"sizes": [], "seconds": []})
        beyond = chosen.beyond or 0.0
        points = [p for p in zip(before["sizes"], before["seconds"], strict=True) if p[0] <= beyond]
        points += measured(series, 1.0 if chosen.quick else chosen.long or series.too_long, beyond)
        sizes, seconds = [p[0] for p in points], [p[1] for p in points]
        slope, (worst, where) = exponent(sizes, seconds, series.axis), steepest(sizes, seconds, series.axis)
        found[series.axis, series.name] = {
            "axis": series.axis, "name": series.name, "unit": series.unit, "sizes": sizes,
            "seconds": [float(f"{s:.4g}") for s in seconds], "exponent": round(slope, 2),
            "steepest": round(worst, 2), "steepest_at": where,
        }  # fmt: skip
        cells = (series.axis, series.name, series.unit, f"{sizes[0]:g} to {sizes[-1]:g}", shown(seconds[0]),
                 shown(seconds[-1]), f"{slope:.2f}", f"{worst:.2f} at {where:g}")  # fmt: skip
        print("| " + " | ".join(cells) + " |", flush=True)
        order = [found[one.axis, one.name] for one in ALL if (one.axis, one.name) in found]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"machine": machine(), "series": order}, indent=1) + "\n")
    print(f"\n{since(used).processor:.0f} s of processor time")


def shown(seconds: float) -> str:
    power = min(0, 3 * math.floor(math.log10(seconds) / 3))
    return f"{seconds / 10.0**power:.3g} {({0: '', -3: 'm', -6: 'µ', -9: 'n'})[power]}s"


if __name__ == "__main__":
    main()
