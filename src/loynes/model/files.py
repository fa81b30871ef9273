"""Reading models: a built-in name, a TOML, YAML or JSON file, or plain data; every mistake in a line of its own."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from loynes.errors import ModelError
from loynes.model.cluster import Model
from loynes.model.foreign import from_mjqm, from_mjsre, is_mjqm, is_mjsre
from loynes.model.laws.scipy_stats import from_scipy, is_frozen
from loynes.model.lines import Lines, Place, json_lines, toml_lines
from loynes.model.problems import Change, in_lines, problems_of
from loynes.model.units import unit_named
from loynes.model.yaml_files import read_yaml
from loynes.reading import read_text


def builtin_names() -> list[str]:
    """The models shipped with the package."""
    folder = resources.files("loynes.model") / "builtin"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def builtin_text(name: str) -> str:
    """The TOML of a built-in model, as shipped."""
    if name not in builtin_names():
        raise ModelError(f"{name}: no such built-in model; there are {', '.join(builtin_names())}")
    return (resources.files("loynes.model") / "builtin" / f"{name}.toml").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Source:
    """What a model is read from: its data, and which line says what, looked up when there is something to say."""

    origin: str
    document: dict[str, Any]
    folder: Path = Path()
    lines: Callable[[], Lines] = dict


def load(source: str | Path | Mapping[str, Any] | Model, changes: Iterable[str] = ()) -> Model:
    """A model from a built-in name, a path, plain data or a model, with `path=value` changes applied.

    A path is that of a model file (TOML, YAML or JSON), or of a result saved as JSON, which holds its model.

    A change's path follows the file (`classes[0].need=2`, `classes.T1.service.mean=0.7`, `arrivals.rate=1`);
    its value is written as in TOML, and what does not parse as TOML is taken as text.

    A ModelError says all that is wrong, each in a line: with the line in the file and the class's name where they are
    known, and with the change where that is the mistake.
    """
    if isinstance(source, Model):
        given = Source(source.label, source.to_dict())
    elif isinstance(source, Mapping):
        given = Source(str(source.get("name", "model")), json.loads(json.dumps(dict(source), default=_plain)))
    else:
        given = _read(str(source))
    applied = [_apply(given.document, change) for change in changes]

    def validate(document: dict[str, Any]) -> Model:
        return Model.read(document, context={"folder": given.folder, "time_unit": _time_unit(document)})

    try:
        return validate(given.document)
    except ValidationError as error:
        found = problems_of(given.document, error, validate)
        raise ModelError(*in_lines(given.origin, given.document, found, given.lines(), applied)) from None


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


def _read(source: str) -> Source:
    path = Path(source)
    if source in builtin_names() and not path.is_file():
        return Source(source, tomllib.loads(builtin_text(source)))
    if not source:
        raise ModelError("model: no file and no built-in model is named")
    kind = {".json": "JSON", ".yaml": "YAML", ".yml": "YAML"}.get(path.suffix.lower(), "TOML")
    lines: Callable[[], Lines] = dict
    try:
        if path.is_dir():
            raise ModelError(f"{source}: is a folder; a model file is TOML, YAML or JSON")
        if not path.exists():
            names = ", ".join(builtin_names())
            raise ModelError(f"{source}: no such file, and no built-in model of that name (built in: {names})")
        text = read_text(path)
        if is_mjsre(text):
            return Source(source, from_mjsre(text, path.stem, source), path.parent)
        if kind == "YAML":
            document, found = read_yaml(text)
            lines = partial(dict, found)
        else:
            read, lines_of = (json.loads, json_lines) if kind == "JSON" else (tomllib.loads, toml_lines)
            document = read(text)

            def lines() -> Lines:
                return lines_of(text, read(text))  # changes are made to the document itself
    except UnicodeDecodeError:
        raise ModelError(f"{source}: not a text file in UTF-8; a model file is TOML, YAML or JSON") from None
    except OSError as error:
        raise ModelError(f"{source}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise ModelError(f"{source}: nested too deeply") from None
    except ValueError as error:  # TOML's, YAML's and JSON's own, and integers too long to read
        raise ModelError(f"{source}: not valid {kind}: {error}") from None
    if not isinstance(document, dict):
        raise ModelError(f"{source}: the top level must be a table with servers and classes")
    if is_mjqm(document):
        document, lines = from_mjqm(document, source), dict
    model = _model_of_result(document)
    if model is not document:
        document, lines = model, dict
    document.setdefault("name", path.stem)
    return Source(source, document, path.parent, lines)


def _model_of_result(document: dict[str, Any]) -> dict[str, Any]:
    """The model that a saved result is about; any other document stays."""
    about = document.get("model")
    definition = about.get("definition") if "command" in document and isinstance(about, dict) else None
    return definition if isinstance(definition, dict) else document


def _apply(document: dict[str, Any], change: str) -> Change:
    """Set a value, and say where."""
    path, equals, text = change.partition("=")
    keys = [key for key in re.split(r"[.\[\]]+", path.strip()) if key]
    if not equals or not keys:
        raise ModelError(f"--set {change}: must be written path=value, such as arrivals.rate=1.35")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        value = _number(text)
    except RecursionError:
        raise ModelError(f"--set {path}: lists within lists, too deep to be read") from None
    container: Any = document
    place: Place = ()
    for depth, word in enumerate(keys):
        if not isinstance(container, list | dict):
            raise ModelError(f"--set {change}: {'.'.join(keys[:depth])} is not a table, it has no {word!r}")
        key: Any = _index(container, word, change) if isinstance(container, list) else word
        place = (*place, key)
        if depth == len(keys) - 1:
            container[key] = value
        else:
            container = container[key] if isinstance(container, list) else container.setdefault(key, {})
    return Change(change, place)


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
        f"--set {change}: {key!r} is neither an index below {len(items)} nor a name" + (f" ({known})" if known else "")
    )
