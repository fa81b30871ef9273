"""Event by event, on one core, under every policy: jobs a second, what a long line costs, and memory."""

from __future__ import annotations

import itertools
import resource
from dataclasses import replace
from functools import partial

import numpy as np

import loynes
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.events.engine import Events, run_classes, run_jobs, run_replicas
from loynes.kernels.events.forecast import Forecast
from loynes.kernels.events.layout import PACK, PLACEMENTS, Layout
from loynes.kernels.events.loop import KINDS, SPAN
from loynes.kernels.events.policies import find_policy, policies
from loynes.questions.answering.events import event_task
from loynes.questions.answering.orders import order_of
from loynes.traces.run_times import no_history
from loynes.traces.snapshot import Snapshot
from recorder import Recorder, options, timed

MODEL, LOAD, JOBS = "five-class-exponential", 0.75, 1_000_000
WANTED = {"fcfs": 3.0, "easy": 0.3}
LINES = (1_000, 4_000, 16_000)


def main() -> None:
    record = Recorder("events", options(__doc__).parse_args().record)
    model = loynes.load(MODEL)
    rate = LOAD * loynes.exact(model).threshold
    table = job_table(model, rate)
    one, core = (table, 1, STREAM_STATIONARY, np.arange(1)), CpuEngine(1)
    print(
        f"{MODEL} at load {LOAD}, one core\n\n| policy | M jobs/s | wanted | mean wait |\n| --- | ---: | ---: | ---: |"
    )
    for policy in policies().values():
        task = event_task(model, rate, order_of(policy, {}), seed=1, replicas=np.arange(1), jobs_observed=JOBS)
        run_replicas(replace(task, jobs_observed=1000), core)
        took, (found,) = timed(partial(run_replicas, task, core))
        record.note(f"{MODEL} at load {LOAD}, {policy.name}", took, found.arrived, "jobs")
        wait = found.observations.sums[:, 1].sum() / found.observations.ended
        wanted = WANTED.get(policy.name, "")
        print(f"| {policy} | {found.arrived / took.wall / 1e6:.2f} | {wanted} | {wait:.2f} |", flush=True)
    long_lines(model, record)
    forecasts(record)
    on_nodes(record)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run_replicas(Events(*one, find_policy("fcfs"), jobs_observed=20 * JOBS, unit=model.mean_service), core)
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"\n{20 * JOBS:.3g} jobs under fcfs: {more:.1f} MiB more than before")
    record.save()


