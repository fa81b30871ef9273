"""Jobs that might be submitted, as people write them: need=64 limit=4h, or cut into pieces, 2x32."""

from __future__ import annotations

import re
from collections.abc import Mapping

from loynes.errors import UsageError
from loynes.model.units import seconds_of
from loynes.traces.times import LONGEST

_SHAPE = re.compile(r"(\d{1,9})x(\d{1,9})", re.IGNORECASE)
MOST_PIECES, MOST_DIGITS = 10_000, 18


class AddedJobs:
    """Jobs that might be submitted: a name, and what each is made of."""

    def __init__(self, given: tuple[str, ...], shapes: tuple[str, ...], units: Mapping[str, int]) -> None:
        kinds = tuple(units)
        self.cases: dict[str, list[tuple[dict[str, int], float, dict[str, str]]]] = {}
        if shapes and len(given) != 1:
            raise UsageError("shape: cuts the job of one --what-if; give one, with its limit")
        for text in given:
            words = _words(text)
            limit = _limit(text, words)
            labels = {name: words[name] for name in ("user", "queue", "account") if name in words}
            need = {kind: _whole(text, kind, words) for kind in kinds if kind in words}
            if "need" in words:
                need[kinds[0]] = _whole(text, "need", words)
            for shape in shapes:
                match = _SHAPE.fullmatch(shape.strip())
                if match is None or not 1 <= int(match[1]) <= MOST_PIECES or int(match[2]) < 1:
                    raise UsageError(f"shape {shape!r}: must be written like 2x32, two jobs of 32")
                piece = need | {kinds[0]: int(match[2])}
                self.cases[shape.strip()] = [(piece, limit, labels)] * int(match[1])
            if not shapes:
                if not need:
                    raise UsageError(f"what-if {text!r}: must say what it needs: 'need=64 limit=4h'")
                self.cases[text] = [(need, limit, labels)]
        for name, jobs in self.cases.items():
            for kind, count in jobs[0][0].items():
                if count > units[kind]:
                    raise UsageError(f"what-if {name!r}: needs {count} of {units[kind]}")


def _words(text: str) -> Mapping[str, str]:
    pairs = dict(part.split("=", 1) for part in text.replace(",", " ").split() if "=" in part)
    if len(pairs) != len(text.replace(",", " ").split()):
        raise UsageError(f"what-if {text!r}: must be written like 'need=64 limit=4h'")
    return pairs


def _whole(text: str, name: str, words: Mapping[str, str]) -> int:
    if not words[name].isdecimal() or len(words[name]) > MOST_DIGITS or int(words[name]) < 1:
        raise UsageError(f"what-if {text!r}: {name} must be a whole number of at least 1")
    return int(words[name])


def _limit(text: str, words: Mapping[str, str]) -> float:
    try:
        limit = seconds_of(words["limit"])
    except KeyError:
        raise UsageError(f"what-if {text!r}: must say its limit: 'need=64 limit=4h'") from None
    except ValueError as error:
        raise UsageError(f"what-if {text!r}: limit: {error}") from None
    if not 0 < limit <= LONGEST:
        raise UsageError(f"what-if {text!r}: limit must be above 0, and at most {LONGEST:g} seconds")
    return limit
