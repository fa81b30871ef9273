"""What it costs to record a run, and to have it done by two Dask workers: the same question each way, in turn.

The results are compared too: they have to be the same.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import loynes
from loynes.execution.cluster import cluster
from recorder import Recorder, Took, clock, options, since

MODEL, LOAD = "five-class-exponential", 0.95
WAYS = ("bare", "recorded", "dask", "dask, recorded")


def answer(way: str, precision: float, place: Path) -> tuple[Took, dict[str, Any]]:
    folder = place / f"{time.monotonic_ns()}" if "recorded" in way else None
    with cluster(workers=2) if "dask" in way else nullcontext() as executor:
        began = clock()
        found = loynes.evaluate(MODEL, load=LOAD, precision=precision, folder=folder, executor=executor, backend="cpu")
        took = since(began)
    data = found.to_dict()
    del data["seconds"]
    return took, data


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--precision", type=float, default=0.003, help="0.003 takes two cores about a minute")
    parser.add_argument("--rounds", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        answer("bare", 0.05, place)  # compiled, and in memory
        least = dict.fromkeys(WAYS, Took(float("inf"), float("inf")))
        for _ in range(chosen.rounds):
            results = []
            for way in WAYS:
                took, data = answer(way, chosen.precision, place)
                results.append(data)
                least[way] = min(least[way], took)
            assert all(data == results[0] for data in results), "the results differ"
    print(f"{MODEL} at load {LOAD}, {results[0]['jobs']:.3g} jobs, the least of {chosen.rounds} rounds")
    record = Recorder("runs", chosen.record)
    for way, took in least.items():
        print(f"  {way:<16}{took.wall:8.2f} s   {100 * (took.wall / least['bare'].wall - 1):+6.2f} %")
        # Workers are waited for only after the answer: their processor time is not in it.
        if "dask" not in way:
            record.note(f"{MODEL} at load {LOAD}, to {chosen.precision:g}, {way}", took)
    record.save()


if __name__ == "__main__":
    main()
