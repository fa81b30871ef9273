"""The JSON Schema of every kind of result, made from its record: what a program may rely on that reads our JSON.

A document has the keys of its record, those that are derived from them (`derived`, `also`), `command` and `schema`, the
number of the shape. Numbers may be null, since JSON has no infinities. Further keys may be added without a new number.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

from loynes.errors import UsageError
from loynes.model.cluster import Model
from loynes.results.base import SCHEMA, TIMINGS, Result, result_kinds

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MODE: JsonSchemaMode = "serialization"
# Left out of a document where there is nothing to say, or where it says how long the work took (timing.json).
_NOT_ALWAYS = {"seed", "stopped", *TIMINGS}
# A model in a result: its name, the hash of its content, and the model file in which `loynes schema` says what is what.
_MODEL: JsonSchemaValue = {
    "title": "Model",
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "hash": {"type": "string"},
        "definition": {"type": "object", "description": "The model file: `loynes schema` has its schema."},
    },
    "required": ["name", "hash", "definition"],
}


def result_schema(command: str) -> dict[str, Any]:
    """The JSON Schema of the documents of a command: `loynes COMMAND --json`, result.json, `Result.to_dict()`."""
    kinds = result_kinds()
    if command not in kinds:
        raise UsageError(f"no result is called {command!r}; there are {', '.join(sorted(kinds))}")
    left_out = _NOT_ALWAYS.union(*(kind.optional for kind in kinds.values()))
    generator = type("_Generator", (_Generator,), {"left_out": left_out})
    schema = TypeAdapter(kinds[command]).json_schema(mode=_MODE, schema_generator=generator)
    return {"$schema": DIALECT, "title": f"loynes {command}, schema {SCHEMA}"} | {
        key: value for key, value in schema.items() if key != "title"
    }


class _Generator(GenerateJsonSchema):
    """Of records as `Result.to_dict` writes them."""

    left_out: frozenset[str] = frozenset()

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """Infinities and what is not a number become null."""
        return super().float_schema(schema) | {"type": ["number", "null"]}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Documents are read, not filled in: defaults say nothing here."""
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        """The key is the title."""
        return False

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Keys are texts, whatever they were."""
        found = super().dict_schema(schema)
        found.pop("propertyNames", None)
        return found

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Models are written with their identity (`Model.identity`)."""
        return dict(_MODEL) if schema["cls"] is Model else super().model_schema(schema)

    def field_is_required(self, field: Any, total: bool) -> bool:
        """All fields are written, whether they have defaults or not; `dataclass_schema` knows the exceptions."""
        return True

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        found = super().dataclass_schema(schema)
        found.pop("description", None)  # what the docstring tells readers of the code
        record = schema["cls"]
        if isinstance(record, type) and issubclass(record, Result) and record.command:
            self._complete(found, record)
        if "required" in found:
            found["required"] = [name for name in found["required"] if name not in self.left_out]
        return found

    def _complete(self, found: JsonSchemaValue, record: type[Result]) -> None:
        """What `to_dict` adds to the fields."""
        more = {name: self._of(kind) for name, kind in (_derived_types(record) | record.also).items()}
        first = {"command": {"const": record.command}, "schema": {"const": SCHEMA}}
        unit = {"time_unit": {"type": "string"}}  # only where the model says it
        found["properties"] = first | found["properties"] | unit | more
        found["required"] = ["command", "schema", *dict.fromkeys([*found["required"], *more])]

    def _of(self, kind: Any) -> JsonSchemaValue:
        """The schema of a type that is no field."""
        return self.generate_inner(TypeAdapter(kind).core_schema)


def _derived_types(record: type[Result]) -> dict[str, Any]:
    """The types of those keys of `derived` that are not fields: properties, and values that a whole class has."""
    own = {one.name for one in fields(record)}
    names = [name for name in record.derived if name not in own]
    shared = get_type_hints(record)
    found = {name: getattr(record, name, None) for name in names}
    return {
        name: get_type_hints(one.fget)["return"] if isinstance(one, property) else get_args(shared[name])[0]
        for name, one in found.items()
    }
