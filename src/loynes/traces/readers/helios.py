"""SenseTime's Helios and Shanghai AI Laboratory's Acme: CSV files whose column `queue` is how long a job waited."""

from __future__ import annotations

from loynes.traces.ledger import Ledger
from loynes.traces.readers.register import Asked, reader
from loynes.traces.readers.tables import csv_columns, find, from_names, must_have
from loynes.traces.trace import Trace

COLUMNS = {"gpu_num", "cpu_num", "node_num", "submit_time", "duration", "queue"}


@reader(
    "helios",
    summary="Helios `cluster_log.csv`, Acme `trace_seren.csv` and `trace_kalos.csv`",
    reference="[HeliosData](https://github.com/S-Lab-System-Group/HeliosData), [AcmeTrace](https://github.com/InternLM/AcmeTrace)",
    units="gpus, cpus or nodes",
    recognises=lambda beginning: (
        set(beginning.split(b"\n")[0].decode("utf-8", "replace").strip().split(",")) >= COLUMNS
    ),
    columns=True,
    rank=3,
)
def read_helios(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    names, columns, jobs = csv_columns(data, ledger, asked)
    must_have(["queue"], names, ledger)
    column_of = find(names, asked, ledger)
    column_of.setdefault("wait", "queue")
    if column_of["wait"] == "queue":
        column_of.pop("queue", None)
        if "vc" in columns:
            column_of["queue"] = "vc"
    return from_names(columns, column_of, jobs, "helios")
