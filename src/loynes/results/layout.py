"""A table at the width there is: no number is ever cut.

What is tried, in turn: sentences in the last column are broken into lines; heads and the texts of the first column,
too; columns that can be spared are left out, and named below; long names lose their middle. Where even that is too
wide, every row becomes a block of "name: value" lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from loynes.readable import readable

if TYPE_CHECKING:
    from loynes.results.table import Table

# A terminal's cells that broken sentences, broken texts of the first column and shortened names have at least.
LEAST_SENTENCE = 28
LEAST_TEXT = 20
LEAST_NAME = 16
# A text with more blanks is a sentence.
MOST_BLANKS = 5
ENDLESS = 10_000

NUMBER = re.compile(r"[-+±<>]?[\d.,]*\d[\d.,]*([eE][-+]?\d+)?%?")


def show(table: Table, console: Console) -> None:
    """Print a table in the width of the console."""
    form = fitting(table, console.width)
    if form is None:
        for line in blocks(table, console.width):
            console.print(line, soft_wrap=True)
        return
    console.print(form.to_rich(console.width))
    if form.hidden:
        console.print(Text(f"not shown for lack of width: {', '.join(form.hidden)}\n", "dim"))


def as_text(table: Table, width: int) -> str:
    """A table as plain text; wider than asked for where its numbers need it, since nothing is left out."""
    import io

    form = Form.of(table).with_sentences(width)
    # A notebook's console would show it at once, and as HTML: this one is told that it is in none.
    console = Console(
        file=io.StringIO(), width=max(width, form.width), color_system=None, force_jupyter=False, highlight=False
    )
    console.print(form.to_rich(console.width))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


@dataclass(frozen=True)
class Form:
    """A way to print a table: heads and rows as texts, with line breaks; what is left out of it."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    sentences: bool  # whether the last column holds any
    hidden: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table, hidden: tuple[str, ...] = ()) -> Form:
        rows = table.texts
        sentences = len(table.columns) > 1 and any(row[-1].count(" ") > MOST_BLANKS for row in rows)
        return cls(table.heading, table.heads, rows, sentences, tuple(map(readable, hidden)))

    def to_rich(self, room: int = ENDLESS) -> RichTable:
        longest = min(room, max(map(cell_len, self.title.split()), default=0))  # a title's words are not cut either
        table = RichTable(
            title=Text(self.title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, min_width=longest
        )
        for number, head in enumerate(self.heads):
            left = number == 0 or (self.sentences and number == len(self.heads) - 1)
            table.add_column(Text(head), justify="left" if left else "right", no_wrap=True, vertical="top")
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    @property
    def width(self) -> int:
        """What it takes: a console measures no more than its own width, so one without end is asked."""
        return Console(width=ENDLESS, force_jupyter=False).measure(self.to_rich()).maximum

    def with_sentences(self, room: int) -> Form:
        """Sentences broken into lines, as long as there is room for."""
        last = len(self.heads) - 1
        if not self.sentences or self.width <= room:
            return self
        return self._wrapped(last, self._wrapped(last, LEAST_SENTENCE)._grown(last, room))

    def tight(self, room: int) -> Form:
        """Heads, the first column's texts and sentences broken into lines; what room is left, the first column has."""
        heads = tuple(
            wrapped(head, max((_widest(row[n]) for row in self.rows), default=0)) for n, head in enumerate(self.heads)
        )
        form = replace(self, heads=heads)
        short = form._wrapped(0, LEAST_TEXT)
        if self.sentences:
            short = short._wrapped(len(heads) - 1, LEAST_SENTENCE)
        return form._wrapped(0, short._grown(0, room)).with_sentences(room)

    def with_short_names(self) -> Form | None:
        """Names that are one long word without their middle; None where two of them would then look alike."""
        names = [row[0] for row in self.rows]
        short = [_short(name) for name in names]
        heads = tuple(" ".join(map(_short, head.split())) for head in self.heads)
        if len(set(short)) < len(set(names)) or len(set(heads)) < len(set(self.heads)):
            return None
        rows = tuple((name, *row[1:]) for name, row in zip(short, self.rows, strict=True))
        return replace(self, heads=heads, rows=rows)

    def _grown(self, column: int, room: int) -> int:
        """How wide a column can be if it is given all the room that is left."""
        return max((_widest(row[column]) for row in self.rows), default=0) + max(room - self.width, 0)

    def _wrapped(self, column: int, width: int) -> Form:
        rows = tuple((*row[:column], wrapped(row[column], width), *row[column + 1 :]) for row in self.rows)
        return replace(self, rows=rows)


def fitting(table: Table, room: int) -> Form | None:
    """The first form that fits, None where none does."""
    return next((form for form in _forms(table, room) if form.width <= room), None)


def _forms(table: Table, room: int) -> Iterator[Form]:
    yield Form.of(table).with_sentences(room)
    hidden: tuple[str, ...] = ()
    yield Form.of(table).tight(room)
    for column in table.order_to_go:
        table, hidden = table.without(column), (*hidden, column)
        yield Form.of(table, hidden).tight(room)
    short = Form.of(table, hidden).with_short_names()
    if short is not None:
        yield short.tight(room)


def blocks(table: Table, room: int) -> list[Text]:
    """A block a row: its first cell, then a line for each other one. Where there is but one other, a line a row."""
    lines = [Text(wrapped(table.heading, room), "bold")]
    first, *others = table.heads
    for name, *cells in table.texts:
        if len(cells) == 1:
            lines.append(_entry(name, cells[0], room))
            continue
        lines.append(Text(""))
        lines.append(_entry(first, name, room))
        lines += [_entry(f"  {head}", cell, room) for head, cell in zip(others, cells, strict=True) if cell]
    return [*lines, Text("")]


def _entry(name: str, value: str, room: int) -> Text:
    """name: value. Where a line has no room for both, the value begins the next one, set back."""
    margin = " " * (len(name) - len(name.lstrip()))
    lines = wrapped(f"{name.strip()}: {value}", room - len(margin) - 2)
    if "\n" in lines and cell_len(value) <= room - len(margin) - 2:
        lines = wrapped(f"{name.strip()}:", room - len(margin) - 2) + f"\n{value}"
    return Text(margin + lines.replace("\n", f"\n{margin}  "))


def wrapped(text: str, width: int) -> str:
    """Broken at blanks into lines of a width; a longer word has a line to itself, and is whole."""
    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return "\n".join(lines)


def _widest(text: str) -> int:
    return max(map(cell_len, text.splitlines()), default=0)


def _short(name: str) -> str:
    """A name without its middle; numbers, and names of several words, are left alone."""
    if cell_len(name) <= LEAST_NAME or " " in name or NUMBER.fullmatch(name):
        return name
    front = LEAST_NAME // 2
    return f"{name[:front]}…{name[-(LEAST_NAME - front - 1) :]}"
