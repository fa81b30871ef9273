"""What can be said of a model without running it: ideal rate, offered work, moments, and which methods apply."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loynes.inputs.tables import JobTable, job_table
from loynes.kernels.shape import use_runs
from loynes.model import JobClass, Model, Poisson, load
from loynes.results.table import Table
from loynes.stationary.majorant import heavy_tail
from loynes.study.exact import cheap_threshold


@dataclass(frozen=True)
class Check:
    """A validated model and its exact figures."""

    model: Model
    kernel: str
    threshold: tuple[float, str] | None  # exact, and where it comes from; None where only sampling gives it
    warnings: tuple[str, ...]

    @property
    def methods(self) -> dict[str, str]:
        """Method -> yes, or why not."""
        heavy = heavy_tail(self.model)
        certified = "yes" if heavy is None else f"no: {heavy}"
        lower = "yes, a lower bound"
        return {"stability": "yes", "sandwich": certified, "perfect": certified, "backward": lower, "forward": lower}

    @property
    def summary(self) -> Table:
        rows = tuple(
            (
                c.label,
                c.need_text,
                c.probability,
                c.service.law,
                c.service.mean,
                c.service.variation,
                _moment(c.service.highest_moment),
                self._share(c),
            )
            for c in self.model.classes
        )
        columns = ("class", "need", "probability", "law", "mean", "cv", "moments", "work")
        return Table(f"{self.model.label}: {self.model.size}", columns, rows)

    def _share(self, job_class: JobClass) -> float:
        """The part of the (bottleneck's) work that the class brings."""
        m = self.model
        taken = m.demand(job_class)[m.bottleneck] + m.specific(job_class)[m.bottleneck]
        return job_class.probability * taken * job_class.service.mean / m.work

    @property
    def special(self) -> str | None:
        """What the model is also known as, where it is a simpler one."""
        m = self.model
        if not m.plain:
            return None
        if m.servers == 1:
            return f"one server: Lindley's recurrence ({self._letter}/G/1)"
        if all(c.need == 1 for c in m.classes):
            return f"every job needs one server: the recurrence of Kiefer and Wolfowitz ({self._letter}/G/s)"
        if all(c.need == m.servers for c in m.classes):
            return f"every job needs all servers: Lindley's recurrence ({self._letter}/G/1)"
        return "one resource: the plain model" if m.resources else None

    @property
    def _letter(self) -> str:
        """Kendall's for the arrivals."""
        m = self.model
        return "M" if isinstance(m.arrivals, Poisson) and m.chain is None else "G"

    @property
    def _arrivals(self) -> str:
        m = self.model
        if any(c.arrivals is not None for c in m.classes):
            return "a stream for every class"
        if m.chain is None:
            return m.arrivals.process
        said = f"{m.arrivals.process}, {len(m.chain.d0)} phases"
        return said if m.independent else f"{said}, classes depend on them"

    @property
    def _threshold(self) -> str:
        if self.threshold is None:
            return "ask loynes stability"
        value, source = self.threshold
        return f"{value:.10g} (exact: {source})"

    @property
    def figures(self) -> Table:
        m = self.model
        rows: list[tuple[str, Any]] = [
            ("ideal rate (no blocking)", m.ideal),
            ("threshold", self._threshold),
            ("mean service", m.mean_service),
            *self._works,
            ("arrivals", self._arrivals),
            ("arrival rate in the file", "none" if m.rate is None else m.rate),
        ]
        if m.scenario:
            rows.append(("scenario (for simulate)", "; ".join(change.label for change in m.scenario)))
        if m.rate is not None:
            rows.append((f"offered work (busy {m.kinds[m.bottleneck]})", m.rate * m.work))
        if self.special is not None:
            rows.append(("special case", self.special))
        if m.order != "fcfs":
            rows.append(("discipline", m.order))
        rows += [(f"method {name}", said) for name, said in self.methods.items()]
        rows += [("kernel", self.kernel), ("content hash", m.hash)]
        return Table("figures", ("quantity", "value"), tuple(rows))

    @property
    def _works(self) -> list[tuple[str, Any]]:
        m = self.model
        if not m.resources:
            return [("work of a job (servers x time)", m.work)]
        rows: list[tuple[str, Any]] = [
            (f"work of a job ({kind} x time)", work) for kind, work in zip(m.kinds, m.works, strict=True)
        ]
        return [*rows, ("bottleneck", m.kinds[m.bottleneck])]

    def to_dict(self) -> dict[str, Any]:
        m = self.model
        return {
            "model": m.identity(),
            "ideal": m.ideal,
            "threshold": None
            if self.threshold is None
            else dict(zip(("value", "source"), self.threshold, strict=True)),
            "mean_service": m.mean_service,
            "work": m.work,
            **({"works": dict(zip(m.kinds, m.works, strict=True))} if m.resources else {}),
            "bottleneck": m.kinds[m.bottleneck],
            "special_case": self.special,
            "arrivals": self._arrivals,
            "rate": m.rate,
            "offered": None if m.rate is None else m.rate * m.work,
            "classes": {
                c.label: {
                    "need": c.any_units,
                    "probability": c.probability,
                    "mean": c.service.mean,
                    "variance": c.service.variance if math.isfinite(c.service.variance) else None,
                    "highest_moment": c.service.highest_moment if math.isfinite(c.service.highest_moment) else None,
                    "light_tail": c.service.light_tail,
                }
                for c in m.classes
            },
            "methods": self.methods,
            "kernel": self.kernel,
            "warnings": list(self.warnings),
        }


def check(model: str | Path | Mapping[str, Any] | Model) -> Check:
    """Validate a model and work out its exact figures."""
    checked = load(model)
    table = job_table(checked, None)
    warnings, threshold = moment_warnings(checked), cheap_threshold(checked)
    if checked.rate is not None and checked.rate >= checked.ideal:
        warnings += (f"arrivals.rate = {checked.rate:g} is at or above the ideal rate {checked.ideal:.6g}: unstable",)
    elif checked.rate is not None and threshold is not None and checked.rate >= threshold[0]:
        warnings += (f"arrivals.rate = {checked.rate:g} is at or above the threshold {threshold[0]:.10g}: unstable",)
    return Check(checked, forms_of(table), threshold, warnings)


def forms_of(table: JobTable) -> str:
    """How the workload of every kind of server is kept."""
    names = ["run list" if as_runs else "dense vector" for as_runs in use_runs(table)]
    return names[0] if len(set(names)) == 1 else ", ".join(names)


def moment_warnings(model: Model) -> tuple[str, ...]:
    """A finite k-th moment of the wait needs a finite (k+1)-th of the service; an interval needs twice the moment."""
    highest = model.highest_moment
    if highest >= 5:
        return ()
    which = next(c.label for c in model.classes if c.service.highest_moment == highest)
    start = f"class {which!r}: the service has finite moments only up to {int(highest)}, so "
    if highest < 2:
        return (start + "the mean wait may be infinite, and no mean, variance or interval of it can be trusted",)
    if highest < 3:
        return (start + "the interval of the mean wait cannot be trusted, and the variance may be infinite",)
    return (start + "the interval of the wait's variance cannot be trusted",)


def _moment(highest: float) -> str:
    return "all" if math.isinf(highest) else f"up to {int(highest)}"
