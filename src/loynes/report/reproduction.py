"""The page of the paper's tables and figures, computed again: ours beside the printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from loynes._version import __version__
from loynes.report.content import Cell, Content, Grid, Picture, Sure, Tile
from loynes.report.page import html_of
from loynes.report.words import count, duration
from loynes.results.files import write_text

CHECKED = (
    "A check is passed if our number agrees with the printed one to the digits of the print, or if our interval holds "
    "an exact value."
)


class Check(Protocol):
    """Ours beside the printed."""

    @property
    def what(self) -> str: ...
    @property
    def ours(self) -> str: ...
    @property
    def printed(self) -> str: ...
    @property
    def agrees(self) -> bool: ...


class Item(Protocol):
    """A table or figure of the paper."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def checks(self) -> Sequence[Check]: ...
    @property
    def remarks(self) -> Sequence[str]: ...
    @property
    def seconds(self) -> float: ...
    @property
    def agrees(self) -> bool: ...


def write_page(items: Sequence[Item], folder: str | Path, command: str, seed: int) -> Path:
    """Write the page beside the figures NAME.svg, which it takes in; its path."""
    place = Path(folder)
    path = place / "agreement.html"
    write_text(path, html_of(content_of(items, place, seed), [command]))
    return path


def content_of(items: Sequence[Item], folder: Path, seed: int) -> Content:
    agree = sum(one.agrees for one in items)
    seconds = sum(one.seconds for one in items)
    checks = [check for one in items for check in one.checks]
    passed = sum(check.agrees for check in checks)
    off = [f"{one.title}: {check.what}" for one in items for check in one.checks if not check.agrees]
    return Content(
        kind="reproduce",
        title="The paper's tables and figures, computed again",
        facts=[count(len(items), "item"), count(len(checks), "check")],
        summary=[
            f"{agree} of {len(items)} items agree with the print; {passed} of {len(checks)} checks are passed.",
            *([f"Not in agreement: {'; '.join(off)}."] if off else []),
            *(remark for one in items for remark in one.remarks),
        ],
        tiles=[
            Tile("items that agree", f"{agree}", f"of {len(items)}"),
            Tile("checks passed", f"{passed}", f"of {len(checks)}"),
            Tile("computed in", duration(seconds)),
        ],
        charts=[],
        pictures=[Picture(one.title, (folder / f"{one.name}.svg").read_text(encoding="utf-8")) for one in items],
        grids=[_grid(one) for one in items],
        sure=Sure([CHECKED]),
        how=[("seed", str(seed)), ("time taken", duration(seconds)), ("loynes", __version__)],
    )


def _grid(item: Item) -> Grid:
    rows = [[Cell(c.what), Cell(c.ours), Cell(c.printed), Cell("yes" if c.agrees else "no")] for c in item.checks]
    return Grid(item.title, ("quantity", "ours", "printed, or exact", "agrees"), rows)
