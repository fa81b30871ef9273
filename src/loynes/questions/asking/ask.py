"""A question is asked: by a person, within another question, or again in the folder where it was stopped."""

from __future__ import annotations

import inspect
import time
import warnings as python_warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from loynes._version import __version__
from loynes.errors import LoynesWarning, ModelError, TimeUpError, TraceError, UnstableError, UsageError
from loynes.execution.compiling import compiling
from loynes.execution.context import Context
from loynes.execution.deadline import NEVER, Deadline, Stopped
from loynes.execution.notebook_bar import NotebookBar, default_progress
from loynes.execution.progress import Progress, duration, silent
from loynes.execution.workers import Pool
from loynes.kernels.fingerprint import FINGERPRINT
from loynes.model.units import seconds_of
from loynes.questions.asking.folder import complete, forget, holds_answer, open_journal, read_document, remove_journal
from loynes.questions.asking.pooling import pooled
from loynes.questions.asking.question import Question, question_for, questions
from loynes.results.base import RUN, Result, read_result

Answer = TypeVar("Answer", bound=Result)


class Ask(Generic[Answer]):
    """The Python function of a question: loynes.evaluate(model, rate=1.35).

    Takes the question's options by name, and besides: `folder`, where the run is recorded as it goes, so that after an
    interruption it goes on where it was, to the same bytes; `executor`, a Dask client or any
    concurrent.futures.Executor, whose workers compute, also to the same bytes; `progress`, which is called with the
    share of the work that is done and a text. In a notebook there is a bar unless something else is said; None is
    nothing at all.
    """

    def __init__(self, question: type[Question], result: type[Answer]) -> None:
        self.question, self.__name__, self.__doc__ = question, question.command, question.__doc__
        self.__signature__ = _signature(question, result)

    def __call__(
        self,
        *values: object,
        folder: str | Path | None = None,
        executor: object = None,
        progress: Progress | Literal["auto"] | None = "auto",
        **options: object,
    ) -> Answer:
        first = next(iter(self.question.positional), "")
        subject = values[0] if values else options.get(first, options.get("trace"))
        question = question_for(self.question, subject)
        if question is not self.question and "model" in options:
            options["trace"] = options.pop("model")
        asked = question.of(*values, **options)
        with _told(progress) as watch:
            result: Any = ask(asked, folder=folder, executor=executor, progress=watch)
        for text in result.warnings:
            python_warnings.warn(text, LoynesWarning, stacklevel=2)
        return result  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<loynes.{self.__name__}{self.__signature__}>"


@contextmanager
def _told(progress: Progress | Literal["auto"] | None) -> Iterator[Progress]:
    """Who is told of the progress; a notebook's bar is taken away in the end, however it ends."""
    watch = default_progress() if progress == "auto" else progress or silent
    try:
        yield watch
    finally:
        if isinstance(watch, NotebookBar):
            watch.close()


def _signature(question: type[Question], result: type[Result]) -> inspect.Signature:
    kinds = inspect.Parameter
    named = sorted(question.model_fields.items(), key=lambda item: item[0] not in question.positional)
    parameters = [
        kinds(
            name,
            kinds.POSITIONAL_OR_KEYWORD if name in question.positional else kinds.KEYWORD_ONLY,
            default=kinds.empty if field.is_required() else field.get_default(call_default_factory=True),
            annotation=field.annotation,
        )
        for name, field in named
    ]
    ways = {
        "folder": (None, "str | Path | None"),
        "executor": (None, "object"),
        "progress": ("auto", "Progress | Literal['auto'] | None"),
    }
    parameters += [kinds(n, kinds.KEYWORD_ONLY, default=d, annotation=a) for n, (d, a) in ways.items()]
    return inspect.Signature(parameters, return_annotation=result)


