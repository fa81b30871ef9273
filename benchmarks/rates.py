"""Rates and ratios of the forward kernel, and what a user waits for at the prompt. Prints Markdown.

python benchmarks/rates.py            everything (a few minutes)
python benchmarks/rates.py --quick    the forward kernel only
"""

from __future__ import annotations

import platform
import resource
import subprocess
import sys

import numpy as np

from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.cpu.threads import cores
from loynes.kernels.engine import Forward, ForwardState
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import look_every, use_runs
from loynes.kernels.tally import new_tally
from loynes.model import Model, builtin_names, load
from recorder import Recorder, Took, clock, options, since, timed

# Rates at which the figures are wanted: load 0.75, 0.5 and 0.75 of the threshold.
RATES = {"five-class-exponential": 1.3575, "one-or-all": 10.224, "borg-cell-b": 1.785}
WANTED = {"five-class-exponential": 20e6, "one-or-all": 12e6, "borg-cell-b": 8e6}
WANTED |= {"64 cpu, 8 gpu": 8e6, "cpu-memory-mix": 0.5e6}


def two_kinds(specific: bool = False) -> Model:
    """A small cluster of CPUs and GPUs; if asked for, jobs want particular GPUs."""
    mix = (({"cpu": 2}, 0, 0.7, 0.5), ({"cpu": 8}, 2, 0.2, 3.0), ({"cpu": 16}, 8, 0.1, 2.0))
    classes = [
        {
            "need": need if specific else need | {"gpu": gpus},
            "specific": {"gpu": gpus if specific else 0},
            "probability": p,
            "service": {"law": "exponential", "mean": mean},
        }
        for need, gpus, p, mean in mix
    ]
    return load({"resources": {"cpu": 64, "gpu": 8}, "classes": classes})


def forward_run(model: Model, rate: float, workers: int, seconds: float = 3.0, rows: int = 16) -> tuple[float, Took]:
    """Jobs, observed as `evaluate` does, random numbers included, and how long they took; the median of five runs."""
    table, needs = job_table(model, rate), needs_of(model)
    tally = new_tally(rows, len(needs.need), model.mean_service, len(model.kinds))
    state = ForwardState(np.zeros((rows, model.servers)), np.zeros(rows, np.int64), tally)
    task, engine = Forward(table, 1, 0, np.arange(rows), needs, np.arange(rows), True), CpuEngine(workers)
    position, jobs = 0, 64 * BLOCK
    found = []
    while len(found) < 5:
        began = clock()
        engine.run(task, state, position, position + jobs)
        took = since(began)
        position += jobs
        if took.wall < seconds / 5:
            jobs = int(jobs * min(8, 1.2 * seconds / 5 / max(took.wall, 1e-6))) // BLOCK * BLOCK
        else:
            found.append((rows * jobs, took))
    return sorted(found, key=lambda one: one[0] / one[1].wall)[len(found) // 2]


def kernels(record: Recorder) -> None:
    print("## Forward kernel, jobs a second (observation and random numbers included)\n")
    print("| model | form | one core | wanted | SimPy, same process | ratio | all cores | speed-up |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    models = {name: load(name) for name in builtin_names()} | {"64 cpu, 8 gpu": two_kinds()}
    for name, model in models.items():
        rate = RATES.get(name, (0.5 if "hyper" in name or model.resources else 0.6) * model.ideal)
        jobs, took = forward_run(model, rate, 1)
        record.note(f"forward, {name}, one core", took, jobs, "jobs")
        one = jobs / took.wall
        jobs, took = forward_run(model, rate, cores())
        record.note(f"forward, {name}, all cores", took, jobs, "jobs")
        many = jobs / took.wall
        table = job_table(model, rate)
        form = f"{', '.join('runs' if r else 'dense' for r in use_runs(table))}, every {look_every(table)} jobs"
        wanted = f"{WANTED[name] / 1e6:g} M" if name in WANTED else ""
        simpy = ratio = ""
        if name in RATES:
            from simpy_model import mean_wait

            took, _ = timed(lambda model=model, rate=rate: mean_wait(model, rate, 60_000))
            record.note(f"SimPy, {name}", took, 60_000, "jobs")
            plain = 60_000 / took.wall
            simpy, ratio = f"{plain / 1e6:.3f} M", f"{one / plain:.0f}"
        cells = (name, form, f"{one / 1e6:.1f} M", wanted, simpy, ratio, f"{many / 1e6:.1f} M", f"{many / one:.2f}")
        print("| " + " | ".join(cells) + " |", flush=True)


def memory() -> None:
    """Peak memory of a run and of one a hundred times as long, each in a process of its own."""
    print("\n## Memory of a forward run\n")
    for jobs in (2**14, 2**14 * 100):
        code = (
            "import resource, sys; sys.path.insert(0, 'benchmarks')\n"
            "from loynes.model import load; from loynes.inputs.tables import job_table, needs_of\n"
            "from loynes.kernels.cpu.engine import CpuEngine; from loynes.stationary.forward import Chains\n"
            "import numpy as np; m, ways = load('one-or-all'), {'rows': 32, 'engine': CpuEngine()}\n"
            f"Chains(job_table(m, 10.0), needs_of(m), 1.0, seed=1, replicas=np.arange(32), **ways).observe({jobs})\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        print(f"- 32 replicas of {jobs} jobs: peak {int(done.stdout) / 1024:.0f} MiB")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--quick", action="store_true", help="only the forward kernel")
    chosen = parser.parse_args()
    record = Recorder("rates", chosen.record)
    print(f"{cores()} cores, {platform.machine()}, Python {platform.python_version()}, "
          f"peak so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB\n")  # fmt: skip
    kernels(record)
    if not chosen.quick:
        memory()
    record.save()


if __name__ == "__main__":
    main()
