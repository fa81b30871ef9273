"""Jobs a second on one core, event by event, under every policy."""

from __future__ import annotations

import time
from dataclasses import replace

import loynes
from loynes.inputs.tables import job_table
from loynes.kernels.events.engine import Plan, simulate
from loynes.kernels.events.loop import POLICIES

MODEL, LOAD = "five-class-exponential", 0.75
JOBS = {"conservative": 200_000}


def main() -> None:
    model = loynes.load(MODEL)
    rate = LOAD * loynes.exact(model).threshold
    table = job_table(model, rate)
    print(f"{MODEL} at load {LOAD}, one core\n\n| policy | M jobs/s | mean wait |\n| --- | --- | --- |")
    for policy in POLICIES:
        jobs = JOBS.get(policy, 1_000_000)
        plan = Plan(table, policy, 10 if policy == "smash" else 1, jobs=jobs, unit=model.mean_service)
        simulate(replace(plan, jobs=1000), 1, workers=1)
        began = time.perf_counter()
        (found,) = simulate(plan, 1, workers=1)
        took = time.perf_counter() - began
        wait = found.seen.sums[:, 1].sum() / found.seen.done
        print(f"| {policy} | {found.arrived / took / 1e6:.2f} | {wait:.2f} |", flush=True)


if __name__ == "__main__":
    main()
