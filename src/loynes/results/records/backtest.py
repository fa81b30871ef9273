"""The answer of `eta --backtest`: how often forecasts were right, and how sharp they were."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from loynes.estimators.forecasts import INTERVALS, Scores, Stretches
from loynes.results.base import Result
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.eta import Cluster
from loynes.results.table import Table
from loynes.results.times import unit_of

NO_STRETCHES = Stretches(0, 0.0)


@dataclass(frozen=True, kw_only=True, repr=False)
class Backtest(Result):
    """Forecasts at many instants of a log, beside the truth and beside simpler forecasts."""

    command: ClassVar[str] = "eta-backtest"
    tidy_csv: ClassVar[bool] = True

    model: Cluster
    policy: str
    truth: str  # what forecasts are held against: a replay, or the log's own starts
    instants: int
    judged: int  # waiting jobs that were judged, at all instants
    draws: int
    scores: tuple[Scores, ...]  # ours first
    places: tuple[int, ...]  # how many truths fell into each tenth of their draws
    mean_wait: float  # of the judged jobs, from the instant on
    stretches: Stretches = NO_STRETCHES  # what standard errors of shares take to be independent
    history: dict[str, Any] = field(default_factory=dict)

    @property
    def time_unit(self) -> str:
        return LOG_UNIT

    @property
    def unit(self) -> tuple[float, str]:
        return unit_of(max((max(one.width.values()) for one in self.scores), default=0.0))

    @property
    def title(self) -> str:
        return f"{self.model.name}: forecasts at {self.instants} instants under {self.policy} ({self.unit[1]})"

    @property
    def headline(self) -> str:
        ours = self.scores[0]
        held = ", ".join(f"{100 * float(share):g}%: {held:.1%}" for share, held in ours.coverage.items())
        return f"intervals hold the truth ({held}); pinball loss {self.saved:.0%} below assuming limits are used"

    @property
    def saved(self) -> float:
        """How much smaller the pinball loss is than that of every job using its limit."""
        by_name = {one.name: one.pinball for one in self.scores}
        limit = by_name.get("all to the limit", 0.0)
        return 1.0 - self.scores[0].pinball / limit if limit > 0 else 0.0

    @property
    def summary(self) -> Table:
        size, _ = self.unit
        rows = []
        for one in self.scores:
            held = [_held(one, f"{share:g}") for share in INTERVALS]
            width = [f"{one.width[f'{share:g}'] / size:.3g}" for share in INTERVALS]
            rows.append((one.name, *held, *width, f"{one.pinball / size:.4g}", f"{one.bias / size:.3g}"))
        names = [f"{share:.0%}" for share in INTERVALS]
        columns = ("forecast", *(f"in {n}" for n in names), *(f"width {n}" for n in names), "pinball loss", "bias")
        return Table(self.title, columns, tuple(rows), tuple(f"width {n}" for n in reversed(names)))

    @property
    def places_summary(self) -> Table:
        count = len(self.places)
        rows = tuple(
            (f"{k / count:g} to {(k + 1) / count:g}", str(n), f"{n / max(self.judged, 1):.3g}")
            for k, n in enumerate(self.places)
        )
        return Table(
            "where the truth fell among the draws (a tenth each if calibrated)", ("part", "jobs", "share"), rows
        )

    @property
    def tables(self) -> list[Table]:
        return [self.summary, self.places_summary]

    @property
    def tidy(self) -> Table:
        rows = []
        for one in self.scores:
            rows += [(one.name, f"coverage {share}", value) for share, value in one.coverage.items()]
            rows += [
                (one.name, f"coverage {share}, standard error", value) for share, value in one.coverage_error.items()
            ]
            rows += [(one.name, f"width {share}", value) for share, value in one.width.items()]
            rows += [(one.name, "pinball", one.pinball), (one.name, "bias", one.bias)]
        return Table(self.title, ("forecast", "score", "value"), tuple(rows))

    @property
    def footer(self) -> str:
        size, unit = unit_of(self.stretches.length)
        error = (
            f"±: a standard error, {self.stretches.count} stretches of {self.stretches.length / size:g} {unit} taken"
        )
        return (
            f"{self.judged} waiting jobs at {self.instants} instants, {self.draws} draws each, against {self.truth}; "
            f"{error} as independent; {self.seconds:.1f} s, seed {self.seed}"
        )


def _held(one: Scores, share: str) -> str:
    """How many of the intervals held the truth, and the standard error where anything varies."""
    error = one.coverage_error.get(share, 0.0)
    text = f"{one.coverage[share]:.1%}"
    return f"{text} ±{100 * error:.1f}" if error > 0 else text
