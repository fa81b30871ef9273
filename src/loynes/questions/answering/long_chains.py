"""Long chains: sandwich, from below and from above, and forward, from empty. Each runs until it knows enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from loynes.errors import SamplingError, UsageError
from loynes.estimators import brackets as from_both_sides
from loynes.estimators import chains as from_chains
from loynes.estimators.measures import Measures, bracket
from loynes.estimators.regression import AS_THEY_ARE, Regression
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.inputs.philox import STREAM_PILOT
from loynes.inputs.tables import MANY_CLASSES, rarest
from loynes.kernels.controls import NO_CONTROLS
from loynes.kernels.engine import CUT, Array, Engine, Ints
from loynes.kernels.tally import BINS, Tally, sum_of
from loynes.questions.answering.ending import MAX_JOBS, ended_by
from loynes.questions.answering.evaluating import OFTEN, Evaluating, Outcome
from loynes.questions.answering.outlook import Outlook
from loynes.stationary.backward import backward_samples, initial_length
from loynes.stationary.certificate import Certificate, NoCertificate
from loynes.stationary.forward import Chains
from loynes.stationary.long_services import enough_jobs, far_reaching
from loynes.stationary.sandwich import Pairs
from loynes.stationary.sandwich import burn_in as sandwich_burn_in
from loynes.stationary.wait_controls import WaitControls

LEAST_REPLICAS = 32
# Pairs of chains that are run through the burn-in, as far as so many jobs go.
WITNESSES, WITNESS_JOBS = 1024, 30_000_000
PILOT_SAMPLES = 64
PILOT_MARGIN = 4
LEAST_OBSERVED = 4_096
OF_MANY_CLASSES = 3e7  # jobs to see them among, at most, where classes are very many
# How often the long services that bring a part of the second moment of the work: so many times the precision, at most
# so much. What longer ones bring is left to the controls.
LONG_SEEN, LONG_PART, MOST_PART = 10, 3.0, 0.1
MOST_BYTES = 8 << 30
# The default number of replicas keeps to these: bytes of summaries, and the burn-in's part of all jobs.
USUAL_BYTES = 1 << 30
USUAL_BURN_IN = 0.25
# Of the time that is left: what the burn-in from both sides may take, a pilot, a burn-in from empty.
OF_PAIRS, OF_PILOT, OF_BURN_IN = 0.4, 0.3, 0.4
# Where several chains must stay together, a stretch of observation has so many pieces.
PIECES = 8

EMPTY_START = "forward chains start empty: what bias the burn-in leaves is downward and not bounded"


class LongChains(Evaluating):
    """Averages along chains."""

    def sandwich(self, replicas: int | None, burn_in: int | None) -> Outcome:
        """Chains from below and from above; forward chains, a lower bound, where nothing bounds from above."""
        certificate = self._certify()
        if isinstance(certificate, NoCertificate):
            self.context.notice(f"no certificate, a lower bound follows: {certificate.why}")
            return self._uncertified(self.forward(replicas, burn_in), certificate)
        try:
            pairs, replicas, burn_in = self._pairs(certificate, replicas, burn_in)
        except Stopped:
            self.context.deadline.check()
            none = NoCertificate("there was no time to burn in from below and from above")
            return self._uncertified(self.forward(replicas, burn_in), none)
        witnesses = pairs.replicas
        low, rows = pairs.low[:replicas], self._engine.groups_of(replicas)
        apart = pairs.apart[pairs.apart < replicas]
        # Pairs that have met go on as one chain each, the others as two.
        met = np.setdiff1d(np.arange(replicas), apart)
        at = pairs.places
        parts = [self._chains(met, rows, low[met], pairs.position, at[met])] if met.size else []
        if apart.size:
            ends = (low, pairs.high)
            parts += [self._chains(apart, rows, end[apart], pairs.position, at[apart]) for end in ends]

        def sides(tallies: list[Tally]) -> tuple[Tally, ...]:
            """From the tallies of all parts: one of all chains, or one from below and one from above."""
            if not apart.size:
                return (tallies[0],)
            return sum_of([*tallies[:-2], tallies[-2]]), sum_of([*tallies[:-2], tallies[-1]])

        first = max(burn_in, LEAST_OBSERVED)
        measures, jobs, by, regression = self._observe("sandwich", parts, sides, replicas, first)
        distance = pairs.distance(self.q.confidence)
        certificate = replace(certificate, burn_in=pairs.position, distance=distance)
        warnings: tuple[str, ...] = ()
        if apart.size > 0.05 * replicas:
            warnings = (
                f"{apart.size} of {replicas} pairs of chains had not met after the burn-in: the brackets hold, but a "
                "longer one (--burn-in) would narrow them",
            )
        tallies = sides([part.tally for part in parts])
        details = self._observed(parts[0].stride, tallies[0], pairs.position, regression) | {"pairs": witnesses}
        if apart.size:
            details |= {"apart": int(apart.size), "hulls": from_both_sides.hulls(self.model)}
        return Outcome(
            "sandwich", measures, replicas, jobs, details, certificate, warnings=warnings, by=by, tallies=tallies,
            regression=regression,
        )  # fmt: skip

    def _pairs(self, certificate: Certificate, replicas: int | None, burn_in: int | None) -> tuple[Pairs, int, int]:
        """Pairs of chains, burned in; how many of them are to be observed; and for how many jobs they were to run."""
        context = self.context.within(OF_PAIRS)
        engine = context.engine
        if burn_in is None:
            context.progress(0.0, "sandwich: pilot, how long the two chains take to meet")
            burn_in = sandwich_burn_in(
                self.model, self.rate, certificate, seed=self.q.seed, max_jobs=self.max_jobs, engine=engine
            )
        replicas = self._replicas(replicas, burn_in)
        # Pairs beyond the replicas only go through the burn-in: more of them bear witness to the distance.
        room = USUAL_BYTES // (16 * self.table.servers)
        witnesses = max(replicas, min(WITNESSES, WITNESS_JOBS // max(burn_in, 1), room))
        pairs = Pairs(self.model, self.rate, certificate, seed=self.q.seed, replicas=witnesses, engine=engine)
        if burn_in:
            context.progress(0.0, f"sandwich: burning in {burn_in} jobs, from below and from above")
            pairs.run(burn_in)
        return pairs, replicas, burn_in

    def forward(self, replicas: int | None, burn_in: int | None) -> Outcome:
        """Chains from the empty system."""
        warnings: tuple[str, ...] = ()
        if burn_in is None:
            try:
                burn_in = self.pilot(self.context.within(OF_PILOT))
            except Stopped:
                self.context.deadline.check()
                burn_in = self.longest_pilot  # or as far as there is time
        replicas = self._replicas(replicas, burn_in)
        part = self.context.within(OF_BURN_IN)
        chains = self._chains(np.arange(replicas), self._engine.groups_of(replicas), None, 0, engine=part.engine)
        part.progress(0.0, f"forward: burning in {burn_in} jobs")
        try:
            if burn_in:
                chains.skip(burn_in)
        except Stopped:
            self.context.deadline.check()
            warnings = (f"there was time for {chains.position} of {burn_in} jobs of burn-in: waits may be too short",)
        chains.run_by(self._engine)
        skipped = chains.position
        first = max(skipped, LEAST_OBSERVED)
        measures, jobs, by, regression = self._observe("forward", [chains], tuple, replicas, first)
        details = self._observed(chains.stride, chains.tally, skipped, regression)
        return Outcome(
            "forward", measures, replicas, jobs, details, why=EMPTY_START, warnings=warnings, by=by,
            tallies=(chains.tally,), regression=regression,
        )  # fmt: skip

    def _chains(
        self,
        replicas: Ints,
        rows: int,
        workload: Array | None,
        position: int,
        places: Ints | None = None,
        engine: Engine | None = None,
    ) -> Chains:
        return Chains(
            self.table,
            self.needs,
            self.model.mean_service,
            seed=self.q.seed,
            replicas=replicas,
            rows=rows,
            workload=workload,
            position=position,
            places=places,
            controls=self._controls.sums if self._controls else NO_CONTROLS,
            engine=engine or self._engine,
        )

    def _replicas(self, wanted: int | None, burn_in: int) -> int:
        """As wanted, if there is room; else as many as usual, fewer where each is large or long to burn in."""
        if wanted is not None:
            if (size := self._bytes(wanted)) > MOST_BYTES:
                raise UsageError(
                    f"replicas {wanted}: would take {size / 2**30:.0f} GiB; at most {MOST_BYTES >> 30} are used"
                )
            return wanted
        usual = self._engine.fitting_replicas(self.table)
        few = usual * min(1.0, USUAL_BYTES / self._bytes(usual))
        return int(min(max(min(few, USUAL_BURN_IN * self.max_jobs / max(burn_in, 1)), LEAST_REPLICAS), usual))

    def _bytes(self, replicas: int) -> int:
        """What so many replicas take: histograms and sums by need, and two workload vectors each."""
        needs = len(self.needs.need)
        rows = int(self._engine.groups_of(replicas))
        return rows * 4 * BINS * needs + replicas * (40 * needs + 16 * self.table.servers)

    def _observe(
        self,
        method: str,
        chains: list[Chains],
        sides: Callable[[list[Tally]], tuple[Tally, ...]],
        replicas: int,
        first: int,
    ) -> tuple[Measures, int, str, Regression]:
        """Observe all chains until the overall mean wait is known well enough; the measures, jobs simulated, what ended
        it, if not that enough is known, and the regression on controls.

        `sides` makes one tally of those of all chains, or two: from below and from above.
        """
        stride, begin = chains[0].stride, chains[0].position
        controls = self._controls
        # Whatever is rare must have been seen, or the replicas agree on a world without it.
        least = OFTEN / rarest(self.table)
        if len(self.table.need) > MANY_CLASSES:
            least = min(least, OF_MANY_CLASSES)  # else the rarest of thousands would say how long a run is
        if controls is not None and self._far_reaching and self.model.highest_moment > 3:
            # Nor may the long services be missing that bring as much of the mean wait as it is to be known to.
            least = max(least, enough_jobs(self.table, min(LONG_PART * self.q.precision, MOST_PART), LONG_SEEN))
        rare = min(least, self.max_jobs) / replicas
        more = -(-self.q.samples // replicas) * stride if self.q.samples else max(first, int(rare))
        burned_in, by = sum(chain.jobs for chain in chains), ""
        outlook = Outlook(method, self.context, self.q.precision if self.q.samples is None else None, self.max_jobs)
        while True:
            try:
                self._advance(chains, more)
            except Stopped:
                if not all(tally.looks.all() for tally in sides([chain.tally for chain in chains])):
                    raise  # nothing is known yet
                by = ended_by(self.context.deadline)
            jobs = sum(chain.jobs for chain in chains)
            tallies = sides([chain.tally for chain in chains])
            # Both sides on what the chains from below saw: whatever has expectation 0 may be a control of anything.
            regression = Regression(controls.deviations(tallies[0]) if controls else None)
            by_what = AS_THEY_ARE if self.as_seen else regression
            waits = [from_chains.overall_wait(tally, self.needs, self.q.confidence, by_what) for tally in tallies]
            wait = bracket(waits[0], waits[-1])
            outlook.told(wait, self._excess(wait), burned_in, jobs)
            if by:
                by = "" if self.q.samples is None and self._excess(wait) <= 1 else by
                break
            if self._enough(wait, jobs):
                break
            observed = chains[0].position - begin
            more = int(max(stride, min(observed * self._growth(wait), (self.max_jobs - jobs) / replicas)))
        own = [chain.responses for chain in chains]
        responses = sides([tally for tally in own if tally is not None]) if own[0] is not None else None
        if not by and self.q.samples is None and self._excess(wait) > 1:
            by = MAX_JOBS
        return self._measures(tallies, responses, regression), jobs, by, regression

    def _advance(self, chains: list[Chains], more: int) -> None:
        """Observe so many jobs more with all chains. Stopped before, all are equally far all the same."""
        piece = more if len(chains) == 1 else -(-more // (PIECES * CUT)) * CUT
        try:
            for first in range(0, more, piece):
                for chain in chains:
                    chain.observe(min(piece, more - first))
        except Stopped:
            rest = self.context.finishing().engine
            for chain in chains:
                chain.catch_up(max(one.position for one in chains), rest)
            raise

    def _measures(
        self, waits: tuple[Tally, ...], responses: tuple[Tally, ...] | None, regression: Regression
    ) -> Measures:
        """From tallies of one side or of both."""
        given, rest = (self.model, self.rate, self.needs), (self.q.confidence, self.wanted)
        if len(waits) == 1:
            own = responses[0] if responses else None
            return from_chains.measures(*given, waits[0], *rest, own, regression=regression)
        both = (responses[0], responses[1]) if responses else None
        return from_both_sides.measures(*given, (waits[0], waits[1]), *rest, both, regression)

    @cached_property
    def _far_reaching(self) -> bool:
        """Whether a few long services bring most of the noise."""
        return not all(c.service.light_tail for c in self.model.classes) or bool(far_reaching(self.table).any())

    @cached_property
    def _controls(self) -> WaitControls | None:
        """Where jobs are independent of those before; to add them up is left to the CPU."""
        if self._engine.name != "cpu" or self.table.arrivals.repeat >= 0 or not self.model.independent:
            return None
        return WaitControls(
            self.model,
            self.table,
            threshold=self.judged.threshold.estimate,
            stride=self._engine.look_every(self.table),
            far_reaching=self._far_reaching,
        )

    def _observed(self, stride: int, tally: Tally, skipped: int, regression: Regression) -> dict[str, Any]:
        """What was observed, and how many times less variance the mean wait has by so many controls."""
        found: dict[str, Any] = {
            "burn_in": skipped,
            "observed_arrivals": int(tally.looks.sum()),
            "observed_every": stride,
        }
        if regression.controls:
            reduction = regression.reduction(from_chains.mean_waits(tally, self.needs))
            found |= {"controls": regression.controls, "variance_reduction": reduction}
        return found

    @property
    def longest_pilot(self) -> int:
        """How far back a pilot looks at most."""
        return max(initial_length(self.table), int(self.max_jobs / (4 * PILOT_SAMPLES)))

    def pilot(self, context: Context | None = None) -> int:
        """A burn-in: well above the longest past that any of a few backward samples needed to forget how it began."""
        context = context or self.context
        context.progress(0.0, "forward: pilot, how far back the past matters")
        longest = self.longest_pilot
        try:
            batches = backward_samples(
                self.table, PILOT_SAMPLES, seed=self.q.seed, stream=STREAM_PILOT, longest=longest, engine=context.engine
            )
            return PILOT_MARGIN * max(int(batch.length.max()) for batch in batches)
        except SamplingError:
            return longest
