"""The first bound of the waits: a short run of an empty cluster, for which no threshold has to be known.

An empty cluster fills up, so that its waits are the shorter the sooner one looks: their means are bounds from below,
whatever the rate, also of a line that grows for ever. `loynes evaluate --method forward` does more (the threshold,
controls that hang on it, percentiles of responses), which of a large cluster takes seconds.
"""

from __future__ import annotations

import numpy as np

from loynes.estimate import Estimate
from loynes.estimators import chains as from_chains
from loynes.execution.context import Context
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.shape import step_cost
from loynes.questions.answering.long_chains import EMPTY_START
from loynes.questions.answering.thresholds import moment_warnings
from loynes.questions.asking import options
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.evaluation import Evaluation
from loynes.stationary.forward import Chains

REPLICAS = 32
# The run takes about so many nanoseconds of one core, but no fewer and no more than so many jobs; so much of it goes
# by before it is looked at.
NANOSECONDS, FEWEST, MOST = 2e7, 1 << 16, 1 << 20
BURN_IN = 0.25


class FirstWaits(Question):
    """Mean, percentiles and chance of waits in a run that begins empty."""

    model: LoadedModel
    rate: options.Rate
    seed: options.Seed = 1
    confidence: options.Confidence = 0.99

    def answer(self, context: Context) -> Evaluation:
        assert self.rate is not None
        model, engine = self.model, context.engine
        table, needs = job_table(model, self.rate), needs_of(model)
        jobs = int(min(max(NANOSECONDS / step_cost(table), FEWEST), MOST)) // REPLICAS
        chains = Chains(
            table, needs, model.mean_service, seed=self.seed, replicas=np.arange(REPLICAS),
            rows=int(engine.groups_of(REPLICAS)), engine=engine,
        )  # fmt: skip
        chains.skip(int(BURN_IN * jobs))
        skipped = chains.position
        chains.observe(jobs - skipped)
        found = from_chains.measures(model, self.rate, needs, chains.tally, self.confidence, quickly=True)
        return Evaluation(
            model=model.with_rate(self.rate), rate=self.rate, threshold=Estimate(float("nan"), 0.0, model.ideal),
            method="forward", overall=found.overall, classes=found.classes, system=found.system,
            confidence=self.confidence, replicas=REPLICAS, jobs=chains.jobs, seed=self.seed, backend=engine.name,
            details={"burn_in": skipped}, why=EMPTY_START, warnings=moment_warnings(model),
        )  # fmt: skip
