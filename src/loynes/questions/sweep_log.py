"""Jobs like those of a log on clusters of many sizes, under many policies, or changed in many ways."""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.questions.asking.options import Option, axes_of
from loynes.questions.asking.resampled import OnResamples
from loynes.results.records.log_cases import LogSweep

# What may be varied besides servers, nodes, or resources; names are those of the options.
AXES = ("policy", "scale", "max_need", "run_times", "limits")
MOST_CASES = 1000


class SweepLog(OnResamples):
    """Jobs like those of a log in all combinations of the values that are varied, on the same resamples.

    `vary` takes servers (or nodes, or resources), policy, scale, max_need, run_times and limits: {"servers": [96,
    104], "policy": ["easy"]}.
    The first combination is what the others are compared with.
    """

    command: ClassVar[str] = "sweep-log"
    asked_by: ClassVar[tuple[str, str] | None] = ("sweep", "trace")
    examples: ClassVar[tuple[str, ...]] = ("loynes sweep log.swf.gz --policy easy --vary servers=96:128:8",)

    vary: Annotated[
        dict[str, tuple[Any, ...]],
        BeforeValidator(axes_of),
        Option("servers=96:128:8, policy=fcfs,easy, scale=1,1.2. Repeatable.", "NAME=VALUES", written="pairs"),
    ] = Field(default_factory=dict)

    def answer(self, context: Context) -> LogSweep:
        from loynes.questions.answering.resampling import LogRunner, cases_result

        if not self.vary:
            raise UsageError("nothing to sweep: give something to vary, such as servers=96:128:8")
        if (count := math.prod(len(values) for values in self.vary.values())) > MOST_CASES:
            raise UsageError(f"{count} cases: at most {MOST_CASES}")
        runner = LogRunner(self, context)
        possible = (*runner.sizes, *AXES)
        for name in self.vary:
            if name not in possible:
                raise UsageError(f"vary {name!r}: of a log, must be one of {', '.join(possible)}")
        axes = {name: [self._checked(name, value) for value in values] for name, values in self.vary.items()}
        configs = [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*axes.values())]
        cases = [(_name(config), config, runner.case(**config)) for config in configs]
        return cases_result(LogSweep, runner, cases, context)

    def _checked(self, name: str, value: Any) -> Any:
        """A value that is varied has the range of the option of that name."""
        if name.startswith("nodes"):
            return type(self).of(self.trace, nodes=value, has=self.has or {"cpu": 1}).nodes
        if name in self.resources:
            return type(self).of(self.trace, resources=self.resources | {name: value}).resources[name]
        checked = getattr(type(self).of(self.trace, **{name: value}), name)
        return checked if isinstance(checked, int) else value


def _name(config: dict[str, Any]) -> str:
    return ", ".join(f"{value}" if name == "policy" else f"{name} {value}" for name, value in config.items())
