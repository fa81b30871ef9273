r"""Names and other texts from files, as people are shown them.

A class may be called anything: its name may hold a terminal's commands, marks that turn the direction of writing, line
breaks, or a million letters. Whoever shows a text to people, in a table, a title, a message, a page or a picture, shows
`readable(text)`. Files and JSON keep names as they are.

Signs are escaped as JSON and TOML do (\n, \u001b, \U000e0041), so that a model that a page shows is still the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

Shown = TypeVar("Shown")

# What a terminal or a browser obeys instead of showing it: control characters, marks of direction, line and paragraph
# separators, what has no width (but for the joiners, which some scripts need), halves of surrogate pairs, and tags.
_OBEYED = (
    r"\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e0fff"
)
_HIDDEN = re.compile(f"[{_OBEYED}]")
_HIDDEN_IN_LINES = re.compile(f"(?!\n)[{_OBEYED}]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}

# A longer word, or a longer text, is shown by its beginning and its end. File names have at most 255 signs.
LONGEST_WORD = 300
LONGEST_TEXT = 4000
_WORD_KEPT, _TEXT_KEPT = (60, 20), (1000, 100)
_ENDLESS_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


def visible(text: str, *, lines: bool = False) -> str:
    """A text whose every sign can be seen; of a text of several lines, the line breaks stay."""
    return (_HIDDEN_IN_LINES if lines else _HIDDEN).sub(_escaped, text)


def readable(text: str) -> str:
    """A text in one line, with all its signs visible, and without the middle of what is endless."""
    return _without_middles(visible(_without_middles(text)))  # escapes are longer than what they stand for


def readable_throughout(value: Shown, show: Callable[[str], str] = readable) -> Shown:
    """A record, or tuples of records, in which every text can be shown; numbers and all else are as they were."""
    if isinstance(value, str):
        return show(value)  # type: ignore[return-value]
    if isinstance(value, tuple):
        some = [readable_throughout(one, show) for one in value]
        same = all(after is before for before, after in zip(value, some, strict=True))
        return value if same else tuple(some)  # type: ignore[return-value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed: dict[str, Any] = {}
    for one in fields(value):
        before = getattr(value, one.name)
        after = readable_throughout(before, show)
        if after is not before:
            changed[one.name] = after
    return replace(value, **changed) if changed else value


def _escaped(match: re.Match[str]) -> str:
    sign = match[0]
    return _SHORT.get(sign) or (f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}")


def _without_middles(text: str) -> str:
    if len(text) <= LONGEST_WORD:
        return text
    text = _ENDLESS_WORD.sub(lambda word: _without_middle(word[0], _WORD_KEPT), text)
    return text if len(text) <= LONGEST_TEXT else _without_middle(text, _TEXT_KEPT)


def _without_middle(text: str, kept: tuple[int, int]) -> str:
    return f"{text[: kept[0]]}...({len(text)} signs)...{text[-kept[1] :]}"
