"""All that is wrong with a model, each in a line: where it is, what would be right, and what may have been meant.

Pydantic says at once what is wrong with the fields of a record, but a key that is misspelt hides what is wrong with its
value, and one wrong field hides that fields do not fit each other. So a copy of the document is put right, mistake by
mistake, and read again: a key gets the name that was meant, a value that cannot be used makes way for a stand-in. What
is found to be wrong with a stand-in, or because of one, is not said.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from loynes.model.cluster import Model
from loynes.model.fields import BY_RESOURCE, NUMBER, SHARE, Record
from loynes.model.hints import hint_for, meant_by, name_meant
from loynes.model.lines import Lines, Place
from loynes.model.misfits import Misfits
from loynes.model.sizes import MOST_SERVERS

# A document is read again so often at most: nested mistakes take a round each.
ROUNDS = 12
MOST_SHOWN = 40
# Keys whose value is one of several records, told apart by a tag that pydantic puts into the path.
TAGGED = ("service", "arrivals", "gap", "size", "of")
TAGS = ("law", "process")
# Keys whose value may be written in several ways, which pydantic names in the path, too.
WAYS = ("need", "specific", "lost", "limit", "borrow", "nodes")

# What an entry of a list is, where it is no class; those of a misspelt list are taken for classes.
NAMED = {"nodes": "nodes", "quotas": "quota"}

SERVICE = {"law": "exponential", "mean": 1.0}
STAND_IN_CLASS = {"need": 1, "service": SERVICE}
STAND_IN_CHANGE = {"from": 0.0, "until": 1.0, "rate_factor": 2.0}


@dataclass(frozen=True)
class Problem:
    """What is wrong, and where: the text begins with the path. `renamed` is the key that was meant, if one was."""

    place: Place
    text: str
    rests_on: tuple[Place, ...] = ()
    kind: str = ""
    renamed: str = ""


@dataclass(frozen=True)
class Change:
    """A value that was set in passing: as it was written, and where it is."""

    text: str
    place: Place


@dataclass
class Draft:
    """A document that is put right: keys that got another name, and places where there is a stand-in."""

    document: dict[str, Any]
    moved: list[tuple[Place, Place]] = field(default_factory=list)
    stand_ins: list[Place] = field(default_factory=list)

    def original(self, place: Place) -> Place:
        """Where something is in the document as it was given."""
        for old, new in reversed(self.moved):
            if _holds(new, place):
                place = old + place[len(new) :]
        return place

    def spoiled(self, problem: Problem) -> bool:
        """Whether a stand-in is what is complained of."""
        return any(
            _holds(one, problem.place) or any(_touch(one, other) for other in problem.rests_on)
            for one in self.stand_ins
        )

    def rename(self, place: Place, key: str) -> None:
        """The key that was meant, in its old place, so that what follows is in the order of the file."""
        table = _at(self.document, place[:-1])
        renamed = {key if name == place[-1] else name: value for name, value in table.items()}
        table.clear()
        table.update(renamed)
        self.moved.append((place, (*place[:-1], key)))

    def remove(self, place: Place) -> None:
        table = _at(self.document, place[:-1])
        if isinstance(table, dict):
            table.pop(place[-1], None)

    def stand_in(self, place: Place) -> bool:
        """Put something harmless where a value cannot be used; False where there is no going on."""
        document, top = self.document, place[:1]
        if not place:
            return False
        if place == ("classes",):
            document["classes"] = [dict(STAND_IN_CLASS)]
        elif top == ("classes",) and len(place) == 2:
            document["classes"][place[1]] = dict(STAND_IN_CLASS)
        elif top == ("classes",):
            place = place[:3]
            self.remove(place)
            values: dict[Any, Any] = {"need": 1, "service": SERVICE, "arrivals": {"rate": 1.0}}
            if place[2] in values:
                _at(document, place[:2])[place[2]] = values[place[2]]
        elif top == ("scenario",) and len(place) > 1:
            place = place[:2]
            document["scenario"][place[1]] = dict(STAND_IN_CHANGE)
        elif top == ("resources",) and len(place) > 1:
            document["resources"][place[1]] = 1
        else:
            place = top
            document.pop(str(top[0]), None)
            there = ("servers", "resources", "nodes")
            if top[0] in there and not set(there) & set(document):
                document["servers"] = MOST_SERVERS
        self.stand_ins.append(place)
        return True


def problems_of(
    document: dict[str, Any], error: ValidationError, validate: Callable[[dict[str, Any]], object]
) -> list[Problem]:
    """Everything that is wrong with a document of which `error` says the first part; `validate` raises the next."""
    draft = Draft(copy.deepcopy(document))
    found: dict[tuple[Place, str], Problem] = {}
    for _ in range(ROUNDS):
        fresh = _without_echoes([one for each in _errors(error) for one in _problems(each, draft.document)])
        for one in fresh:
            if not draft.spoiled(one):
                place = draft.original(one.place)
                found.setdefault((place, one.text), replace(one, place=place))
        if not _put_right(draft, fresh):
            break
        try:
            validate(draft.document)
            break
        except ValidationError as next_error:
            error = next_error
    return list(found.values())


def texts_of(record: type[Record], data: object, error: ValidationError) -> list[str]:
    """What is wrong with the data of one record, a line a mistake, each beginning with its place there."""
    document = data if isinstance(data, dict) else {}
    found = _without_echoes([one for each in _errors(error) for one in _problems(each, document, record)])
    return list(dict.fromkeys(one.text for one in found))


def _errors(error: ValidationError) -> list[ErrorDetails]:
    errors = error.errors(include_url=False)
    # A list whose entries are all wrong is reported a second time, as empty.
    return [e for e in errors if not (e["type"] == "too_short" and e["input"])] or errors


def _without_echoes(problems: list[Problem]) -> list[Problem]:
    """Without what may only seem wrong because of another mistake; if it is wrong, it will be said in the next round.

    Where a key was misspelt another one is missing; where it was the name of the law, nothing else can be judged.
    """
    misspelt = {one.place[:-1] for one in problems if one.renamed or one.kind == "unusable"}
    unjudged = {one.place[:-1] for one in problems if one.renamed in TAGS}

    def echo(one: Problem) -> bool:
        missing = one.kind == "missing" and one.place[:-1] in misspelt
        return missing or any(_holds(table, one.place) for table in unjudged)

    return [one for one in problems if one.renamed in TAGS or not echo(one)]


def _put_right(draft: Draft, problems: list[Problem]) -> bool:
    """Whether the document can be read again."""
    if not problems or any(one.kind == "inconsistent" for one in problems):
        return False
    misspelt = [one.place[:-1] for one in problems if one.renamed]
    last: list[Place] = []
    for one in problems:
        if one.renamed and one.kind == "tag":
            _at(draft.document, one.place[:-1])[one.place[-1]] = one.renamed
        elif one.renamed:
            draft.rename(one.place, one.renamed)
        elif one.kind == "unknown":
            draft.remove(one.place)
        elif not any(_holds(table, one.place) for table in misspelt if table):
            last.append(one.place)  # else its table is looked at again first, with the keys that were meant
    possible = [draft.stand_in(place) for place in last]
    return all(possible)


def _problems(error: ErrorDetails, document: dict[str, Any], record: type[Record] = Model) -> list[Problem]:
    """What pydantic complains of, in our words."""
    place, value = _place(error), error["input"]
    context, path = error.get("ctx", {}), path_text(place)
    match error["type"]:
        case "missing":
            return [Problem(place, f"{path}: is missing", kind="missing")]
        case "extra_forbidden":
            table = _at(document, place[:-1])
            hint = hint_for(str(place[-1]), error["loc"][:-1], table if isinstance(table, dict) else {}, record)
            kind = "unusable" if hint.another else "unknown"
            return [Problem(place, f"{path}: is not a known key{hint.words}", kind=kind, renamed=hint.key)]
        case "union_tag_invalid":
            tags = [one.strip(" '") for one in str(context["expected_tags"]).split(",")]
            meant = name_meant(context["tag"], tags)
            text = f"{path} = {context['tag']!r}: must be one of {', '.join(tags)}"
            return [Problem(place, f"{text}; did you mean {meant}?" if meant else text, kind="tag", renamed=meant)]
        case "union_tag_not_found":
            return [_without_tag(place, value)]
        case "value_error" if isinstance(context["error"], Misfits):
            return [
                Problem(_place_of(text), text, tuple(map(_place_of, rests_on)), "inconsistent")
                for text, rests_on in context["error"].found
            ]
        case "value_error":
            message = str(context["error"])
            kind = "" if place else "inconsistent"
            return [Problem(place or _place_of(message), f"{path}: {message}" if path else message, kind=kind)]
    return [Problem(place, f"{path}{_described(error, path)}" if path else _described(error, path).lstrip(": "))]


def _described(error: ErrorDetails, path: str) -> str:
    value = error["input"]
    match error["type"]:
        case "too_short":
            return ": must have at least one entry"
        case "too_long":
            return f": has {error['ctx']['actual_length']} entries, at most {error['ctx']['max_length']} are taken"
        case "string_too_short":
            return ": must not be empty"
        case "model_type" | "dict_type" | "model_attributes_type":
            return ": must be a table"
        case "string_pattern_mismatch" if path.endswith(".lost"):
            return f" = {value!r}: must be a number of servers, or a share such as '10%'"
        case "json_invalid":
            return f": {error['msg'].lower().replace('json', 'JSON', 1)}"
        case "finite_number":
            return f" = {value}: must be finite"
    message = error["msg"].removeprefix("Input should be ").removeprefix("a valid ").replace("tuple", "a list")
    shown = "" if isinstance(value, dict | list) else f" = {value!r}"
    meant = ""
    if error["type"] == "literal_error":
        meant = name_meant(value, re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected", ""))))
    return f"{shown}: must be {message}" + (f"; did you mean {meant}?" if meant else "")


def _without_tag(place: Place, table: object) -> Problem:
    """A law that does not say which, or says it by another word."""
    if isinstance(table, dict):
        tag = str(place[-1])
        word = next((str(key) for key in table if meant_by(str(key).lower(), [tag]) == tag), "")
        if word:
            where = (*place[:-1], word)
            text = f"{path_text(where)}: is not a known key; did you mean `{tag}`?"
            return Problem(where, text, kind="unknown", renamed=tag)
    return Problem(place, f"{path_text(place)}: is missing", kind="missing")


def _place(error: ErrorDetails) -> Place:
    """Where a mistake is in the document: without what pydantic inserts, the names of laws and of ways to write."""
    parts = list(error["loc"])
    place = tuple(part for position, part in enumerate(parts) if not _is_inserted(parts, position, error["type"]))
    if error["type"] in ("union_tag_invalid", "union_tag_not_found"):
        place += (str(error.get("ctx", {}).get("discriminator", "'law'")).strip("'"),)
    return place


def _is_inserted(parts: list[int | str], position: int, kind: str) -> bool:
    """Whether a part is no key: the value of a discriminator, or the mark of a wrong key in a table of any keys."""
    before, part, last = parts[:position], parts[position], position == len(parts) - 1
    if not before or isinstance(part, int) or (last and kind == "extra_forbidden"):
        return False
    if last and part == "[key]":
        return True
    if before[-1] in WAYS:
        return part in (NUMBER, BY_RESOURCE, SHARE)
    return before[-1] in TAGGED or (len(before) > 1 and before[-2] == "laws")


def _place_of(text: str) -> Place:
    """The place that a text begins with: `classes[0].need + specific = 7: ...`."""
    match = re.match(r"[\w-]+(?:\[\d+\])?(?:\.[\w-]+(?:\[\d+\])?)*", text)
    parts = re.findall(r"[\w-]+|\[\d+\]", match[0]) if match else []
    return tuple(int(part[1:-1]) if part.startswith("[") else part for part in parts)


def path_text(place: Iterable[str | int]) -> str:
    """A place as people write it: classes[0].service.mean."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _holds(outer: Place, inner: Place) -> bool:
    return inner[: len(outer)] == outer


