"""The base of all questions: a frozen record that validates itself, is saved, and prints itself as a command line."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, SkipValidation, ValidationError, model_validator
from pydantic.fields import FieldInfo

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.model import Model, load
from loynes.questions.asking.options import Option, reader_of, values_of
from loynes.results.base import Result
from loynes.results.quantity import LOG_UNIT

# A model that the question has loaded, and that was validated then.
LoadedModel = Annotated[Model, SkipValidation]

_QUESTIONS: dict[str, type[Question]] = {}


class Question(BaseModel):
    """What a person asks. Subclasses have a field for every option, and say how the question is answered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: ClassVar[str] = ""
    # Fields that are given without a name, in Python and on the command line.
    positional: ClassVar[tuple[str, ...]] = ("model",)
    examples: ClassVar[tuple[str, ...]] = ()
    # Where the command line asks it by an option of another command: that command, and the option's field.
    asked_by: ClassVar[tuple[str, str] | None] = None
    # Options of that command of which several values ask this question, too.
    several: ClassVar[tuple[str, ...]] = ()
    # The module of the question that is asked instead where the subject is a log, if there is one.
    for_log: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.command:
            _QUESTIONS[cls.command] = cls

    @model_validator(mode="before")
    @classmethod
    def _read_model(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Models may be given by name, path or as a dictionary; a discipline that is asked for becomes the model's.

        Times and rates may be texts, "4 min" or "30 per hour", which become numbers in the model's unit.
        """
        if "model" not in cls.model_fields:
            return _with_numbers(cls, data, LOG_UNIT)
        if "model" not in data:
            raise UsageError("which model? Give a model file or a built-in name")
        model = data["model"] if isinstance(data["model"], Model) else load(data["model"])
        discipline = data.get("discipline")
        if discipline in get_args(get_args(cls.model_fields["discipline"].annotation)[0]) if discipline else False:
            data = {k: v for k, v in data.items() if k != "discipline"}
            model = model.with_discipline(discipline)
        return _with_numbers(cls, data | {"model": model}, model.time_unit)

    @classmethod
    def of(cls, *values: object, **options: object) -> Self:
        """The question with these options; whatever is wrong with one is said with its name, value and range."""
        if len(values) > len(cls.positional):
            raise TypeError(f"{cls.command}() takes {len(cls.positional)} values without a name, not {len(values)}")
        named = dict(zip(cls.positional, values, strict=False)) | options
        for name in named:
            if name not in cls.model_fields:
                raise TypeError(f"{cls.command}() has no option {name!r}; it has {', '.join(cls.model_fields)}")
        try:
            return cls(**named)
        except ValidationError as error:
            raise UsageError(_in_words(cls, error)) from None
        except UnicodeEncodeError:  # bytes of a command line that are no text in UTF-8
            odd = next((name for name, value in named.items() if not _is_text(value)), cls.command)
            raise UsageError(f"{odd.replace('_', '-')}: must be text in UTF-8") from None

    @property
    def subject(self) -> str:
        """What it is about, as a title."""
        model = getattr(self, "model", None)
        return model.label if isinstance(model, Model) else self.command

    @property
    def own_folder(self) -> Path | None:
        """The run folder that the question itself names, if it does."""
        return None

    @property
    def by_events(self) -> bool:
        """Whether it is answered event by event, so that nodes, priorities and quotas are seen."""
        return getattr(self, "policy", None) not in (None, "fcfs")

    def answer(self, context: Context) -> Result:
        """The result, but for the question itself and the time it took."""
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        """The options that differ from their defaults, as plain data; the model is kept apart."""
        kept = {n for n in type(self).model_fields if n != "model" and _is_kept(option_of(type(self), n))}
        return self.model_dump(mode="json", include=kept, exclude_defaults=True)


def _with_numbers(cls: type[Question], data: dict[str, Any], time_unit: str | None) -> dict[str, Any]:
    """The options, of which texts that are times or rates have become numbers."""
    numbers = {}
    for name, given in data.items():
        option = option_of(cls, name)
        read = reader_of(option.unit, time_unit)
        if read is None or given is None or not (isinstance(given, str) or option.written not in ("value", "duration")):
            continue
        try:
            numbers[name] = read(given) if option.written in ("value", "duration") else values_of(given, read)
        except ValueError as error:
            raise UsageError(f"{flag_of(name, option).lstrip('-')}: {error}") from None
    return data | numbers


def question_for(question: type[Question], subject: object) -> type[Question]:
    """The question itself, or that for logs where the subject is one."""
    from loynes.questions.asking.subject import is_log

    if not question.for_log or not is_log(subject):
        return question
    return log_question(question)


def log_question(question: type[Question]) -> type[Question]:
    """The question that is asked of logs."""
    before = import_module(f"loynes.questions.{question.for_log}")
    return next(one for one in _QUESTIONS.values() if one.__module__ == before.__name__)


def questions() -> dict[str, type[Question]]:
    """The questions that are loaded, by command."""
    return _QUESTIONS


def option_of(cls: type[Question], name: str) -> Option:
    """The Option among a field's annotations."""
    option = next((extra for extra in cls.model_fields[name].metadata if isinstance(extra, Option)), None)
    return option or Option("")


def _is_kept(option: Option) -> bool:
    return option.asked and option.kept


def flag_of(name: str, option: Option) -> str:
    return option.flag or "--" + name.replace("_", "-")


def _is_text(value: object) -> bool:
    """Whether there is nothing in it, or in a list of it, that cannot be written as UTF-8."""
    if isinstance(value, list | tuple):
        return all(map(_is_text, value))
    return not isinstance(value, str) or value.encode(errors="ignore").decode() == value


def _in_words(cls: type[Question], error: ValidationError) -> str:
    """The first thing that is wrong: option, value, and what it must be."""
    first = error.errors()[0]
    if not first["loc"]:
        return str(first["msg"])
    name = str(first["loc"][0])
    field, option = cls.model_fields[name], option_of(cls, name)
    value = first["input"]
    shown = f"{value:g}" if isinstance(value, float) else repr(value) if isinstance(value, str) else str(value)
    flag = flag_of(name, option).lstrip("-")
    if first["type"] == "missing":
        return f"{flag}: is needed"
    if first["type"] == "value_error":  # what a validator of our own says
        return f"{flag}: {first['ctx']['error']}"
    return f"{flag} {shown}: must {option.must or _range(field, value)}"


def _range(field: FieldInfo, value: object) -> str:
    choices = choices_of(field.annotation)
    if choices:
        return f"be one of {', '.join(choices)}"
    limits = {kind: getattr(extra, kind) for extra in field.metadata for kind in ("gt", "ge", "lt", "le")
              if hasattr(extra, kind)}  # fmt: skip
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value:
        if {"gt", "lt"} <= set(limits):
            return f"be above {limits['gt']:g} and below {limits['lt']:g}"
        if "gt" in limits and value <= limits["gt"]:
            return f"be above {limits['gt']:g}"
        if "ge" in limits and value < limits["ge"]:
            return f"be at least {limits['ge']}"
        if "le" in limits and value > limits["le"]:
            return f"be at most {limits['le']}"
    return f"be {_kind(field.annotation)}"


def choices_of(annotation: Any) -> tuple[str, ...]:
    """The values that a field takes, if they are listed."""
    if get_origin(annotation) is Literal:
        return tuple(str(choice) for choice in get_args(annotation))
    return next((choices for inner in get_args(annotation) if (choices := choices_of(inner))), ())


def _kind(annotation: Any) -> str:
    kinds = [annotation, *get_args(annotation)]
    return "a whole number" if int in kinds else "a number" if float in kinds else "given as docs say"
