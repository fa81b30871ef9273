"""JSON Schemas of results: every recorded answer fits its schema, and no schema is so wide that anything fits."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import loynes
from kept.keep import kept, recorded_documents
from loynes.cli.app import main
from loynes.errors import LoynesError, UsageError
from loynes.model import Model
from loynes.results.base import SCHEMA, Result, read_result, result_kinds, result_of

DOCUMENTS = recorded_documents()
KEPT = Path(__file__).parents[1] / "kept"


@cache
def validator(command: str) -> Draft202012Validator:
    schema = loynes.result_schema(command)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@cache
def strict(command: str) -> Draft202012Validator:
    """The same, where no key may be there that the schema does not name."""
    schema = copy.deepcopy(loynes.result_schema(command))
    for part in objects(schema):
        if "properties" in part:
            part.setdefault("additionalProperties", False)
    return Draft202012Validator(schema)


def objects(tree: Any) -> Iterator[dict[str, Any]]:
    """All dictionaries of a tree, the tree itself first."""
    if isinstance(tree, dict):
        yield tree
    for inner in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from objects(inner)


def as_written(document: dict[str, Any]) -> dict[str, Any]:
    """A recorded document with what recordings leave out, in it and in the results within it."""
    found = copy.deepcopy(document)
    for part in objects(found):
        if "command" in part and "question" in part:
            part |= {"schema": SCHEMA, "version": loynes.__version__}
        if part.keys() == {"name", "hash", "definition"}:  # a model: its own schema has it
            Model.model_validate(part["definition"])
            part["definition"] = {}
    return found


def own_kinds() -> set[str]:
    """The kinds of results that come with loynes: other tests may have added theirs."""
    return {name for name, kind in result_kinds().items() if kind.__module__.startswith("loynes.")}


def test_every_kind_of_result_is_recorded() -> None:
    assert set(DOCUMENTS) == own_kinds()


@pytest.mark.parametrize("command", sorted(DOCUMENTS))
def test_recorded_answers_fit(command: str) -> None:
    for document in map(as_written, DOCUMENTS[command]):
        problems = [*validator(command).iter_errors(document), *strict(command).iter_errors(document)]
        assert [f"{list(one.absolute_path)}: {one.message[:200]}" for one in problems] == []


@pytest.mark.parametrize("command", sorted(DOCUMENTS))
def test_damaged_answers_do_not(command: str) -> None:
    """Without any one key that always is there, or with a list in its place, a document does not fit."""
    document = as_written(min(DOCUMENTS[command], key=lambda one: len(json.dumps(one))))
    check = validator(command)
    assert check.schema["properties"]["command"] == {"const": command}
    for key in check.schema["required"]:
        assert not check.is_valid({k: v for k, v in document.items() if k != key}), key
    for key in check.schema["properties"].keys() & document.keys():
        assert not check.is_valid(document | {key: [[["a list in lists"]]]}), key


def test_a_number_within_an_answer_may_be_null_and_nothing_else() -> None:
    document = as_written(DOCUMENTS["stability"][0])
    for value, fits in ((1.5, True), (None, True), ("1.5", False), ([1.5], False)):
        document["threshold"]["low"] = value
        assert validator("stability").is_valid(document) is fits
    del document["threshold"]["low"]
    assert not validator("stability").is_valid(document)


def test_results_of_one_s_own_have_one() -> None:
    """From their fields, their derived values, and what their `to_dict` adds."""
    result = loynes.check("one-or-all")
    assert validator("check").is_valid(json.loads(result.to_json()))
    assert list(result.to_dict())[:2] == ["command", "schema"]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    main_ok("schema", "result", "evaluate")
    assert json.loads(capsys.readouterr().out) == loynes.result_schema("evaluate")
    main_ok("schema", "result")
    assert capsys.readouterr().out.split() == sorted(result_kinds())
    main_ok("schema", "model")
    assert json.loads(capsys.readouterr().out) == Model.model_json_schema()
    for wrong in (("result", "stabil"), ("table",), ("model", "small")):
        with pytest.raises(SystemExit) as end:
            main(["schema", *wrong])
        assert end.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(UsageError, match="stability, sweep"):
        loynes.result_schema("stabil")


def main_ok(*arguments: str) -> None:
    with pytest.raises(SystemExit) as end:
        main([*arguments])
    assert not end.value.code


# --- results of earlier versions ---

EARLIER = [(path, command) for path in sorted(KEPT.glob("*.json.gz")) for command in kept(path)]


@pytest.mark.parametrize(("path", "command"), EARLIER, ids=[f"{p.name.split('.json')[0]}-{c}" for p, c in EARLIER])
def test_results_of_earlier_versions_are_read(path: Path, command: str, tmp_path: Path) -> None:
    """With every number as it was, as a table, and as a page."""
    document = kept(path)[command]
    (tmp_path / "result.json").write_text(json.dumps(document), encoding="utf-8")
    result = read_result(tmp_path / "result.json")
    assert isinstance(result, result_kinds()[result.command])
    now = result.to_dict()
    assert lost(document, now) == []
    assert validator(result.command).is_valid(json.loads(result.to_json()))
    assert result.headline
    assert all(table.rows is not None for table in result.tables)


def lost(then: Any, now: Any, at: str = "") -> list[str]:
    """Where something that was there is not there any more, or is different. The number of the shape may differ."""
    if isinstance(then, dict) and isinstance(now, dict):
        missing = [f"{at}.{key} is missing" for key in then.keys() - now.keys()]
        common = [key for key in then if key in now and key != "schema"]
        return missing + [text for key in common for text in lost(then[key], now[key], f"{at}.{key}")]
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        return [text for i, (a, b) in enumerate(zip(then, now, strict=True)) for text in lost(a, b, f"{at}.{i}")]
    return [] if then == now else [f"{at}: {then!r} became {now!r}"]


def test_every_kind_of_result_is_kept() -> None:
    assert set(kept(KEPT / f"schema-{SCHEMA}.json.gz")) == own_kinds(), "run python tests/kept/keep.py"


def test_results_of_a_later_version_are_refused(tmp_path: Path) -> None:
    """In words that say why, not by a key that is missing."""
    later = kept(KEPT / "schema-1.json.gz")["stability"] | {"schema": SCHEMA + 1, "version": "9.0"}
    (tmp_path / "later.json").write_text(json.dumps(later))
    with pytest.raises(LoynesError, match=r"a later version, 9\.0"):
        read_result(tmp_path / "later.json")
    assert isinstance(result_of(later | {"schema": SCHEMA}), Result)
