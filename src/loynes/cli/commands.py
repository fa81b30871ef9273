"""Commands made from questions: their options, help and examples are those of the question's record."""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
import time
from copy import copy
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from loynes.errors import UsageError

if TYPE_CHECKING:
    from loynes.cli.completion import Completer
    from loynes.questions.asking.options import Option
    from loynes.questions.asking.question import Question

FILES = "a .json, .csv, .parquet, .html, .png, .svg or .pdf file, else a run folder that can be resumed"
Parameters = dict[str, inspect.Parameter]
# The field that a log is given in; no option of its own.
LOG = "trace"

# What commands share.
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, and no word of what was written.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Compute on N processes of this machine (Dask).")
]
ClusterOption = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Compute on a Dask cluster: tcp://host:8786. The same result."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change the model: classes.T1.need=2. Repeatable."),
]


class QuestionGroup(TyperGroup):
    """All commands: one for each question, loaded when it is named, and those that are written out."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted({*_commands(), *_outside(), *super().list_commands(ctx)}, key=_place)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        TyperGroup.format_help(self._listed(), ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        listing = copy(ctx)
        listing.command = self._listed()
        return TyperGroup.shell_complete(listing.command, listing, incomplete)

    def _listed(self) -> QuestionGroup:
        """This group with commands that have a name and a summary and nothing else: to list them loads no question."""
        listed = copy(self)
        listed.commands = {**self.commands} | {
            name: TyperCommand(name, help=text) for name in _commands() if (text := listed_summary(name))
        }
        return listed

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in self.commands or cmd_name not in (*_modules(), *_outside()):
            return super().get_command(ctx, cmd_name)
        return question_command(cmd_name)


def _outside() -> list[str]:
    """Questions that are defined elsewhere, and loaded."""
    question = sys.modules.get("loynes.questions.asking.question")
    known = question.questions() if question is not None else {}
    return [name for name, one in known.items() if not one.__module__.startswith("loynes.")]


@cache
def _modules() -> tuple[str, ...]:
    """The modules that hold questions."""
    return tuple(m.name for m in pkgutil.iter_modules(import_module("loynes.questions").__path__) if not m.ispkg)


def _commands() -> list[str]:
    """The questions that have a command of their own."""
    return [name for name in _modules() if "_" not in name]


def listed_summary(name: str) -> str:
    """The first paragraph of a question's docstring, read from its file: loading it would take ten times as long. Empty
    where it is not found there; the question then has to be loaded."""
    source = Path(next(iter(import_module("loynes.questions").__path__))) / f"{name}.py"
    text = source.read_text(encoding="utf-8") if source.is_file() else ""
    for documented in re.split(r"^class ", text, flags=re.MULTILINE)[1:]:
        doc = re.match(r'[^\n]*:\n    """(.*?)"""', documented, re.DOTALL)
        if doc and f'\n    command: ClassVar[str] = "{name}"\n' in documented:
            return _first_paragraph(doc[1])
    return ""


def _first_paragraph(doc: str | None) -> str:
    return " ".join((doc or "").partition("\n\n")[0].split())


# The order in which help shows commands: from the first look at a model to what is left to do with a result.
ORDER = ("init", "models", "check", "stability", "evaluate", "exact", "certify", "simulate", "policies", "advise",
         "compare", "sweep", "plan", "sensitivity", "replay", "eta", "fit", "sample", "report", "explore", "resume",
         "reproduce", "schema")  # fmt: skip


def _place(name: str) -> tuple[int, str]:
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def question_command(name: str) -> Any:
    """The command of a question. One that is asked by an option of another (compare --policies) shares its command."""
    from loynes.questions.asking.question import log_question, question_for, questions

    for module in _modules():
        if module == name or module.startswith(f"{name}_"):
            import_module(f"loynes.questions.{module}")
    question = questions()[name]
    # That of a log comes first: given a log, it is asked whatever other options there are.
    others = {LOG: log_question(question)} if question.for_log else {}
    for known in questions().values():
        if known.asked_by and known.asked_by[0] == name:
            others.setdefault(known.asked_by[1], known)
    parameters = _parameters(question)
    twice: dict[str, tuple[str, str]] = {}  # options that mean something else in another question: switch and name
    for switch, other in others.items():
        for n, one in _parameters(other, switch).items():
            if n in parameters and _is_flag(one) and not _is_flag(parameters[n]):
                twice[f"{switch}_{n}"] = switch, n
                parameters[f"{switch}_{n}"] = _negative(f"{switch}_{n}", n, one)
            elif n in other.several:
                parameters[n] = _parameters(other)[n]
            elif n not in (*parameters, LOG):
                parameters[n] = one
    parameters |= _common(question)

    def run(**given: Any) -> None:
        if question_for(question, given.get("model")) is not question:
            given[LOG] = given.pop("model")
        chosen = next((switch for switch, other in others.items() if _asks(switch, other, given)), "")
        if not chosen:
            for name in (name for other in others.values() for name in other.several):
                given[name] = _whole(given.get(name))
        for alias, (switch, n) in twice.items():
            value = given.pop(alias)
            if switch == chosen:
                if given.get(n) is not None:
                    raise UsageError(f"--{n}: means something only for a log")
                given[n] = value
            elif value is not None:
                place = "means nothing for a log" if chosen == LOG else f"means something only with --{switch}"
                raise UsageError(f"--no-{n}: {place}")
        _run(others.get(chosen, question), given, others)

    ordered = sorted(parameters.values(), key=lambda one: one.default is not inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in ordered}
    lines = (*question.examples, *(others[LOG].examples if LOG in others else ()))
    examples = "Examples:\n\n" + "\n\n".join(lines) if lines else None
    command = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
    command.command(name, help=_first_paragraph(question.__doc__), epilog=examples)(run)
    return typer.main.get_command(command)


def _whole(given: Any) -> Any:
    """A whole number that was read as a text, since several would have been possible."""
    return int(given) if isinstance(given, str) and given.strip().lstrip("-").isdecimal() else given


def _asks(switch: str, question: type[Question], given: dict[str, Any]) -> bool:
    """Whether a question is asked: by its option, or by several values of others."""
    texts = [str(given.get(name)) for name in question.several]
    return bool(given.get(switch)) or any("," in text or text.count(":") == 2 for text in texts)


def _parameter(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _parameters(question: type[Question], switch: str = "") -> Parameters:
    """A question's fields; where it is asked by an option of another command, their help says so."""
    from loynes.cli.completion import completer_of
    from loynes.questions.asking.question import option_of

    parameters: Parameters = {}
    for name, field in question.model_fields.items():
        option, completed = option_of(question, name), completer_of(question, name)
        if name == "model":
            text = "A model file (TOML, YAML or JSON), or a built-in name"
            log = "; or a job log (SWF, sacct, CSV, ...)" if question.for_log else ""
            metavar = "MODEL|LOG" if log else "MODEL"
            about = typer.Argument(metavar=metavar, help=f"{text}{log}.", autocompletion=completed)
            parameters[name] = _parameter(name, Annotated[str, about], inspect.Parameter.empty)
        elif name in question.positional and option.written == "value" and option.asked:
            about = typer.Argument(
                metavar=option.metavar, help=option.help, show_default=False, autocompletion=completed
            )
            default = inspect.Parameter.empty if field.is_required() else None
            parameters[name] = _parameter(name, Annotated[str if field.is_required() else str | None, about], default)
        elif option.asked:
            prefix = f"With --{switch}: " if switch and name != switch else ""
            panel = "Options for a log" if switch == LOG else None
            annotation = _option(name, field, option, "" if panel else prefix, panel, completed)
            parameters[name] = _parameter(name, annotation)
    return parameters


