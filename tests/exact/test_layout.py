"""Tables at any width: what is printed of a number is the whole number, and what is left out is named."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from loynes.questions.asking.register import load_all
from loynes.results.base import Result, result_of
from loynes.results.layout import blocks, fitting, show
from loynes.results.table import Table

RECORDED = Path(__file__).parents[1] / "recorded" / "documents.json.gz"
WIDTHS = (40, 60, 80, 100, 160)
# A number by itself, with its sign and unit of percent, but no part of a name.
NUMBERS = re.compile(r"(?<![\w.…=>/-])[-+±]?\d[\d.]*(?:e[-+]?\d+)?%?(?![\w…=/])")
LONG = "a-very-long-name-of-a-class-of-jobs-that-nobody-wants-to-read-in-full"


def printed(table: Table, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    show(table, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def recorded() -> Iterator[Result]:
    """The recorded results, of every kind."""
    for answers in json.loads(gzip.decompress(RECORDED.read_bytes()))["cases"].values():
        for answer in answers:
            if isinstance(document := answer["document"], dict) and document.get("command") in load_all():
                yield result_of({"path": "samples.csv"} | document if document["command"] == "sample" else document)


RESULTS: dict[str, list[Result]] = {}
for one in recorded():
    RESULTS.setdefault(one.command, []).append(one)


def test_every_kind_is_recorded() -> None:
    assert set(RESULTS) == {name for name, one in load_all().items() if one.__module__.startswith("loynes.")}


@pytest.mark.parametrize("kind", RESULTS)
def test_numbers_are_whole(kind: str) -> None:
    for table in {str(table): table for result in RESULTS[kind][:6] for table in result.tables}.values():
        full = " ".join([table.title, *table.columns, *(cell for row in table.texts for cell in row)]).split()
        whole = set(NUMBERS.findall(" ".join(full)))
        for width in WIDTHS:
            text = printed(table, width)
            assert set(NUMBERS.findall(text)) <= whole, (table.title, width)
            assert "…" not in text
            assert max(map(cell_len, text.splitlines())) <= width, (table.title, width)
            _, _, hidden = " ".join(text.split()).partition("not shown for lack of width: ")
            left = [column for column in table.columns if column not in hidden.split(", ")]
            for n, column in enumerate(table.columns):
                if column in left:  # every number of a column that is shown is there
                    cells = {word for row in table.texts for word in NUMBERS.findall(row[n])}
                    assert cells <= set(NUMBERS.findall(text)), (table.title, width, column)


def test_str_has_every_column_however_many() -> None:
    columns = tuple(f"column {n}" for n in range(30))
    table = Table("t", columns, (tuple(1234.5 + n for n in range(30)),))
    assert all(column in str(table) and cell in str(table) for column, cell in zip(columns, *table.texts, strict=True))


def test_what_goes_first() -> None:
    table = Table("t", ("class", "need", "mean", "p50", "p95"), (("a", "1", 1.25, 2.25, 3.25),))
    assert table.order_to_go == ("p95", "p50")  # the first, that of numbers, and half of them stay
    assert Table("t", ("a", "b", "c"), ((1, 2, 3),), ("b", "gone")).order_to_go == ("b",)
    assert Table("t", ("a", "b"), (("x", 1),)).order_to_go == ()
    form = fitting(table, 30)
    assert form is not None
    assert form.hidden == ("p95",)
    assert "not shown for lack of width: p95" in " ".join(printed(table, 30).split())
    assert fitting(Table("t", table.columns, table.rows, ()), 30) is None


def test_heads_and_texts_are_broken_before_anything_is_left_out() -> None:
    table = Table("t", ("what it is", "mean wait of all"), (("one two three four five six", 0.123456),))
    lines = [line.split() for line in printed(table, 36).splitlines()]
    assert ["wait", "of"] in lines
    assert ["one", "two", "three", "four", "0.123456"] in lines
    assert ["five", "six"] in lines


def test_names_lose_their_middle_and_numbers_do_not() -> None:
    rows = ((LONG, 0.123456), ("b", 7.0))
    assert "a-very-l…in-full" in printed(Table("t", ("class", "mean"), rows), 40)
    # Names that would look alike, and numbers that are names, stay whole: blocks.
    for name in (LONG.replace("nobody", "everybody"), "1" * 60):
        text = printed(Table("t", ("class", "mean"), ((name, 0.5), *rows)), 40)
        assert f"{name}:\n  0.5" in text
        assert f"{LONG}:\n  0.123456" in text


def test_blocks() -> None:
    rows = (("one", "1", 0.298045), ("two", "", 7.09))
    lines = blocks(Table("title of it", ("class", "need", "mean wait"), rows), 20)
    assert [line.plain for line in lines] == [
        "title of it", "", "class: one", "  need: 1", "  mean wait:\n    0.298045", "",
        "class: two", "  mean wait: 7.09", "",
    ]  # fmt: skip
    pairs = blocks(Table("t", ("quantity", "value"), (("threshold", "2.4 (exact: of a chain)"),)), 24)
    assert [line.plain for line in pairs] == ["t", "threshold: 2.4 (exact:\n  of a chain)", ""]
