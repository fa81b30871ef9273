"""Workloads in named columns: CSV and Parquet files, dictionaries of arrays, data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.errors import UsageError
from loynes.traces.gather import gather
from loynes.traces.ledger import Ledger, quoted
from loynes.traces.text import first_of, lines_of
from loynes.traces.times import duration, number, stamp
from loynes.traces.trace import Array, Trace

REQUIRED = ("submit", "need", "service")
OURS = (*REQUIRED, "wait")
DELIMITERS = ",;\t|"


def read_csv(data: bytes, ledger: Ledger, columns: Mapping[str, str]) -> Trace:
    """A header of names, then one job a line. Fields may be quoted; a line end inside quotes is not supported."""
    lines = lines_of(data, ledger)
    line, head = first_of(lines, ledger)
    comma = max(DELIMITERS, key=head.count)
    names = [name.strip() for name in _fields(head, comma)]
    _find(names, columns, ledger)  # before a million lines are read in vain
    # One flat list of words: lists of lists would keep the garbage collector busy.
    words: list[str] = []
    place, records = [], 0
    for line, text in lines:
        records += 1
        fields = text.split(comma) if '"' not in text else _fields(text, comma)
        if len(fields) == len(names):
            words += fields
            place.append(line)
        else:
            ledger.damage(line, f"{len(fields)} fields", f"{len(names)} separated by {comma!r}, as in the header")
    # Of columns with the same name the first one counts.
    table = {name: words[i :: len(names)] for i, name in reversed(list(enumerate(names)))}
    return _from_table(table, ledger, columns, "csv", np.array(place, dtype=np.int64), records)


def _fields(line: str, comma: str) -> list[str]:
    """Of one line: an open quote must not swallow the lines after it."""
    try:
        return next(csv.reader([line], delimiter=comma))
    except csv.Error:
        return []


def read_parquet(data: bytes, ledger: Ledger, columns: Mapping[str, str]) -> Trace:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError("Parquet files need pyarrow: pip install 'loynes[io]' (or use a .csv)") from None
    try:
        table = pq.read_table(io.BytesIO(data))
        arrays = {str(name): table.column(i).to_numpy() for i, name in reversed(list(enumerate(table.column_names)))}
    except Exception as error:  # a damaged file makes the decoder raise almost anything
        raise ledger.error(f"not a whole Parquet file: {' '.join(str(error).split())[:200]}") from None
    return from_columns(arrays, ledger, columns, "parquet")


def from_columns(table: Mapping[str, Any], ledger: Ledger, columns: Mapping[str, str], form: str = "arrays") -> Trace:
    """Arrays by name, or whatever numpy makes arrays of."""
    ledger.word = "row"
    arrays = {name: np.asarray(values) for name, values in table.items()}
    shapes = {values.shape for values in arrays.values()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise ledger.error("columns must be one-dimensional and of the same length")
    length = len(next(iter(arrays.values()))) if arrays else 0
    return _from_table(arrays, ledger, columns, form, np.arange(1, length + 1), length)


def _find(names: Sequence[str], columns: Mapping[str, str], ledger: Ledger) -> dict[str, str]:
    """Our names -> those of the table."""
    column_of = {ours: ours for ours in OURS if ours in names}
    for ours, theirs in columns.items():
        if theirs not in names:
            raise ledger.error(f"no column {theirs!r} for {ours}; there are: {_listed(names)}")
        column_of[ours] = theirs
    for ours in REQUIRED:
        if ours not in column_of:
            raise ledger.error(f"no column {ours!r}; there are: {_listed(names)} (name it with {ours}=COLUMN)")
    return column_of


def _listed(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names[:20]) + (", ..." if len(names) > 20 else "")


def _from_table(
    table: Mapping[str, Sequence[str] | NDArray[Any]],
    ledger: Ledger,
    columns: Mapping[str, str],
    form: str,
    place: NDArray[np.int64],
    records: int,
) -> Trace:
    column_of = _find(tuple(table), columns, ledger)
    sound = np.ones(len(place), dtype=np.bool_)

    def taken(ours: str) -> Array:
        if ours not in column_of:
            return np.full(len(place), np.nan)
        # Seconds, or the words that logs have for them.
        reader = {"submit": lambda text: stamp(text)[0], "need": number}.get(ours, duration)
        return _numbers(table[column_of[ours]], reader, column_of[ours], place, sound, ledger)

    values = {ours: taken(ours) for ours in OURS}
    mapped = {theirs: ours for ours, theirs in column_of.items()}
    others = [name for name in table if mapped.get(name) not in OURS]
    labels = {mapped.get(name, name): _label(table[name])[sound] for name in others}
    return gather(
        ledger,
        form=form,
        place=place[sound],
        submit=values["submit"][sound],
        need=values["need"][sound],
        service=values["service"][sound],
        wait=values["wait"][sound],
        labels=labels,
        records=records,
    )


def _label(values: Sequence[str] | NDArray[Any]) -> NDArray[Any]:
    column = np.asarray(values)
    return column if column.dtype.kind in "iufbU" else np.array([str(value) for value in column], dtype=np.str_)


def _numbers(
    values: Sequence[str] | NDArray[Any],
    reader: Callable[[str], float],
    name: str,
    place: NDArray[np.int64],
    sound: NDArray[np.bool_],
    ledger: Ledger,
) -> Array:
    """A column as numbers, NaN where it has none; lines whose word is no number are struck out of `sound`."""
    if isinstance(values, np.ndarray):
        kind = values.dtype.kind
        if kind in "iufb":
            return values.astype(np.float64)
        if kind in "Mm":
            # Stamps count from 1970, as those of text do.
            seconds = values.astype(f"{kind}8[us]").astype(np.int64) / 1e6
            return np.where(np.isnat(values), np.nan, seconds)
        values = ["" if value is None else str(value) for value in values]
    if not any("_" in text for text in values):
        try:
            return np.fromiter(map(float, values), dtype=np.float64, count=len(values))
        except ValueError:
            pass
    result = np.empty(len(values))
    for i, text in enumerate(values):
        try:
            result[i] = reader(text)
        except (ValueError, OverflowError):
            result[i] = np.nan
            if sound[i]:
                ledger.damage(int(place[i]), f"column {quoted(name)} is {quoted(text)}", "a number")
                sound[i] = False
    return result