def _option(name: str, field: Any, option: Option, prefix: str, panel: str | None, completed: Completer | None) -> Any:
    """No option has a default here: what is not given is left to the question."""
    from loynes.questions.asking.options import reader_of
    from loynes.questions.asking.question import flag_of

    default = option.default or _shown(field.get_default(call_default_factory=True))
    help_text = prefix + option.help + (f" (default: {default})" if default else "")
    flag, kind = flag_of(name, option), _base(field.annotation)
    if kind is bool and field.default:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    if option.written in ("list", "pairs", "duration") or reader_of(option.unit, None) is not None:
        kind = str  # what is listed, and times that may have a unit, are read by the question
    many = option.written in ("repeated", "pairs")
    about = typer.Option(
        flag,
        metavar=option.metavar,
        help=help_text,
        show_default=False,
        rich_help_panel=panel,
        autocompletion=completed,
    )
    return Annotated[list[kind] | None, about] if many else Annotated[kind | None, about]  # type: ignore[valid-type]


def _is_flag(parameter: inspect.Parameter) -> bool:
    return bool in get_args(get_args(parameter.annotation)[0])


def _negative(name: str, flag: str, parameter: inspect.Parameter) -> inspect.Parameter:
    """Only the --no- of a switch whose own name is taken."""
    about = typer.Option(f" /--no-{flag}", help=get_args(parameter.annotation)[1].help, show_default=False)
    return _parameter(name, Annotated[bool | None, about])


def _base(annotation: Any) -> type:
    """The type of a value as it is written: of a list, that of its items."""
    kinds = [annotation, *get_args(annotation), *(inner for arg in get_args(annotation) for inner in get_args(arg))]
    return next((kind for kind in (bool, int, float) if kind in kinds), str)