def _touch(one: Place, other: Place) -> bool:
    return _holds(one, other) or _holds(other, one)


def _at(document: Any, place: Place) -> Any:
    for key in place:
        document = document[key]
    return document


def in_lines(
    origin: str, document: dict[str, Any], problems: list[Problem], lines: Lines, changes: list[Change]
) -> list[str]:
    """Every problem in a line, in the order of the file."""
    said = [(_line_of(one, lines, changes), one) for one in problems]
    said.sort(key=lambda pair: pair[0] or len(said) + max(lines.values(), default=0))
    texts = [_said(origin, document, one, line, changes) for line, one in said]
    if len(texts) > MOST_SHOWN:
        texts[MOST_SHOWN:] = [f"{origin}: and {len(texts) - MOST_SHOWN} more"]
    return texts


def _line_of(problem: Problem, lines: Lines, changes: list[Change]) -> int | None:
    """The line of the value, or of the table that lacks it; none where it was not the file that said it."""
    if any(_made_by(one, problem) for one in changes):
        return None
    places = (problem.place[:depth] for depth in range(len(problem.place), 0, -1))
    return next((lines[place] for place in places if place in lines), None)


def _made_by(change: Change, problem: Problem) -> bool:
    """Whether a change set what is wrong; one below an unknown key made that key."""
    unknown = problem.kind in ("unknown", "unusable") and _holds(problem.place, change.place)
    return unknown or _holds(change.place, problem.place)


def _said(origin: str, document: dict[str, Any], problem: Problem, line: int | None, changes: list[Change]) -> str:
    head, text, rest = origin, problem.text, ""
    if line is not None:
        head += f" line {line}"
    own = [one for one in changes if _made_by(one, problem)]
    if own:
        head += f" with --set {own[-1].text}"
    else:
        places = (problem.rests_on or (problem.place,)) if problem.kind == "inconsistent" else ()
        others = [one.text for one in changes if any(_touch(place, one.place) for place in places)]
        rest = f" (with {', '.join(f'--set {one}' for one in others)})" if others else ""
    name = _name(document, problem.place)
    if name:
        entry = NAMED.get(str(problem.place[0]), "class")
        head += f", {entry} {name!r}"
        text = re.sub(r"^classes\[\d+\](\.|: )", "", text)
    return f"{head}: {text}{rest}"


def _name(document: dict[str, Any], place: Place) -> str:
    """The name of the class, nodes or quota that a place is in, if it has one."""
    if len(place) < 2 or not isinstance(place[1], int) or place[0] == "scenario":
        return ""
    try:
        name = document[str(place[0])][place[1]]["name"]
    except (LookupError, TypeError):
        return ""
    return name if isinstance(name, str) else ""
