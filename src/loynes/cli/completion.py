"""What a shell offers behind the Tab key: models and files, policies, metrics, and the values that an option takes.

Each function gets what Typer gives it and returns all that might come there; what does not begin with what was typed is
left out by Typer. Where nothing fits, shells offer files by themselves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from loynes.questions.asking.question import Question

Offered = list[tuple[str, str] | str]
Completer = Callable[[typer.Context, list[str], str], Offered]

SCHEMA_KINDS = ("model", "result")
MODEL_FILES = (".toml", ".yaml", ".yml", ".json")


def completer_of(question: type[Question], name: str) -> Completer | None:
    """What completes a question's option; None where nothing is known."""
    from loynes.questions.asking.question import choices_of

    if name in ("model", "other"):
        return subjects if question.for_log else models
    known: dict[str, Completer] = {"policy": policies, "policies": policies, "slo": objectives, "objective": metrics}
    choices = choices_of(question.model_fields[name].annotation)
    return known.get(name) or (_one_of(choices) if choices else None)


def _one_of(choices: tuple[str, ...]) -> Completer:
    def offered(ctx: typer.Context, args: list[str], incomplete: str) -> Offered:
        return list(choices)

    return offered


def models(ctx: typer.Context, args: list[str], incomplete: str) -> Offered:
    """Built-in names and model files."""
    return [*_builtin(), *files(incomplete, MODEL_FILES)]


def subjects(ctx: typer.Context, args: list[str], incomplete: str) -> Offered:
    """The same, and every other file, which may be a log."""
    return [*_builtin(), *files(incomplete)]


def builtin(ctx: typer.Context, args: list[str], incomplete: str) -> Offered:
    return _builtin()


def results(ctx: typer.Context, args: list[str], incomplete: str) -> Offered:
    """Results and run folders."""
    return list(files(incomplete, (".json",)))


def schema_kinds(ctx: typer.Context, args: list[str], incomplete: str) -> Offered:
    """What there are schemas of."""
    return list(SCHEMA_KINDS)


def result_kinds(ctx: typer.Context, args: list[str], incomplete: str) -> Offered:
    """Kinds of results, each with a schema of its own."""
    from loynes.results.base import result_kinds as known

    return sorted(known())


def _builtin() -> Offered:
    from loynes.model import builtin_names

    return list(builtin_names())


def files(incomplete: str, endings: tuple[str, ...] = ()) -> list[str]:
    """Files that begin so, and folders, with a slash; what is in a folder that is the only one."""
    beginning = incomplete[max(incomplete.rfind("/"), incomplete.rfind(os.sep)) + 1 :]
    prefix = incomplete[: len(incomplete) - len(beginning)]
    try:
        entries = sorted(Path(prefix or ".").expanduser().iterdir())
    except OSError:
        return []
    found = [
        f"{prefix}{entry.name}/" if entry.is_dir() else f"{prefix}{entry.name}"
        for entry in entries
        if entry.name.startswith(beginning)
        and (beginning.startswith(".") or not entry.name.startswith("."))
        and (entry.is_dir() or not endings or entry.suffix.lower() in endings)
    ]
    # A shell ends a word that is complete with a blank: with the entries of the only folder, it is not complete.
    return found + files(found[0], endings) if len(found) == 1 and found[0].endswith("/") else found


def policies(ctx: typer.Context, args: list[str], incomplete: str) -> Offered:
    """Policies, after those that are there with commas between them; and files of one's own."""
    from loynes.kernels.events.policies import policies as known

    before = incomplete[: incomplete.rfind(",") + 1]
    taken = before.split(",")
    named = [(f"{before}{name}", one.summary) for name, one in known().items() if name not in taken]
    return [*named, *(before + file for file in files(incomplete[len(before) :], (".py",)))]


def metrics(ctx: typer.Context, args: list[str], incomplete: str) -> Offered:
    """Metrics as they are written in objectives; of a class after a bracket."""
    return [(text, label) for text, label, _ in _spelled(ctx, incomplete)]


def objectives(ctx: typer.Context, args: list[str], incomplete: str) -> Offered:
    """Metrics, each with the sign that goes before its bound."""
    return [(f"{text} {sign}", label) for text, label, sign in _spelled(ctx, incomplete) if sign]


def _spelled(ctx: typer.Context, incomplete: str) -> Iterable[tuple[str, str, str]]:
    from loynes.estimators.metrics import metrics as known
    from loynes.questions.answering.objectives import spelling

    # Before an option has its value, what is positional is not told apart yet.
    names = _classes(ctx.params.get("model") or next(iter(ctx.args), "")) if "[" in incomplete else []
    for one in known():
        text, sign = spelling(one), {1: "<=", -1: ">="}.get(one.grows, "")
        yield text, one.label, sign
        if one.of == "class":
            inside = text.removesuffix(")")
            end = ")" if inside != text else ""
            yield from ((f"{inside}[{name}]{end}", f"{one.label} of {name}", sign) for name in names)


def _classes(model: Any) -> list[str]:
    """The names of a model's classes, if it can be read."""
    from loynes.errors import LoynesError
    from loynes.model import load

    try:
        return [one.label for one in load(str(model)).classes]
    except LoynesError:
        return []
