"""The same seed gives the same numbers: every recorded command line still gives the answer it gave, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from recorded.record import CASES, answers, ask, canonical, end, made_with, recorded

# Keys of a command's documents that were renamed or moved since: old path -> new path, such as "points.*.why" ->
# "points.*.reason"; * is any key or place in a list, and there are as many in both. The changelog has them all.
RENAMED: dict[str, dict[str, str]] = {}
# Keys, or paths to them, that the documents of a command were given since.
ADDED_TO: dict[str, set[str]] = {}
# Errors whose words changed since: case -> the words now, and then.
REWORDED: dict[str, tuple[str, str]] = {}
SHOWN = 8


@pytest.fixture(scope="module")
def recording() -> Iterator[dict[str, Any]]:
    yield recorded()
    end()


def test_every_case_is_recorded(recording: dict[str, Any]) -> None:
    assert set(recording["cases"]) == set(CASES)


@pytest.mark.parametrize("case", CASES)
def test_same_answer(case: str, recording: dict[str, Any], tmp_path: Path) -> None:
    then = recording["cases"][case]
    try:
        found = ask(answers, case, tmp_path)
    except BrokenProcessPool:
        pytest.fail(f"{case}: {CASES[case].strip()}\n  killed the process that ran it", pytrace=False)
    now = [_as_it_was(_worded(answer, *REWORDED.get(case, ("", "")))) for answer in found]
    if canonical(then) != canonical(now):
        pytest.fail(_message(case, recording["made_with"], list(_differences(then, now))), pytrace=False)


def _worded(answer: dict[str, Any], now: str, then: str) -> dict[str, Any]:
    return answer | {"error": answer["error"].replace(now, then)} if now and answer["error"] else answer


def _as_it_was(answer: dict[str, Any]) -> dict[str, Any]:
    document = answer["document"]
    command = document.get("command", "") if isinstance(document, dict) else ""
    for old, new in RENAMED.get(command, {}).items():
        _move(document, new.split("."), old.split("."))
    for name in ADDED_TO.get(command, ()):
        for path in list(_matches(document, name.split("."))):
            _parent(document, path).pop(path[-1])
    return answer


def _move(tree: Any, source: list[str], target: list[str]) -> None:
    """Put whatever is at the source path at the target path; * stands for the same key or place in both."""
    for path in list(_matches(tree, source)):
        stars = iter(key for key, asked in zip(path, source, strict=True) if asked == "*")
        value = _parent(tree, path).pop(path[-1])
        place = [next(stars) if key == "*" else key for key in target]
        _parent(tree, place)[place[-1]] = value


def _matches(tree: Any, pattern: list[str]) -> Iterator[list[Any]]:
    if not pattern:
        yield []
        return
    items = dict(enumerate(tree)) if isinstance(tree, list) else tree if isinstance(tree, dict) else {}
    for key, value in items.items():
        if pattern[0] in ("*", str(key)):
            yield from ([key, *rest] for rest in _matches(value, pattern[1:]))


def _parent(tree: Any, path: list[Any]) -> Any:
    for key in path[:-1]:
        tree = tree[key] if isinstance(tree, list) else tree.setdefault(key, {})
    return tree


def _differences(then: Any, now: Any, path: str = "") -> Iterator[str]:
    """Where two trees differ: a path, and both values there."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(then.keys() | now.keys()):
            if key not in now:
                yield f"{path}.{key}: was {_short(then[key])}, is missing"
            elif key not in then:
                yield f"{path}.{key}: was not there, is {_short(now[key])}"
            else:
                yield from _differences(then[key], now[key], f"{path}.{key}")
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for place, pair in enumerate(zip(then, now, strict=True)):
            yield from _differences(*pair, f"{path}[{place}]")
    elif canonical(then) != canonical(now):
        yield f"{path}: was {_short(then)}, is {_short(now)}"


def _short(value: Any) -> str:
    text = canonical(value).decode()
    size = f" ({len(value)} entries)" if isinstance(value, list) else ""
    return text + size if len(text) <= 100 else f"{text[:100]}...{size}"


def _message(case: str, made_then: dict[str, str], found: list[str]) -> str:
    lines = [f"{case}: {CASES[case].strip()}", *islice(found, SHOWN)]
    if len(found) > SHOWN:
        lines.append(f"... and {len(found) - SHOWN} more")
    if made_then != (made_now := ask(made_with)):
        lines.append(f"last digits may differ: recorded with {made_then}, this is {made_now}")
    return "\n  ".join(lines)


def test_differences_are_named() -> None:
    then = {"a": [{"b": 1}, {"b": 2.0}], "c": "x", "d": 1}
    now = {"a": [{"b": 1.0}, {"b": 2.0}], "e": None, "d": 1}
    assert list(_differences(then, now)) == [
        ".a[0].b: was 1, is 1.0",
        '.c: was "x", is missing',
        ".e: was not there, is null",
    ]


def test_renames_are_undone() -> None:
    now = {"points": [{"reason": "a", "at": {"rate": 1}}, {"reason": "b", "at": {"rate": 2}}]}
    _move(now, ["points", "*", "reason"], ["points", "*", "why"])
    _move(now, ["points", "*", "at", "rate"], ["points", "*", "rate"])
    assert now == {"points": [{"why": "a", "at": {}, "rate": 1}, {"why": "b", "at": {}, "rate": 2}]}
