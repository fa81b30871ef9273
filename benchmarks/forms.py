"""Which form of the state wins: the dense vector or the run list, by the number of servers and the needs.

Prints nanoseconds a job for both: one core, random numbers included, nothing observed. kernels/shape.py follows it.
"""

from __future__ import annotations

import numpy as np

from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.cpu.forward import forward
from loynes.kernels.reference import BLOCK
from loynes.kernels.tally import new_tally
from loynes.model import Model, load
from recorder import Recorder, options, timed

SIZES = (8, 16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048)


def mixes(s: int) -> dict[str, list[tuple[int, float, float]]]:
    """(need, probability, mean service): all small; five classes scaled; one or all; large needs only."""
    return {
        "needs 1": [(1, 1.0, 1.0)],
        "five classes": [(max(1, s * n // 20), p, m) for n, p, m in
                         ((1, 0.5, 0.5), (2, 0.1, 0.83), (5, 0.2, 1.25), (10, 0.19, 3.33), (15, 0.01, 10.0))],
        "one or all": [(1, 0.999, 1.0), (s, 0.001, 40.0)],
        "large needs": [(max(1, s // 8), 0.6, 1.0), (max(1, s // 3), 0.4, 2.0)],
    }  # fmt: skip


def build(s: int, classes: list[tuple[int, float, float]]) -> Model:
    law = "exponential"
    entries = [{"need": n, "probability": p, "service": {"law": law, "mean": m}} for n, p, m in classes]
    return load({"servers": s, "classes": entries})


def nanoseconds(record: Recorder, name: str, model: Model, as_runs: bool, load_factor: float = 0.5) -> float:
    """Of processor time, a job."""
    table, needs = job_table(model, load_factor * model.ideal), needs_of(model)
    W, places = np.zeros((1, model.servers)), np.zeros(1, np.int64)
    tally = new_tally(1, len(needs.need), model.mean_service)
    jobs = BLOCK * max(200, 400_000 // (BLOCK + model.servers))
    numbers, form = (np.arange(len(W)), np.arange(len(W))), np.array([as_runs])

    def run() -> None:
        forward(table, needs, form, 32, np.uint64(1), 0, *numbers, 0, jobs, False, W, places, tally)

    run()  # compiled
    took, _ = timed(run, 3)
    record.note(f"{name}, {'runs' if as_runs else 'dense'}", took, jobs, "jobs")
    return took.processor / jobs * 1e9


def main() -> None:
    record = Recorder("forms", options(__doc__).parse_args().record)
    names = list(mixes(8))
    print("| servers | " + " | ".join(f"{name}: dense / runs" for name in names) + " |")
    print("| ---: |" + " ---: |" * len(names))
    for s in SIZES:
        cells = []
        for name, classes in mixes(s).items():
            case = (record, f"{name}, {s} servers", build(s, classes))
            cells.append(f"{nanoseconds(*case, False):.0f} / {nanoseconds(*case, True):.0f}")
        print(f"| {s} | " + " | ".join(cells) + " |", flush=True)
    record.save()


if __name__ == "__main__":
    main()
