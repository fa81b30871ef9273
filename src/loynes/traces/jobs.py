"""A log's jobs on the way from words to a trace: columns by our own names, and the rules that several formats share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.traces.gather import gather
from loynes.traces.ledger import Ledger, quoted
from loynes.traces.readers.register import Asked
from loynes.traces.trace import Trace
from loynes.traces.units import chosen, resource_named, unit_named
from loynes.traces.words import Bad, Words, distinct, durations_of, numbered, numbers_of, sizes_of, stamps_of

CANCELLED = "cancelled before it ran"
REQUESTED_INSTEAD = "allocated processors missing: requested ones taken"
UNFINISHED = "not finished: pending, running or suspended"
NEVER_STARTED = "never started"
TOLD_TWICE = "the same run of a job, told twice"
EARLIER_RUN = "an earlier run of a job that was requeued"
NEEDS_NONE = "needs nothing of what was chosen"
MIXED = "stamp without an offset from UTC in a file that has offsets: taken as UTC"
ELIGIBLE = "eligible later than submitted: counted from then on"

MOMENTS = ("submit", "eligible", "start", "end")
SPANS = ("service", "wait", "requested_time")
RESOURCES = ("node", "cpu", "gpu", "mem", "cpu_milli", "gpu_milli", "cpu_percent", "gpu_percent")
RIGHT = {"moment": "a stamp like 2024-03-01T12:00:00, or seconds", "span": "a time like 1-02:03:04, or seconds"}
# Labels longer than so many bytes together are kept as Python has them, each in as much room as it needs.
WIDE = 1 << 27


class Jobs:
    """One row a line that could be a job, in the file's order.

    `records` counts all data lines; `damaged` has what is wrong with lines that are no rows: line, problem, expected.
    Words become numbers as they are put in; a line with a word that cannot be read is damaged, and reported in the
    order of the lines.
    """

    def __init__(
        self,
        ledger: Ledger,
        asked: Asked,
        place: Sequence[int] | Ints,
        records: int,
        damaged: Sequence[tuple[int, str, str]] = (),
    ) -> None:
        self.ledger, self.asked, self.records = ledger, asked, records
        self.place = np.asarray(place, dtype=np.int64)
        self.alive = np.ones(len(self.place), dtype=np.bool_)
        self.values: dict[str, Array] = {}
        self.demand: dict[str, Array] = {}
        self.labels: dict[str, Words] = {}
        self.ids: Words | None = None  # what the log calls jobs
        self._damaged = list(damaged)
        self._zoned = self._naive = np.zeros(len(self.place), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.place)

    def drop(self, rows: Bad, reason: str) -> None:
        """Skip jobs for a reason, those that are not skipped yet."""
        rows = rows & self.alive
        self.ledger.skip(reason, int(np.count_nonzero(rows)))
        self.alive &= ~rows

    def put(self, name: str, words: Words, theirs: str = "", needed: bool = True, plain: float = 1.0) -> None:
        """Words as a column of numbers, under our own name; `theirs` is what the log calls it.

        Where a word is not needed and cannot be read, the log has none; as for limits, which may be UNLIMITED. Memory
        without a letter is so many MiB as `plain` says.
        """
        theirs = theirs or name
        if name in MOMENTS:
            values, bad, zoned, naive = stamps_of(words)
            if name == "submit":
                self._zoned, self._naive = zoned, naive
            right = RIGHT["moment"]
        elif name in SPANS:
            (values, bad), right = durations_of(words), RIGHT["span"]
        elif name == "mem":
            (values, bad), right = sizes_of(words, plain), "a size like 16G"
        else:
            (values, bad), right = numbers_of(words), "a number"
        if needed and name not in ("requested_time", "mem"):
            self.damage(bad, words, theirs, right)
        if name in MOMENTS or name in SPANS or name == "need":
            self.values[name] = values
        else:
            self.demand[name] = values

    def damage(self, bad: Bad, words: Words, name: str, right: str) -> None:
        """Rows with a word that cannot be read."""
        for i in np.flatnonzero(bad & self.alive).tolist():
            self._damaged.append((int(self.place[i]), f"column {quoted(name)} is {quoted(str(words[i]))}", right))
        self.alive &= ~bad

    def value(self, name: str) -> Array:
        """A column, or nothing but NaN."""
        found = self.values.get(name)
        return np.full(len(self), np.nan) if found is None else found

    def report(self) -> None:
        """Tell the ledger of all damaged lines, the first one first."""
        self._damaged.sort(key=lambda one: one[0])
        for line, problem, right in self._damaged:
            self.ledger.damage(line, problem, right)
        self._damaged.clear()

    def derive(self) -> None:
        """Run times from start and end, arrivals from when jobs were eligible, waits from both, where the log has no
        column for them."""
        self.report()
        start = self.value("start")
        if "service" not in self.values:
            self.values["service"] = self.value("end") - start
        elif "end" in self.values:
            none = np.isnan(self.values["service"])
            self.values["service"] = np.where(none, self.value("end") - start, self.values["service"])
        if "eligible" in self.values and "submit" in self.values:
            later = self.values["eligible"] > self.values["submit"]
            self.ledger.repair(ELIGIBLE, int(np.count_nonzero(later & self.alive)))
            self.values["submit"] = np.where(later, self.values["eligible"], self.values["submit"])
        if "wait" not in self.values:
            self.values["wait"] = start - self.value("submit")

    def once_each(self, *keys: Words) -> None:
        """Jobs by these columns: a run that is told twice counts once; earlier runs count if all runs are asked for."""
        number = numbered(*keys)
        if np.bincount(number[self.alive], minlength=1).max() <= 1:
            return
        rows, same, later = self._runs(number)
        twice, earlier = (np.zeros(len(self), dtype=np.bool_) for _ in range(2))
        twice[rows[1:][same & ~later]] = True
        self.drop(twice, TOLD_TWICE)
        if self.asked.duplicates == "last":
            rows, same, later = self._runs(number)
            earlier[rows[:-1][same & later]] = True
            self.drop(earlier, EARLIER_RUN)

    def _runs(self, number: Ints) -> tuple[Ints, Bad, Bad]:
        """Rows, job after job and run after run; whether the next is of the same job, and not of the same run.

        Runs without a start never were: they come first, and are all different.
        """
        rows = np.flatnonzero(self.alive)
        start = self.value("start" if "start" in self.values else "submit")[rows]
        when = np.where(np.isnan(start), -np.inf, start)
        order = np.lexsort((rows, when, number[rows]))
        job, start, rows = number[rows][order], start[order], rows[order]
        return rows, job[1:] == job[:-1], start[1:] != start[:-1]

    def trace(
        self,
        form: str,
        *,
        standard: str | None = None,
        servers: int | None = None,
        origin: float | None = None,
        none_is_wrong: bool = False,
    ) -> Trace:
        """The trace; `standard` is the resource that the format counts in, unless somebody says otherwise.

        `none_is_wrong`: a job without any of it is damaged, not merely one that does not use it.
        """
        if bool(np.any(self._zoned & self.alive)):
            self.ledger.repair(MIXED, int(np.count_nonzero(self._naive & self.alive)))
        need, unit, least = self._need(standard, none_is_wrong)
        keep = self.alive
        several = len(self.demand) > 1 or bool(self.asked.resources) or "need" in self.values
        return gather(
            self.ledger,
            form=form,
            place=self.place[keep],
            submit=self.value("submit")[keep],
            need=need[keep],
            service=self.value("service")[keep],
            wait=self.value("wait")[keep],
            labels={name: label_of(words)[keep] for name, words in self._all_labels().items()},
            records=self.records,
            servers=servers,
            origin=origin,
            demand={name: units[keep] for name, units in self.demand.items()} if several else {},
            unit=unit,
            least=least,
            ids=None if self.ids is None else label_of(self.ids)[keep],
        )

    def _all_labels(self) -> Mapping[str, Words]:
        requested = self.values.get("requested_time")
        return self.labels if requested is None else {"requested_time": requested, **self.labels}

    def _need(self, standard: str | None, none_is_wrong: bool) -> tuple[Array, str, int]:
        """What a job needs as one number, what that counts, and the least it may be."""
        if self.asked.resources:
            names = [resource_named(name) for name in self.asked.resources]
            for name in names:
                if name not in self.demand:
                    told = ", ".join(self.demand) or "none"
                    raise UsageError(
                        f"resource {name!r}: {self.ledger.source} does not tell of it; it tells of: {told}"
                    )
            each = np.array([np.nan_to_num(self.demand[name]) for name in names])
            self.drop(np.asarray(~np.any(each > 0, axis=0)), NEEDS_NONE)
            return np.ceil(each[0]), unit_named(names[0]), 0
        if "need" in self.values and self.asked.unit is None:
            return self.values["need"], "servers", 1
        if not self.demand:
            if self.asked.unit is not None:
                chosen(self.demand, self.asked.unit, None, self.ledger)
            return np.full(len(self), np.nan), "servers", 1
        alive = {name: units[self.alive] for name, units in self.demand.items()}
        name = chosen(alive, self.asked.unit, standard, self.ledger)
        if self.asked.unit is not None or not none_is_wrong:
            self.drop(self.demand[name] == 0, NEEDS_NONE)
        return self.demand[name], unit_named(name), 1


def label_of(words: Words) -> NDArray[Any]:
    """One value a job: numbers stay, all else is text."""
    if isinstance(words, np.ndarray) and words.dtype.kind in "iufbU":
        return words
    texts, code = distinct([str(word) for word in words] if isinstance(words, np.ndarray) else words)
    wide = 4 * len(words) * max(map(len, texts), default=0) > WIDE
    return np.array(texts, dtype=np.object_ if wide else np.str_)[code]
