"""Logs in JSON: a document that holds a list of jobs, or a job a line; words and numbers out of either."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

from loynes.traces.ledger import Ledger, quoted
from loynes.traces.times import number

Object = dict[str, Any]


def objects_of(data: bytes, ledger: Ledger, damaged: list[tuple[int, str, str]]) -> Iterator[tuple[int, Object]]:
    """Objects and their places: of a list, or of its `items`, their numbers from 1; else the lines they are on.

    What is no object is damaged; a document that is cut off holds nothing that could be told from it.
    """
    found = _document(data)
    if found is None:
        if data.lstrip().startswith(b"["):
            raise ledger.error("not a whole JSON document")
        yield from _by_line(data, damaged)
        return
    ledger.word = "job"
    for place, one in enumerate(found, 1):
        if isinstance(one, dict):
            yield place, one
        else:
            damaged.append((place, f"{type(one).__name__} in the list", "an object"))


def _document(data: bytes) -> list[Any] | None:
    """The list that the whole file is, or holds as its items; a single object that is a job; or nothing of these."""
    try:
        whole = from_json(data)
    except ValueError:
        return None
    if isinstance(whole, list):
        return whole
    if isinstance(whole, dict):
        items = whole.get("items")
        return items if isinstance(items, list) else [whole]
    return None


def _by_line(data: bytes, damaged: list[tuple[int, str, str]]) -> Iterator[tuple[int, Object]]:
    for line, text in enumerate(data.split(b"\n"), 1):
        if not text or text.isspace():
            continue
        try:
            one = from_json(text)
        except ValueError:
            one = None
        if isinstance(one, dict):
            yield line, one
        else:
            damaged.append((line, f"{quoted(text)} is no JSON object", "an object like {...}"))


def number_in(value: object) -> float:
    """A number, or a word for one; NaN for anything else, an expression say."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    try:
        return number(value) if isinstance(value, str) else math.nan
    except ValueError:
        return math.nan


def text_in(value: object) -> str:
    """A word; nothing for nothing, and for lists and objects."""
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value)


def object_in(value: object) -> Object:
    return value if isinstance(value, dict) else {}


def list_in(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