def ask(
    question: Question,
    *,
    folder: str | Path | None = None,
    executor: object = None,
    progress: Progress = silent,
    deadline: Deadline | None = None,
) -> Result:
    """The result of a question; by a deadline, if there is one, else within the time that the question says.

    TimeUpError where nothing is known by then; KeyboardInterrupt where it was somebody who asked to stop.
    """
    pool = None if executor is None else Pool(executor)
    seconds = getattr(question, "time", None)
    deadline = deadline or (NEVER if seconds is None else Deadline(seconds))
    context = Context(getattr(question, "backend", "cpu"), progress, pool=pool, deadline=deadline)
    _ = context.engine  # a backend that is not there is refused at once
    place = question.own_folder if folder is None else Path(folder)
    was_there = place is not None and place.exists()
    fresh = place is not None and not (place / RUN).exists()
    try:
        with compiling(progress, deadline):
            return answered(question, context, place)
    except (UsageError, ModelError, TraceError, UnstableError):
        if place is not None and fresh:  # what is refused leaves nothing
            forget(place, was_there)
        raise
    except Stopped:
        if deadline.asked:
            raise KeyboardInterrupt from None
        raise TimeUpError(f"time {duration(deadline.seconds or 0.0)}: was up before anything was known") from None


def answered(question: Question, context: Context, folder: Path | None = None) -> Result:
    """The result of a question in a context; with a folder it is recorded there, or read if it is there already."""
    if folder is not None and holds_answer(folder, question):
        return read_result(folder)
    began = time.perf_counter()
    if folder is not None:
        context = context.recorded_in(open_journal(folder, question), folder)
    asked, left_out = pooled(question)
    result = asked.answer(context)
    result = replace(
        result, seconds=time.perf_counter() - began, question=question.options(), warnings=(*left_out, *result.warnings)
    )
    deadline = context.deadline
    if deadline.cut and not result.stopped:
        result = replace(result, stopped={"by": "interrupt" if deadline.asked else "time"})
    if folder is not None:
        result.save_folder(folder)
        # A run that was cut short can go on.
        if not deadline.cut:
            remove_journal(folder)
    return result


def deadline_of(folder: str | Path, time: float | str | None) -> Deadline:
    """That of a run that goes on; a question that takes no time runs to its end, whatever happens."""
    question = questions().get(read_document(folder)["command"])
    if question is None or "time" not in question.model_fields:
        if time is not None:
            raise UsageError(f"{folder}: takes no --time")
        return NEVER
    try:
        seconds = None if time is None else seconds_of(str(time))
    except ValueError as error:
        raise UsageError(f"time: {error}") from None
    if seconds is not None and not seconds > 0:
        raise UsageError(f"time {time}: must be above 0")
    return Deadline(seconds)


def resume(
    folder: str | Path,
    *,
    time: float | str | None = None,
    executor: object = None,
    progress: Progress | Literal["auto"] | None = "auto",
    deadline: Deadline | None = None,
) -> Result:
    """The result of a run folder: read, if the run was complete; else computed from where it was stopped.

    The result is the same, to the last byte, as that of a run that was never stopped. A folder of another version of
    loynes is refused. An `executor` may do the work, whoever did it before. A `time` (seconds, or "30s") ends it once
    more with what is known by then.
    """
    asked = read_document(folder)
    if asked["command"] not in questions():
        raise UsageError(f"{folder}: a run of {asked['command']!r} cannot be resumed")
    if complete(folder):
        return read_result(folder)
    for what, now in (("version", __version__), ("kernels", FINGERPRINT[:16])):
        if asked.get(what) != now:
            raise UsageError(
                f"{folder}: was begun by another loynes ({what} {asked.get(what)}, this one has {now}): numbers may "
                "differ; resume it with that one, or begin anew in another folder"
            )
    model = {} if asked["model"] is None else {"model": asked["model"]}
    question = questions()[asked["command"]].of(**model, **asked["options"])
    if deadline is None and time is not None:
        deadline = deadline_of(folder, time)
    with _told(progress) as watch:
        return ask(question, folder=folder, executor=executor, progress=watch, deadline=deadline)
