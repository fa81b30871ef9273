"""The type of a field that holds a law: any in the register, told apart by the key `law`."""

from __future__ import annotations

from contextvars import ContextVar
from functools import lru_cache, reduce
from operator import or_
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema as schemas

from loynes.model.laws.law import LAWS, Law

# Whether the JSON Schema of the laws is being written: laws that hold laws only refer to it then.
_writing: ContextVar[bool] = ContextVar("writing", default=False)


@lru_cache(maxsize=1)
def _union(laws: tuple[type[Law], ...]) -> TypeAdapter[Law]:
    any_of: Any = reduce(or_, laws)
    return TypeAdapter(Annotated[any_of, Field(discriminator="law")])


def _validated(value: Any, info: ValidationInfo) -> Law:
    """A law from a table, a law, or a frozen law of scipy.stats."""
    from loynes.model.laws.scipy_stats import from_scipy, is_frozen

    # The register as it is now: a law may be defined long after the models that hold it.
    known = _union(tuple(LAWS.values()))
    return known.validate_python(from_scipy(value) if is_frozen(value) else value, context=info.context)


class _ByName:
    """Validation and JSON Schema as of a discriminated union of all laws in the register."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> schemas.CoreSchema:
        return schemas.with_info_plain_validator_function(_validated)

    def __get_pydantic_json_schema__(
        self, schema: schemas.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        union: Any = _union(tuple(LAWS.values())).core_schema
        if _writing.get():
            reference: Any = schemas.definition_reference_schema
            references = {name: reference(law["ref"]) for name, law in union["choices"].items()}
            return handler(schemas.tagged_union_schema(references, "law"))
        token = _writing.set(True)
        try:
            return handler(union)
        finally:
            _writing.reset(token)


ServiceLaw = Annotated[Law, _ByName()]
