"""A question as the command line, and as the line of Python, that asks it again."""

from __future__ import annotations

import shlex
from typing import Any

from loynes.questions.asking.question import Question, flag_of, option_of

# What models are saved as before the line is typed: one, or both of a pair.
MODEL, PAIR = "model.toml", ["a.toml", "b.toml"]
# Questions that the command line asks by an option, and Python by a function of their own.
PYTHON_NAMES = {
    "policies": "compare_policies",
    "eta-backtest": "eta_backtest",
    "partition": "plan_partition",
    "replay-cases": "replay_cases",
}


def command_line(question: type[Question], options: dict[str, Any]) -> str:
    """The command line of a question, of which options differ from their defaults; models are files."""
    files, left = _files(question, options)
    command, switch = question.asked_by or (question.command, "")
    needed = switch in question.model_fields and question.model_fields[switch].default
    if needed and switch not in options:
        left = {switch: question.model_fields[switch].default} | left  # without it another question would be asked
    words = [word for name, value in left.items() for word in _words(question, name, value)]
    target = ["-o", "samples.parquet"] if "path" in question.model_fields else []
    return " ".join(["loynes", command, *map(shlex.quote, files), *map(shlex.quote, words), *target])


def python_line(question: type[Question], options: dict[str, Any]) -> str:
    """The same in Python."""
    files, left = _files(question, options)
    asked_by = question.asked_by[0] if question.asked_by else question.command
    name = PYTHON_NAMES.get(question.command, asked_by)
    target = [repr("samples.parquet")] if "path" in question.model_fields else []
    return f"loynes.{name}({', '.join([*map(repr, files), *target, *(f'{n}={v!r}' for n, v in left.items())])})"


def _files(question: type[Question], options: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """What is given without a name, and the other options."""
    if "model" not in question.positional:
        named = {name: value for name, value in options.items() if name not in question.positional}
        return [str(options[name]) for name in question.positional if name in options], named
    if "other" in options:
        return PAIR, {name: value for name, value in options.items() if name != "other"}
    return [MODEL], options


def _words(question: type[Question], name: str, value: Any) -> list[str]:
    option = option_of(question, name)
    flag = flag_of(name, option)
    if isinstance(value, bool):
        return [flag] if value else [f"--no-{flag.removeprefix('--')}"]
    match option.written:
        case "list":
            return [flag, ",".join(_written(one) for one in value)]
        case "repeated":
            return [word for one in value for word in (flag, _written(one))]
        case "pairs":
            pairs = ((key, one if isinstance(one, list | tuple) else [one]) for key, one in value.items())
            return [word for key, some in pairs for word in (flag, f"{key}={','.join(map(_written, some))}")]
    return [flag, _written(value)]


def _written(value: Any) -> str:
    # Seventeen digits where they are needed: another rate is another question.
    return repr(value) if isinstance(value, float) else str(value)
