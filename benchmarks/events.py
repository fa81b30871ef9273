"""Event by event, on one core, under every policy: jobs a second, what a long line costs, and memory."""

from __future__ import annotations

import resource
from dataclasses import replace
from functools import partial

import numpy as np

import loynes
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.events.engine import Events, run_jobs, run_replicas
from loynes.kernels.events.policies import find_policy, policies
from recorder import Recorder, options, timed

MODEL, LOAD, JOBS = "five-class-exponential", 0.75, 1_000_000
WANTED = {"fcfs": 3.0, "easy": 0.3}
LINES = (1_000, 4_000, 16_000)


def main() -> None:
    record = Recorder("events", options(__doc__).parse_args().record)
    model = loynes.load(MODEL)
    table = job_table(model, LOAD * loynes.exact(model).threshold)
    one, core = (table, 1, STREAM_STATIONARY, np.arange(1)), CpuEngine(1)
    print(
        f"{MODEL} at load {LOAD}, one core\n\n| policy | M jobs/s | wanted | mean wait |\n| --- | ---: | ---: | ---: |"
    )
    for policy in policies().values():
        task = Events(*one, policy, policy.default_option, jobs_observed=JOBS, unit=model.mean_service)
        run_replicas(replace(task, jobs_observed=1000), core)
        took, (found,) = timed(partial(run_replicas, task, core))
        record.note(f"{MODEL} at load {LOAD}, {policy.name}", took, found.arrived, "jobs")
        wait = found.observations.sums[:, 1].sum() / found.observations.ended
        wanted = WANTED.get(policy.name, "")
        print(f"| {policy} | {found.arrived / took.wall / 1e6:.2f} | {wanted} | {wait:.2f} |", flush=True)
    long_lines(model, record)
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


if __name__ == "__main__":
    main()
