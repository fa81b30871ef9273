"""The rules that all formats share: columns of numbers, some missing or impossible, become a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.traces.ledger import Ledger
from loynes.traces.times import LONGEST
from loynes.traces.trace import OUT_OF_ORDER, Trace

# The run list counts servers in 32 bits.
LARGEST_NEED = 2**31 - 1
LARGEST_DEMAND = 2.0**53

SUBMIT_MISSING, SUBMIT_NEGATIVE = "submission time missing", "submission time negative"
SERVICE_MISSING, SERVICE_NEGATIVE, SERVICE_ZERO = "run time missing", "run time negative", "run time zero"
NEED_MISSING, NEED_BELOW_1, NEED_FRACTION = "need missing", "need below 1", "need not a whole number"
OUT_OF_RANGE = "number out of range"
WAIT_IMPOSSIBLE = "recorded wait negative or out of range: taken as missing"


def gather(
    ledger: Ledger,
    *,
    form: str,
    place: Ints,
    submit: Array,
    need: Array,
    service: Array,
    wait: Array,
    labels: dict[str, NDArray[Any]],
    records: int,
    servers: int | None = None,
    origin: float | None = None,
    demand: Mapping[str, Array] | None = None,
    unit: str = "servers",
    least: int = 1,
    ids: NDArray[Any] | None = None,
) -> Trace:
    """Apply the rules to one value a line (NaN: missing) in the lines' order; `place` is each one's line number.

    `demand` has the units of every resource, `unit` says what `need` counts, and `least` what it must be; `ids` is what
    jobs are called, by default the lines they are on.
    """
    alive = np.ones(len(submit), dtype=np.bool_)

    def without(
        mask: NDArray[np.bool_], reason: str, values: Array | None = None, what: str = "", right: str = ""
    ) -> None:
        hit = mask & alive
        count = int(np.count_nonzero(hit))
        if count and values is not None:
            first = int(np.argmax(hit))
            ledger.damage(int(place[first]), f"{what} {values[first]:.15g}", right, reason, count)
        elif count:
            ledger.skip(reason, count)
        alive[hit] = False

    time, number = "a time of 0 to 1e12 seconds", f"a whole number of 1 to {LARGEST_NEED}"
    without(np.isnan(submit), SUBMIT_MISSING)
    without(submit < 0, SUBMIT_NEGATIVE, submit, "submission time", time)
    without(~(submit <= LONGEST), OUT_OF_RANGE, submit, "submission time", time)
    without(np.isnan(need), NEED_MISSING)
    without(need < least, NEED_BELOW_1, need, "need", number)
    without(~(need <= LARGEST_NEED), OUT_OF_RANGE, need, "need", number)
    without(need != np.floor(need), NEED_FRACTION, need, "need", number)
    without(np.isnan(service), SERVICE_MISSING)
    without(service < 0, SERVICE_NEGATIVE, service, "run time", time)
    without(service == 0, SERVICE_ZERO)
    without(~(service <= LONGEST), OUT_OF_RANGE, service, "run time", time)
    if not alive.any():
        raise ledger.error(_nothing(ledger, records))
    submit, need, service, wait = submit[alive], need[alive], service[alive], wait[alive]
    impossible = (wait < 0) | (wait > LONGEST)
    ledger.repair(WAIT_IMPOSSIBLE, int(np.count_nonzero(impossible)))
    wait = np.where(impossible, np.nan, wait)
    # A line is out of order if a line before it was submitted later.
    ledger.repair(OUT_OF_ORDER, int(np.count_nonzero(submit < np.maximum.accumulate(submit))))
    order = np.argsort(submit, kind="stable")
    first = float(submit[order[0]])
    return Trace(
        submit=submit[order] - first,
        need=need[order].astype(np.int64),
        service=service[order],
        wait=wait[order],
        labels={name: values[alive][order] for name, values in labels.items()},
        demand={name: _whole(units[alive][order]) for name, units in (demand or {}).items()},
        unit=unit,
        source=ledger.source,
        format=form,
        servers=servers,
        origin=None if origin is None else origin + first,
        records=records,
        skipped=dict(ledger.skipped),
        repaired=dict(ledger.repaired),
        examples=tuple(ledger.examples),
        ids=(place if ids is None else ids)[alive][order],
        begins=first,
    )


def _whole(units: Array) -> Ints:
    """What a job takes of a resource, rounded up; nothing where the log does not tell."""
    return np.ceil(np.clip(np.nan_to_num(units, posinf=LARGEST_DEMAND), 0, LARGEST_DEMAND)).astype(np.int64)


def _nothing(ledger: Ledger, records: int) -> str:
    """Why a file gave no job, in one line."""
    if records == 0:
        return f"holds no jobs: not one data {ledger.word}"
    counts = ", ".join(f"{reason} {count}" for reason, count in ledger.skipped.items())
    first = f" ({ledger.examples[0]})" if ledger.examples else ""
    return f"holds no job that ran, in {records} data {ledger.word}s: {counts}{first}"
