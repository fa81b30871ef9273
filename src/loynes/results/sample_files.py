"""Samples of the workload in files that other tools open."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from loynes.errors import UsageError
from loynes.model.cluster import Model
from loynes.stationary.backward import Samples

Writer = Callable[[Path, Model, Iterator[Samples], dict[str, str]], None]


def writer_of(path: Path) -> Writer:
    """What writes a file of this ending: (path, model, batches, origin)."""
    write = {".parquet": write_parquet, ".csv": write_csv}.get(path.suffix.lower())
    if write is None:
        raise UsageError(f"{path}: samples are written to a .parquet or .csv file, or to a run folder")
    return write


def _replicas(batch: Samples) -> np.ndarray:
    return np.arange(batch.first, batch.first + len(batch.length))


def write_csv(path: Path, model: Model, batches: Iterator[Samples], origin: dict[str, str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = [kind if model.by_resource else "w" for kind in model.kinds]
        units = zip(names, model.units, strict=True)
        writer.writerow(
            ["replica", "length", "doublings", *(f"{name}{i}" for name, n in units for i in range(1, n + 1))]
        )
        for batch in batches:
            columns = (_replicas(batch), batch.length, batch.doublings, batch.workload)
            for replica, length, doublings, workload in zip(*(c.tolist() for c in columns), strict=True):
                writer.writerow([replica, length, doublings, *workload])


def write_parquet(path: Path, model: Model, batches: Iterator[Samples], origin: dict[str, str]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError("Parquet files need pyarrow: pip install 'loynes[io]' (or write a .csv)") from None
    names = [f"workload_{kind}" if model.by_resource else "workload" for kind in model.kinds]
    vectors = [(name, pa.list_(pa.float64(), n)) for name, n in zip(names, model.units, strict=True)]
    schema = pa.schema(
        [("replica", pa.int64()), ("length", pa.int64()), ("doublings", pa.int64()), *vectors], metadata=origin
    )
    with pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            kinds = np.split(batch.workload, np.cumsum(model.units)[:-1], axis=1)
            columns = [
                pa.array(_replicas(batch)),
                pa.array(batch.length),
                pa.array(batch.doublings),
                *(pa.FixedSizeListArray.from_arrays(pa.array(w.ravel()), w.shape[1]) for w in kinds),
            ]
            writer.write_table(pa.table(columns, schema=schema))