def long_lines(model: loynes.Model, record: Recorder) -> None:
    """All jobs come at once, and the line is served: what an event costs, with half as many in line on average."""
    rng = np.random.default_rng(1)
    head = " | ".join(f"{count:,} jobs" for count in LINES)
    print(f"\nMicroseconds an event where all jobs come at once\n\n| policy | {head} |\n| --- | ---: | ---: | ---: |")
    needs = np.array([model.demand(c)[0] for c in model.classes])
    means = np.array([c.service.mean for c in model.classes])
    shares = [c.probability for c in model.classes]
    for policy, guess in [*((policy, 1.0) for policy in policies()), ("conservative", 2.0)]:
        cells = []
        name = policy if guess == 1.0 else f"{policy}, guesses {guess:g} times too long"
        for count in LINES:
            kind = rng.choice(len(needs), count, p=shares)
            service = rng.exponential(means[kind])
            jobs = (np.array([model.servers]), np.zeros(count), needs[kind][:, None], service)
            took, _ = timed(partial(run_jobs, *jobs, policy, 10, guess * service))
            record.note(f"{count} jobs at once, {name}", took, 2 * count, "events")
            cells.append(f"{took.wall / (2 * count) * 1e6:.3g}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def forecasts(record: Recorder) -> None:
    """What becomes of a long line, draw by draw: needs of 1 to 255, log-uniformly, limits of 1 to 48 hours, run times
    uniform below them, and nobody comes later."""
    print("\n| policy | running | waiting | servers | ms a draw | wanted |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    cases = itertools.product(("easy", "easy-sjbf", "shortest-first"), ((1000, 5000, 10_000), (300, 5000, 3000)))
    for policy, (running, waiting, servers) in cases:
        rng, count = np.random.default_rng(1), running + waiting
        need = np.floor(np.exp(rng.uniform(0, np.log(256), count))).astype(np.int64)
        need[:running] = np.maximum(need[:running] * min(0.99 * servers / need[:running].sum(), 1.0), 1).astype(
            np.int64
        )
        limit, elapsed = rng.uniform(3600.0, 48 * 3600.0, count), np.zeros(count)
        elapsed[:running] = 0.9 * rng.random(running) * limit[:running]
        jobs = Snapshot(tuple(map(str, range(count))), running, {"servers": need}, elapsed, limit, np.zeros(count), {})
        edges, core = np.linspace(0.0, 1e6, 50), CpuEngine(1)
        task = Forecast(
            1, np.arange(20), need[:, None], np.array([servers]), running, no_history(jobs), edges, find_policy(policy)
        )
        one = task.part(np.arange(1))
        core.run(one, one.new_state(), 0, 1)  # compiled before the clock runs
        took, _ = timed(partial(core.run, task, task.new_state(), 0, task.rows))
        record.note(f"forecast under {policy}, {running} running on {servers}", took, task.rows, "draws")
        wanted = 6 if policy == "easy" and servers == 10_000 else ""
        each = took.processor / task.rows * 1e3
        print(f"| {policy} | {running} | {waiting} | {servers} | {each:.1f} | {wanted} |", flush=True)


def on_nodes(record: Recorder) -> None:
    """A thousand nodes of eight, tasks of 1, 2, 4 and 8, gangs of up to 16 nodes, guesses 1.5 times the truth."""
    tasks, shares = np.array([1, 1, 1, 1, 2, 4, 8, 16]), np.array([0.45, 0.2, 0.15, 0.1, 0.04, 0.03, 0.02, 0.01])
    need, count, nodes = np.array([[1], [2], [4], [8], [8], [8], [8], [8]]), 200_000, 1000
    demand, capacity, rng = tasks[:, None] * need, np.full((nodes, 1), 8), np.random.default_rng(1)
    print(
        f"\n{nodes} nodes, processor time on one core\n\n| policy | placement | load | M jobs/s | wanted | busy | idle "
        "for want of enough together |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    )
    for policy, placement, load in itertools.product(("fcfs", "easy"), range(len(PLACEMENTS)), (0.7, 0.85, 0.9, 0.95)):
        if PLACEMENTS[placement] == "spread" and load > 0.7:
            continue  # unstable in strict order: the line only grows
        zeros, ones = np.zeros(len(tasks), np.int64), np.ones((len(tasks), 1), np.int64)
        layout = Layout(capacity, np.zeros(nodes, np.int64), tasks, need, zeros, ones, placement)
        job_class, service = rng.choice(len(tasks), count, p=shares), rng.exponential(1.0, count)
        arrival = np.cumsum(rng.exponential((shares @ demand)[0] / (load * capacity.sum()), count))
        given = (capacity.sum(axis=0), arrival, job_class, demand, service, 1.5 * service, find_policy(policy), 1)
        few = (arrival[:100], job_class[:100], demand, service[:100], service[:100], find_policy(policy))
        run_classes(capacity.sum(axis=0), *few, 1, None, layout)  # compiled before the clock runs
        took, (_, sums) = timed(partial(run_classes, *given, np.array([0.0, arrival[-1]]), layout))
        record.note(f"{nodes} nodes at load {load}, {policy}, {PLACEMENTS[placement]}", took, count, "jobs")
        busy, fragmented = sums[0, KINDS] / sums[0, SPAN], sums[0, KINDS + 2] / sums[0, SPAN]
        wanted = 0.5 if (policy, placement) == ("easy", PACK) else ""
        print(
            f"| {policy} | {PLACEMENTS[placement]} | {load} | {count / took.processor / 1e6:.2f} | {wanted} "
            f"| {busy / capacity.sum():.3f} | {fragmented / capacity.sum():.2%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
