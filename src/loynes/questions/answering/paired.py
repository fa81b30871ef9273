"""Runs of a model and of its variants on the same jobs: derivatives along paths, and differences."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from loynes.arrays import Array
from loynes.errors import UnstableError
from loynes.estimate import Estimate, mean_of
from loynes.estimators.effects import difference, mean_slopes, values_of
from loynes.estimators.measures import Wanted
from loynes.estimators.pairs import ChainTallies
from loynes.execution.context import Context
from loynes.inputs.tables import job_table, needs_of
from loynes.model import Model
from loynes.questions.answering.levers import Lever, Variant, has_atoms
from loynes.questions.answering.long_chains import USUAL_BYTES
from loynes.questions.answering.methods import Methods
from loynes.questions.answering.objectives import Target
from loynes.questions.answering.thresholds import (
    JUDGED_BY_JOBS,
    JUDGED_WITHIN,
    JudgedRate,
    cheap_threshold,
    judged_rate,
    sampled_threshold,
)
from loynes.stationary.forward import Chains
from loynes.stationary.slopes import SlopeChains, slope_bytes

if TYPE_CHECKING:
    from loynes.questions.evaluate import Evaluated


# Metrics that are means of waits, or these and a constant: their derivatives are means of the waits' own.
SMOOTH = ("wait.mean", "response.mean")
# Chains with derivatives, which always run on the CPU; a GPU's thousands of replicas would all have to be burned in.
SLOPE_REPLICAS = 128
# A variant's threshold is first looked at this closely, as a part of what the model itself has left to its own.
COARSE = 0.25
# How many times the jobs of the model as it is a variant's pilot may take.
PILOT_JOBS = 4


@dataclass
class PairedRuns:
    """The model as it is, evaluated, and what its variants are compared with: the same replicas, the same jobs."""

    base: Evaluated
    target: Target
    jobs: int = 0  # simulated
    _own_pilot: int | None = None  # of the model as it is
    _values: dict[int, Array] = field(default_factory=dict)  # of the model as it is, by burn-in

    def __post_init__(self) -> None:
        self.jobs = self.base.result.jobs

    @property
    def burn_in(self) -> int:
        return int(self.base.result.details["burn_in"])

    @property
    def _observed(self) -> int:
        """Jobs of a replica that are observed."""
        details = self.base.result.details
        return int(details["observed_arrivals"] * details["observed_every"] // self.base.result.replicas)

    def no_derivatives(self) -> str:
        """Why there are no derivatives along paths; empty where there are."""
        model, name = self.base.result.model, self.target.metric.name
        if name not in SMOOTH:
            return f"{self.target.metric.label} is no mean of waits, and the limit of its derivatives another thing"
        if not model.plain:
            return "they are there for one kind of server, any of which will do, in turn"
        atoms = [c.label for c in model.classes if has_atoms(c.service)]
        if atoms:
            return f"services of {atoms[0]} take single values, so that different paths may be equally long"
        if slope_bytes(self.base.methods.table, self._slope_replicas) > USUAL_BYTES:
            return "those of so many servers and classes would take too much memory"
        return ""

    @property
    def _slope_replicas(self) -> int:
        return min(self.base.result.replicas, SLOPE_REPLICAS)

    def derivatives(self, amounts: list[float], confidence: float, context: Context) -> list[Estimate]:
        """Effects of the rate, then of every class's length, each changed by so much of itself."""
        result, methods, replicas = self.base.result, self.base.methods, self._slope_replicas
        engine = context.on("cpu").engine
        chains = SlopeChains(methods.table, methods.needs, seed=methods.q.seed, replicas=replicas, engine=engine)
        context.progress(0.0, "derivatives along paths")
        if self.burn_in:
            chains.skip(self.burn_in)
        context.progress(self.burn_in / (self.burn_in + self._observed), "derivatives along paths")
        chains.observe(int(min(self._observed * result.replicas, engine.most_jobs) / replicas))
        self.jobs += chains.jobs
        classes = result.model.classes
        share = np.array([c.probability if self.target.of in ("", c.label) else 0.0 for c in classes])
        share /= share.sum()
        weight = np.zeros(len(methods.needs.need))
        np.add.at(weight, methods.needs.of_class, share)
        slopes = mean_slopes(chains.sums, weight)
        served = share * [c.service.mean for c in classes]
        own = served if self.target.metric.name == "response.mean" else np.zeros(len(classes))
        # A rate that is 1% higher makes gaps 1% shorter.
        columns = [-slopes[:, -1], *(slopes[:, k] + own[k] for k in range(len(classes)))]
        return [mean_of(amount * column, confidence) for amount, column in zip(amounts, columns, strict=True)]

    def difference(self, lever: Lever, confidence: float, context: Context) -> tuple[Estimate, str]:
        """The effect of a lever, and a note: infinite where the change makes the cluster unstable."""
        burn_in, note = self.burn_in, ""
        if lever.doubtful is not None:
            try:
                burn_in, note = self._settled(lever.doubtful, context)
            except UnstableError:
                worse = Estimate.exact(math.inf if self.target.metric.grows >= 0 else -math.inf)
                return worse, "unstable"
        low = self._run(lever.low, burn_in, context.part(0.0, 0.5))
        high = self._run(lever.high, burn_in, context.part(0.5, 0.5))
        return difference(low, high, lever.factor, confidence), note

    def _settled(self, variant: Variant, context: Context) -> tuple[int, str]:
        """The burn-in that a variant needs, and a note where that could not be found out; an unstable one is refused.

        It is the model's own, which may be certified, doubled as often as pilots say that the past matters longer.
        """
        judged = settled_rate(variant, self.base.result.load, self.base.methods.q.seed, context)
        if self._own_pilot is None:
            self._own_pilot = self._pilot(self.base.methods.model, self.base.methods.judged, context)[0]
        wanted, longest = self._pilot(variant.model, judged, context)
        burn_in, past = self.burn_in, self._own_pilot
        while past < wanted:
            burn_in, past = max(2 * burn_in, 1), 2 * past
        return burn_in, "may not have settled, a lower bound" if wanted == longest else ""

    def _pilot(self, model: Model, judged: JudgedRate, context: Context) -> tuple[int, int]:
        """A burn-in by the model's own backward samples, and how far back they may look."""
        limit = {"model": model, "max_jobs": PILOT_JOBS * self.base.result.jobs}
        methods = Methods(self.base.methods.q.model_copy(update=limit), judged, context)
        return methods.pilot(), methods.longest_pilot

    def _run(self, variant: Variant, burn_in: int, context: Context) -> Array:
        """The target in a variant, from all replicas and without each group of them."""
        own = variant == (self.base.methods.model, self.base.result.rate)
        if own and burn_in in self._values:
            return self._values[burn_in]
        model, rate = variant
        if own and burn_in == self.burn_in:
            chains = ChainTallies(model, rate, self.base.methods.needs, self.base.outcome.tallies[:1])
        else:
            chains = self._simulated(variant, burn_in, context)
        values = values_of(chains, self.target.value, Wanted(self.target.exceeds))
        if own:
            self._values[burn_in] = values
        return values

    def _simulated(self, variant: Variant, burn_in: int, context: Context) -> ChainTallies:
        replicas, engine = self.base.result.replicas, context.on(self.base.methods.context.backend).engine
        model, rate = variant
        needs = needs_of(model)
        chains = Chains(
            job_table(model, rate),
            needs,
            self.base.methods.model.mean_service,  # the same bins for all
            seed=self.base.methods.q.seed,
            replicas=np.arange(replicas),
            rows=engine.groups_of(replicas),
            engine=engine,
        )
        context.progress(0.0, f"burning in {burn_in} jobs")
        if burn_in:
            chains.skip(burn_in)
        context.progress(burn_in / (burn_in + self._observed), f"{self._observed} jobs of every replica")
        chains.observe(self._observed)
        self.jobs += chains.jobs
        return ChainTallies(model, rate, needs, (chains.tally,))


def settled_rate(variant: Variant, load: float, seed: int, context: Context) -> JudgedRate:
    """A variant's rate, judged as closely as it takes; an unstable one is refused. `load` is that of the model."""
    model, rate = variant
    precision = COARSE * (1.0 - load)
    if precision > JUDGED_WITHIN and rate < model.ideal and cheap_threshold(model) is None:
        threshold = sampled_threshold(
            model, precision=precision, max_jobs=JUDGED_BY_JOBS, seed=seed, context=context
        ).threshold
        if rate < threshold.low:
            return JudgedRate(rate, threshold, "sampled", ())
    return judged_rate(model, rate, None, seed=seed, context=context)
