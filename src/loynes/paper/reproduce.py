"""Compute the paper's tables and figures again: data, pictures and agreement, into a folder."""

from __future__ import annotations

import time
import warnings as python_warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from loynes.errors import LoynesError, LoynesWarning, UsageError
from loynes.execution.progress import PartProgress, Progress, silent
from loynes.kernels.backends import engine_of
from loynes.paper import blocking, cell_b, one_or_all, waits
from loynes.paper.item import Effort, Item
from loynes.results.charts.drawing import pyplot
from loynes.results.files import check_folder, is_file_path, write_text
from loynes.results.table import Table

ITEMS: dict[str, Callable[[Effort], Item]] = {
    "one-or-all": one_or_all.run,
    "hol-big-jobs": blocking.big_jobs,
    "hol-rate": waits.loss,
    "densities": waits.density,
    "waits-exponential": waits.of_law("exponential"),
    "waits-hyperexponential": waits.of_law("hyperexponential"),
    "waits-laws": waits.laws,
    "cell-b": cell_b.run,
    "random-assignment": blocking.assignment,
}


def reproduce(
    names: str | Iterable[str] = "all",
    folder: str | Path = "reproduced",
    *,
    quick: bool = False,
    seed: int = 1,
    backend: str = "auto",
    executor: object = None,
    progress: Progress = silent,
) -> list[Item]:
    """Tables and figures of the paper, or all of them: NAME.csv, NAME.svg and NAME.png, and agreement.md on all.

    `quick` takes minutes on two cores, with wider intervals.
    """
    chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name != "all" and name not in ITEMS:
            raise UsageError(f"{name!r}: there is no such table or figure; there are all, {', '.join(ITEMS)}")
    if "all" in chosen or not chosen:
        chosen = list(ITEMS)
    if executor is None:
        engine_of(backend)  # a backend that is not there is refused at once
    place = Path(folder)
    if is_file_path(place):
        raise UsageError(f"{folder}: must be a folder")
    check_folder(place)
    pyplot()  # says what is missing
    items: list[Item] = []
    effort = Effort(quick, seed, backend, executor, progress)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LoynesError(f"{place}: cannot be written: {error.strerror}") from None
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", LoynesWarning)
        for number, one in enumerate(chosen):
            began = time.perf_counter()
            part = PartProgress(progress, number / len(chosen), 1 / len(chosen), one)
            item = ITEMS[one](replace(effort, progress=part))
            items.append(replace(item, seconds=time.perf_counter() - began))
            _write(items[-1], place)
    write_text(place / "agreement.md", agreement(items, quick))
    return items


def _write(item: Item, place: Path) -> None:
    for name, table in item.tables.items():
        write_text(place / f"{name}.csv", table.to_csv())
    plt = pyplot()
    figure = item.draw()
    with plt.rc_context({"svg.hashsalt": "loynes", "svg.fonttype": "none"}):
        figure.savefig(place / f"{item.name}.svg", metadata={"Date": None})
        figure.savefig(place / f"{item.name}.png", dpi=150)
    plt.close(figure)


def agreement(items: list[Item], quick: bool) -> str:
    """Every item with its picture, and ours beside the printed."""
    lines = ["# The paper's tables and figures, computed again", ""]
    lines += [
        f"`loynes reproduce all{' --quick' if quick else ''}`: "
        f"{sum(one.agrees for one in items)} of {len(items)} items agree, "
        f"in {sum(one.seconds for one in items):.0f} s.",
        "",
    ]
    for one in items:
        lines += [f"## {one.title}", "", f"![{one.name}]({one.name}.svg)", ""]
        lines += ["| | ours | printed, or exact | agrees |", "| --- | --- | --- | --- |"]
        lines += [f"| {c.what} | {c.ours} | {c.printed} | {'yes' if c.agrees else 'no'} |" for c in one.checks]
        lines += ["", *(f"{text}\n" for text in one.remarks)]
    return "\n".join(lines).rstrip() + "\n"


def summary(items: list[Item]) -> Table:
    rows = tuple(
        (one.name, sum(c.agrees for c in one.checks), len(one.checks), "yes" if one.agrees else "no", one.seconds)
        for one in items
    )
    return Table("the paper, computed again", ("item", "checks that agree", "of", "agrees", "seconds"), rows)
