"""Reading models: a built-in name, a TOML or JSON file, or plain data; every error in one line."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from loynes.errors import ModelError
from loynes.model.cluster import Model
from loynes.model.fields import BY_RESOURCE, NUMBER, SHARE
from loynes.model.foreign import from_mjqm, from_mjsre, is_mjqm, is_mjsre
from loynes.model.laws.scipy_stats import from_scipy, is_frozen
from loynes.model.units import unit_named


def builtin_names() -> list[str]:
    """The models shipped with the package."""
    folder = resources.files("loynes.model") / "builtin"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def builtin_text(name: str) -> str:
    """The TOML of a built-in model, as shipped."""
    if name not in builtin_names():
        raise ModelError(f"{name}: no such built-in model; there are {', '.join(builtin_names())}")
    return (resources.files("loynes.model") / "builtin" / f"{name}.toml").read_text(encoding="utf-8")


def load(source: str | Path | Mapping[str, Any] | Model, changes: Iterable[str] = ()) -> Model:
    """A model from a built-in name, a path, plain data or a model, with `path=value` changes applied.

    A path is that of a model file (TOML or JSON), or of a result saved as JSON, which holds its model.

    A change's path follows the file (`classes[0].need=2`, `classes.T1.service.mean=0.7`, `arrivals.rate=1`);
    its value is written as in TOML, and what does not parse as TOML is taken as text.
    """
    folder = Path()
    if isinstance(source, Model):
        origin, document = source.label, source.to_dict()
    elif isinstance(source, Mapping):
        origin, document = str(source.get("name", "model")), json.loads(json.dumps(dict(source), default=_plain))
    else:
        origin, document = _read(str(source))
        folder = Path(source).parent
    for change in changes:
        _apply(document, change)
    try:
        return Model.model_validate(document, context={"folder": folder, "time_unit": _time_unit(document)})
    except ValidationError as error:
        raise ModelError(_one_line(origin, error)) from None


def _time_unit(document: Mapping[str, Any]) -> str | None:
    """The unit that times in the document are converted to; a word that is none is refused with the other mistakes."""
    try:
        return unit_named(str(document["time_unit"])) if document.get("time_unit") else None
    except ValueError:
        return "seconds"


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True)
    if hasattr(value, "tolist"):
        return value.tolist()
    if is_frozen(value):
        return _plain(from_scipy(value))
    raise ModelError(
        f"model: a {type(value).__name__} cannot stand in a model; plain numbers, texts, lists and tables can"
    )


def _read(source: str) -> tuple[str, dict[str, Any]]:
    path = Path(source)
    try:
        if source in builtin_names() and not path.is_file():
            return source, tomllib.loads(builtin_text(source))
        if path.is_dir():
            raise ModelError(f"{source}: is a folder; a model file is TOML or JSON")
        if not path.exists():
            names = ", ".join(builtin_names())
            raise ModelError(f"{source}: no such file, and no built-in model of that name (built in: {names})")
        text = path.read_text(encoding="utf-8-sig")
        if is_mjsre(text):
            return source, from_mjsre(text, path.stem, source)
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except UnicodeDecodeError:
        raise ModelError(f"{source}: not a text file in UTF-8; a model file is TOML or JSON") from None
    except OSError as error:
        raise ModelError(f"{source}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise ModelError(f"{source}: nested too deeply") from None
    except ValueError as error:  # TOML's and JSON's own, and integers too long to read
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise ModelError(f"{source}: not valid {kind}: {error}") from None
    if not isinstance(document, dict):
        raise ModelError(f"{source}: the top level must be a table with servers and classes")
    if is_mjqm(document):
        document = from_mjqm(document, source)
    document = _model_of_result(document)
    document.setdefault("name", path.stem)
    return source, document


def _model_of_result(document: dict[str, Any]) -> dict[str, Any]:
    """The model that a saved result is about; any other document stays."""
    about = document.get("model")
    definition = about.get("definition") if "command" in document and isinstance(about, dict) else None
    return definition if isinstance(definition, dict) else document


def _apply(document: dict[str, Any], change: str) -> None:
    path, equals, text = change.partition("=")
    if not equals or not path.strip():
        raise ModelError(f"--set {change}: must be written path=value, such as arrivals.rate=1.35")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        value = _number(text)
    keys = [key for key in re.split(r"[.\[\]]+", path.strip()) if key]
    if not keys:
        raise ModelError(f"--set {change}: must be written path=value, such as arrivals.rate=1.35")
    place: Any = document
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        if isinstance(place, list):
            index = _index(place, key, change)
            if last:
                place[index] = value
            place = place[index]
        elif isinstance(place, dict):
            if last:
                place[key] = value
            else:
                place = place.setdefault(key, {})
        else:
            raise ModelError(f"--set {change}: {'.'.join(keys[:depth])} is not a table, it has no {key!r}")


def _number(text: str) -> float | str:
    """What TOML does not take as a value: .4 is meant as a number, the rest as text."""
    try:
        return float(text)
    except ValueError:
        return text


def _index(items: list[Any], key: str, change: str) -> int:
    names = [item.get("name") for item in items if isinstance(item, dict)]
    if key in names:
        return names.index(key)
    if key.isdecimal() and int(key) < len(items):
        return int(key)
    known = ", ".join(str(n) for n in names if n)
    raise ModelError(
        f"--set {change}: {key!r} is neither an index below {len(items)} nor a class name"
        + (f" ({known})" if known else "")
    )


def _one_line(origin: str, error: ValidationError) -> str:
    """`file: path = value: what would be right`, for the first mistake, with a count of the rest."""
    errors = error.errors(include_url=False)
    # A list whose entries are all wrong is reported a second time, as empty.
    errors = [e for e in errors if not (e["type"] == "too_short" and e["input"])] or errors
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{origin}: {_describe(errors[0])}{more}"


def _describe(error: ErrorDetails) -> str:
    path, value = _path(error), error["input"]
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return f"{path}: is missing"
        case "extra_forbidden":
            return f"{path}: is not a known key"
        case "union_tag_invalid":
            return f"{path} = {context['tag']!r}: must be one of {str(context['expected_tags']).replace(chr(39), '')}"
        case "union_tag_not_found":
            return f"{path}: is missing"
        case "value_error":
            message = str(context["error"])
            return f"{path}: {message}" if path else message
        case "too_short":
            return f"{path}: must have at least one entry"
        case "string_too_short":
            return f"{path}: must not be empty"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"{path}: must be a table"
        case "string_pattern_mismatch" if path.endswith(".lost"):
            return f"{path} = {value!r}: must be a number of servers, or a share such as '10%'"
        case "finite_number":
            return f"{path} = {value}: must be finite"
    message = error["msg"].removeprefix("Input should be ").removeprefix("a valid ").replace("tuple", "a list")
    shown = "" if isinstance(value, dict | list) else f" = {value!r}"
    return f"{path}{shown}: must be {message}"


def _path(error: ErrorDetails) -> str:
    """The field's path as a user would write it; a law's name, which pydantic inserts, is left out."""
    text = ""
    parts = [part for part in error["loc"] if part not in (NUMBER, BY_RESOURCE, SHARE)]
    for position, part in enumerate(parts):
        if isinstance(part, int):
            text += f"[{part}]"
        elif _is_law_tag(parts, position):
            continue
        else:
            text += f".{part}" if text else str(part)
    if error["type"] in ("union_tag_invalid", "union_tag_not_found"):
        text += "." + str(error.get("ctx", {}).get("discriminator", "'law'")).strip("'")
    return text


# Keys whose value is one of several records, told apart by a tag that pydantic puts into the path.
TAGGED = ("service", "arrivals", "gap", "size", "of")


def _is_law_tag(parts: list[int | str], position: int) -> bool:
    """Whether this part is the discriminator's value: the one after such a key, or after an entry of `laws`."""
    before = parts[:position]
    return bool(before) and (before[-1] in TAGGED or (len(before) > 1 and before[-2] == "laws"))
