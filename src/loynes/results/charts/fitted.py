"""Chart of a fitted model: its mean waits beside those of the log itself."""

from __future__ import annotations

from loynes.results.charts.chart import Chart, Row, Rows
from loynes.results.charts.register import charts_for
from loynes.results.records.fitted import FittedModel
from loynes.results.times import unit_of


@charts_for(FittedModel)
def charts(result: FittedModel) -> list[Chart]:
    modelled = result.modelled or {}
    size, unit = unit_of(max(value.estimate for value in result.replayed.values()))
    rows = []
    for name, log in result.replayed.items():
        model = modelled.get(name)
        rows.append(Row(name, (log.scaled(1.0 / size), None if model is None else model.scaled(1.0 / size))))
    return [
        *_tests(result),
        Rows(
            title="Mean waits of the log and of the model",
            picture_title=f"{result.model.label}: the log, replayed, and the model",
            axis=f"mean wait ({unit})",
            measures=("log, replayed", "model") if modelled else ("log, replayed",),
            rows=tuple(rows if modelled else (Row(row.label, row.values[:1]) for row in rows)),
            pinned=1,
            offer_log=True,
            note="Bars are intervals; that of the log is how far a log of this length determines its mean.",
        ),
    ]


def _tests(result: FittedModel) -> list[Chart]:
    """The checks of the model that was taken, each as a multiple of the log's own value."""
    taken = next((one for one in result.candidates if one.process == result.process and one.checks), None)
    if taken is None:
        return []
    rows = []
    for where, checks in (("weeks not seen", taken.checks), ("whole log", taken.whole)):
        for check in checks:
            size = 1.0 / (check.log.estimate or check.log.high or 1.0)
            name = f"{check.name}, {where}{'' if check.passed else ': not passed'}"
            rows.append(Row(name, (check.log.scaled(size), check.model.scaled(size))))
    return [
        Rows(
            title="The test",
            picture_title=f"{result.model.label}: {result.verdict}",
            axis="times the log's own value",
            measures=("log, with what it leaves open", f"model ({result.process})"),
            rows=tuple(rows),
            offer_log=True,
            confidence=result.confidence,
            note="A check is passed if the model's value lies in the log's interval.",
        )
    ]
