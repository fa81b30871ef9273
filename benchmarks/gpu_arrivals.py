"""Arrivals that are not Poisson on a GPU: rates of the chains, walks included, and of the walks alone. Prints Markdown.

python benchmarks/gpu_arrivals.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu import giga, timed
from loynes.inputs.arrivals import start_places
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.cuda import compiled
from loynes.kernels.cuda.device import Kernel, cupy
from loynes.kernels.cuda.engine import MOST_GROUPS, looked_at
from loynes.kernels.cuda.walks import Walks
from loynes.kernels.cuda.weights import Weights
from loynes.kernels.engine import Forward
from loynes.kernels.reference import BLOCK
from loynes.kernels.tally import BINS
from loynes.model import Model, load

MODELS = ("five-class-exponential", "one-or-all", "borg-cell-b")
MMPP = {"process": "mmpp", "generator": [[-1.0, 1.0], [0.5, -0.5]], "rates": [3.0, 0.2]}
# Poisson first, for the ratio.
PROCESSES: dict[str, dict[str, Any]] = {
    "Poisson": {"process": "poisson"},
    "renewal": {"process": "renewal", "gap": {"law": "erlang", "phases": 3, "mean": 1.0}},
    "modulated": MMPP,
    "batches": {"process": "batch", "size": {"law": "exponential", "mean": 3.0}},
    "recorded": {"process": "trace", "gaps": [0.5, 0.0, 2.0, 1.0, 0.1] * 1000},
    "a cycle": {"process": "periodic", "cycle": 24.0, "rates": [0.5, 4.0, 0.0, 1.0]},
    "sessions": {
        "process": "sessions",
        "size": {"law": "exponential", "mean": 3.0},
        "gap": {"law": "exponential", "mean": 0.1},
        "of": {"process": "poisson", "rate": 0.5},
        "repeat": 0.4,
    },
}


def arriving(name: str, process: str) -> Model:
    written = {key: value for key, value in load(name).to_dict().items() if key not in ("arrivals", "rate")}
    return load(written | {"arrivals": PROCESSES[process]})


def rates(model: Model, bits: int) -> tuple[compiled.Shape, Kernel, float, float, int]:
    """Jobs a second of chains, observed, at half the ideal rate, and of the walk alone; jobs of a window."""
    cp = cupy()
    table, needs = job_table(model, 0.5 * model.ideal), needs_of(model)
    shape = compiled.shape_of(table, bits=bits)
    kernel = Kernel("forward", shape, table, 1)
    rows = kernel.resident
    replicas, group = np.arange(rows), np.arange(rows) % MOST_GROUPS
    task = Forward(table, 1, 0, replicas, needs, group, True)
    columns = len(needs.need) * (2 if shape.arriving.weighed and shape.arriving.sessions else 1)
    weights = Weights(kernel, needs, looked_at(shape, needs), columns, 1 << 30)
    walks = Walks(kernel, task, rows, 1 << 20)
    walks.take(replicas, start_places(table.arrivals, 1, 0, replicas))
    W, position = cp.zeros((rows, model.servers), shape.real), [0]
    wait, square, loss = cp.zeros((columns, rows)), cp.zeros((columns, rows)), cp.zeros((rows, len(model.kinds)))
    none, bins = cp.zeros((columns, rows), weights.count), cp.zeros((MOST_GROUPS, columns, BINS), weights.bin)
    number, groups = cp.arange(rows, dtype=cp.uint32), cp.asarray(group.astype(np.int32))

    def launch(blocks: int, walked_only: bool = False) -> None:
        end = position[0] + blocks * BLOCK
        while position[0] < end:
            first, last = position[0], min(end, position[0] + walks.window)
            walks.go(first, last)
            if not walked_only:
                kernel(
                    rows, np.uint32(0), number, np.int64(first), np.int64(last), np.int32(rows), np.int32(True), W,
                    weights.looked, shape.real(1.0), groups, wait, square, none, loss, bins,
                )  # fmt: skip
            position[0] = last

    launch(64)
    walked = shape.arriving.walked
    alone = timed(lambda blocks: launch(blocks, True), rows * BLOCK) if walked else float("inf")
    return shape, kernel, timed(launch, rows * BLOCK), alone, walks.window if walked else 0


def main() -> None:
    print("| model | form | arrivals | bits | registers | jobs of a window | forward | of Poisson | walk alone |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in MODELS:
        for bits in (32, 64):
            poisson = float("nan")
            for process in PROCESSES:
                shape, kernel, rate, alone, window = rates(arriving(name, process), bits)
                poisson = rate if process == "Poisson" else poisson
                cells = (
                    name, compiled.FORMS[shape.form], process, str(bits),
                    f"{kernel.registers}, {kernel.spilled} spilled", str(window or ""), giga(rate),
                    f"{rate / poisson:.0%}", giga(alone) if window else "",
                )  # fmt: skip
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