def _shown(default: Any) -> str:
    if default is None or default == () or default == {} or isinstance(default, bool):
        return ""
    return ",".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _common(question: type[Question]) -> Parameters:
    """What every question's command takes besides."""
    fields = question.model_fields
    text = f"Also write the result: {FILES}."
    if "path" in fields:
        text = "Where the samples go: a .parquet or .csv file, else a run folder that can be resumed."
    elif "law" in fields:
        text = f"Also write the model (.toml), or the result: {FILES}."
    out = typer.Option("-o", "--output", metavar="PATH", help=text, show_default=False)
    options = {"as_json": JsonOption, "workers": WorkersOption, "cluster": ClusterOption, "quiet": QuietOption}
    if "model" in fields:
        options = {"changes": SetOption} | options
    parameters = {
        name: _parameter(name, kind, False if name in ("as_json", "quiet") else None) for name, kind in options.items()
    }
    # Samples must go somewhere.
    needed = "path" in fields
    kind, default = (str, inspect.Parameter.empty) if needed else (str | None, None)
    return parameters | {"out": _parameter("out", Annotated[kind, out], default)}


def _run(question: type[Question], given: dict[str, Any], others: dict[str, type[Question]]) -> None:
    """Ask the question that the command line puts, show the result, write it."""
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.errors import LoynesError
    from loynes.execution.deadline import NEVER, Deadline
    from loynes.model import load
    from loynes.questions.asking.ask import ask
    from loynes.questions.asking.folder import holds_answer
    from loynes.questions.asking.question import option_of

    common = {name: given.pop(name, None) for name in ("as_json", "out", "workers", "cluster", "quiet", "changes")}
    options = {name: value for name, value in given.items() if value is not None and value != []}
    for name in options:
        if name not in question.model_fields:
            raise UsageError(_out_of_place(name, options, others))
        if isinstance(options[name], list) and option_of(question, name).written == "list":
            options[name] = ",".join(options[name])  # another question of this command repeats the option
    if LOG in options and common["changes"]:
        raise UsageError("--set: changes a model; a log has --scale, --max-need, --without, --run-times, ...")
    out = common["out"]
    if "path" in question.model_fields:
        output.check_samples(out)
        options |= {"path": out} if output.run_folder(out) is None else {}
    else:
        output.check_target(out, question)
    for name in ("model", "other"):
        if name in options:
            options[name] = load(options[name], common["changes"] or ())
    asked, folder = question.of(**options), output.run_folder(out)
    title = f"{asked.subject}: {question.command}"
    ways = {name: common[name] for name in ("quiet", "cluster", "workers")}
    known = folder is not None and holds_answer(Path(folder), asked)
    # Questions that take a time can be interrupted, and say what they know by then.
    deadline = Deadline(getattr(asked, "time", None)) if "time" in question.model_fields else NEVER
    with asking(title, folder, **ways, deadline=deadline) as (progress, executor):
        result = ask(asked, folder=folder, executor=executor, progress=progress, deadline=deadline)
    output.result(result, bool(common["as_json"]), None if "path" in question.model_fields else out)
    if out is not None:
        (output.had_it if known else output.wrote)(out, bool(common["quiet"]))
    output.stopped(result, folder)
    every = getattr(asked, "watch", None)
    while every:
        time.sleep(every)
        # A listing that cannot be had, or in which nobody waits, may be another one the next time.
        try:
            deadline = Deadline(getattr(asked, "time", None))
            with asking(title, None, **ways, deadline=deadline) as (progress, executor):
                result = ask(asked, executor=executor, progress=progress, deadline=deadline)
        except LoynesError as error:
            typer.echo(f"loynes: {error}", err=True)
        else:
            output.result(result, bool(common["as_json"]), out if folder is None else None)
    if result.unmet:
        raise typer.Exit(1)


def _out_of_place(name: str, options: dict[str, Any], others: dict[str, type[Question]]) -> str:
    """Why an option is refused: it belongs to another question of the same command."""
    from loynes.questions.asking.question import flag_of, option_of, questions

    flag = "[OTHER]" if name == "other" else flag_of(name, option_of(_owner(name), name))
    if LOG in options and LOG in others:
        return f"{flag}: means nothing for a log"
    asked = next((one for one in others if one in options), "")
    alike = [one for one in questions().values() if LOG not in others or LOG not in one.model_fields]
    if asked and any(name in one.model_fields for one in alike):
        return f"{flag}: means nothing with --{asked}"
    switch = next((one for one, other in others.items() if name in other.model_fields), LOG)
    if switch == LOG:
        return f"{flag}: means something only for a log"
    return f"{flag}: means something only with --{switch}"


def _owner(name: str) -> type[Question]:
    """The question that has an option of this name."""
    from loynes.questions.asking.question import questions

    return next(one for one in questions().values() if name in one.model_fields)
