"""YAML as data, with the line of every key and entry.

Plain words are read by YAML 1.2's core schema: `1e-3` is a number, and `no`, `1:30` and `2024-01-01` are texts, which
YAML 1.1 made something else of. A key that is there twice is a mistake, as it is in TOML.
"""

from __future__ import annotations

import math
import re
from typing import Any

from loynes.errors import ModelError
from loynes.model.lines import Lines, Place

# An alias may stand for a large part of a file, and for itself.
MOST_ENTRIES = 5_000_000

_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_SPECIAL = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
_WHOLE = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TAG = "tag:yaml.org,2002:"


def read_yaml(text: str) -> tuple[Any, Lines]:
    """The data of a YAML text, and where it is; a text that is not right is a ValueError."""
    try:
        import yaml
    except ImportError:
        raise ModelError("YAML files need PyYAML: pip install 'loynes[yaml]' (or write the model as .toml)") from None
    try:
        top = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" (at line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""
        raise ValueError(f"{getattr(error, 'problem', None) or error}{place}") from None
    reader = _Reader()
    return None if top is None else reader.value(top, (), ()), reader.lines


class _Reader:
    """Nodes as PyYAML composes them, turned into data."""

    def __init__(self) -> None:
        self.lines: Lines = {}
        self._entries = 0

    def value(self, node: Any, place: Place, inside: tuple[int, ...]) -> Any:
        """The data of a node, which is inside these others."""
        self._entries += 1
        if id(node) in inside or self._entries > MOST_ENTRIES:
            raise ValueError(f"an alias stands for what it is in, or for too much (at line {_line(node)})")
        if node.tag not in (f"{_TAG}{kind}" for kind in ("str", "seq", "map")):
            raise ValueError(f"tags such as {node.tag.replace(_TAG, '!!')} are not read (at line {_line(node)})")
        inside = (*inside, id(node))
        if node.id == "scalar":
            return _scalar(node.value) if node.style is None else node.value
        if node.id == "sequence":
            return [self._entry(one, (*place, k), _line(one), inside) for k, one in enumerate(node.value)]
        return self._table(node, place, inside)

    def _table(self, node: Any, place: Place, inside: tuple[int, ...]) -> dict[str, Any]:
        """What is merged (<<: *other) comes first, so that the table's own keys count."""
        table: dict[str, Any] = {}
        own: dict[str, tuple[Any, Any]] = {}
        for key, one in node.value:
            if key.id != "scalar":
                raise ValueError(f"a key must be a word (at line {_line(key)})")
            if key.value == "<<" and key.style is None:
                for other in reversed(one.value if one.id == "sequence" else [one]):
                    if other.id != "mapping":
                        raise ValueError(f"only tables can be merged (at line {_line(other)})")
                    table |= self.value(other, place, inside)
            elif key.value in own:
                raise ValueError(f"the key {key.value!r} is there twice (at line {_line(key)})")
            else:
                own[key.value] = key, one
        for name, (key, one) in own.items():
            table[name] = self._entry(one, (*place, name), _line(key), inside)
        return table

    def _entry(self, node: Any, place: Place, line: int, inside: tuple[int, ...]) -> Any:
        self.lines[place] = line
        return self.value(node, place, inside)


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _scalar(word: str) -> Any:
    if word.lower() in _WORDS and word in (word.lower(), word.upper(), word.title()):
        return _WORDS[word.lower()]
    if _WHOLE.fullmatch(word):
        return int(word)
    if _OTHER_BASE.fullmatch(word):
        return int(word, 0)
    if _NUMBER.fullmatch(word):
        return float(word)
    return _SPECIAL.get(word.lower(), word)
