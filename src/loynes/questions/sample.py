"""Samples of the stationary workload, streamed to a file or to the parts of a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.files import is_file_path
from loynes.results.records.samples import SampleFile


class Sample(Question):
    """Independent samples of the stationary workload, written to a .parquet or .csv file, one row each, or to a folder.

    Methods: `perfect` samples are stationary but for a probability `delta` (1e-9) each; where nothing bounds the
    workload from above (a service tail heavier than exponential), and with `backward`, they are lower bounds, begun far
    enough back for `confirmations` (1) successive workloads to be equal.

    Columns: replica, length (how far back the sample began), doublings, and the workload, ascending: one list column in
    Parquet, w1 .. ws in CSV; with several resources one list each (workload_cpu), and cpu1, cpu2, ... in CSV. Memory
    does not grow with the number of samples, and a failed run leaves no file. A run folder has parts, each written when
    it is whole (part-00000.parquet, ...); after an interruption the run goes on with the next one. When `time`
    (seconds, or "30s") is up, a file has the samples there are, and a run folder its whole parts.
    """

    command: ClassVar[str] = "sample"
    positional: ClassVar[tuple[str, ...]] = ("model", "path")
    examples: ClassVar[tuple[str, ...]] = ("loynes sample one-or-all --load 0.5 --samples 10000 -o workloads.parquet",)

    model: LoadedModel
    path: Annotated[
        str | None,
        BeforeValidator(lambda given: None if given is None else str(given)),
        Option("A .parquet or .csv file, else a run folder.", asked=False),
    ] = None
    rate: options.Rate = None
    load: options.Load = None
    method: Annotated[
        Literal["perfect", "backward"],
        Option("Stationary samples, or the paper's lower bounds of them.", "perfect|backward"),
    ] = "perfect"
    samples: Annotated[int, Field(ge=2, le=2**32 - 1), Option("How many.")] = 10_000
    confirmations: options.Confirmations = None
    delta: options.Delta = None
    discipline: options.Discipline = None
    seed: options.Seed = 1
    backend: options.Backend = "auto"
    max_jobs: options.MaxJobs = None
    time: options.TimeBudget = None

    @model_validator(mode="after")
    def _of_method(self) -> Self:
        for name, value, method in (
            ("confirmations", self.confirmations, "backward"),
            ("delta", self.delta, "perfect"),
        ):
            if value is not None and self.method != method:
                raise UsageError(f"{name} {value}: means nothing to method {self.method!r}")
        return self

    @property
    def own_folder(self) -> Path | None:
        return Path(self.path) if self.path and not is_file_path(self.path) else None

    def answer(self, context: Context) -> SampleFile:
        from loynes.questions.answering.sampling import sample_to_file, sample_to_folder, sampler_of

        if context.folder is not None:
            return sample_to_folder(sampler_of(self, context), context.folder)
        if self.path is None:
            raise UsageError("say where to: a path or a folder")
        return sample_to_file(self, Path(self.path), context)


sample = Ask(Sample, SampleFile)
