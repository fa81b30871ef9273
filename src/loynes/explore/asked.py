"""Which questions the page asks of a state, in which order: what is known soonest first, then ever more exactly."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from loynes.errors import LoynesError, ModelError, UnstableError
from loynes.explore.first_waits import FirstWaits
from loynes.explore.state import Also, Pinned, State
from loynes.explore.told import from_below, less, shown, told
from loynes.explore.what_ifs import what_ifs
from loynes.model import Model
from loynes.questions.asking.question import Question
from loynes.questions.compare import Compare
from loynes.questions.evaluate import Evaluate
from loynes.questions.exact import AskExact
from loynes.questions.simulate import Simulate
from loynes.questions.stability import Stability
from loynes.results.base import Result
from loynes.results.records.evaluation import Evaluation
from loynes.threshold.work import bounds

# The first bracket of the threshold takes a few hundredths of a second: so wide, from so many jobs.
FIRST_WIDTH, FIRST_JOBS = 0.1, 100_000
# Chains of so many states give exact waits in a tenth of a second, and of so many an exact threshold.
STATES_FOR_WAITS, STATES_FOR_THRESHOLD = 120, 2_000
# Under a policy a first look takes so many runs, and jobs that each observes: less than a tenth of a second.
LOOKS, LOOKED_AT = 8, 1_000
# After the first bounds, waits are known to these half-widths, relative to the mean.
WAITS = (0.2, 0.05, 0.01)
# Of what is shown beside the answer.
BESIDE = 0.05
POLICIES = ("fcfs", "easy", "first-fit", "most-servers-first", "server-filling")
LOADS = (0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95)
# Seconds after which a question ends with what is known by then; the command that is shown says so.
LONGEST = 120.0
# Arrivals of which nothing but the rate changes with it.
RATELESS = ("poisson", "renewal")

Event = dict[str, Any]
Ask = Callable[[Question], Result]


class Asking:
    """The questions of one state, asked one after the other."""

    def __init__(self, state: State, also: tuple[Also, ...], ask: Ask, of: str | None = None) -> None:
        self._state, self._also, self._ask, self._of = state, also, ask, of
        self._model = state.cluster
        self._shared: dict[str, Any] = {"policy": state.policy, "seed": state.seed, "time": LONGEST}
        self._precise = float("inf")  # the half-width of the mean wait by now, relative

    def events(self) -> Iterator[Event]:
        """What the page is told, in turn; the last digits of the waits come after all that somebody asked for."""
        if not (exactly := (yield from self._exactly())):
            yield from self._sampled()
        pinned = self._state.pinned
        if pinned is not None:
            yield from self._difference(pinned)
        if "what_if" in self._also:
            for other in what_ifs(self._model, self._state.rate, self._of):
                question = Evaluate.of(other.model, rate=other.rate, precision=BESIDE, **self._shared)
                for event in self._told("what_if", other.name, question):
                    yield event | {"state": {"model": other.model.to_dict(), "rate": other.rate}}
        if "policies" in self._also:
            for policy in POLICIES:
                rest = self._shared | {"policy": policy}
                question = Evaluate.of(self._model, rate=self._state.rate, precision=BESIDE, **rest)
                yield from self._told("policy", policy, question)
        if not exactly:
            yield from self._waits(WAITS[-1])
        if "sweep" in self._also:
            for load in LOADS:
                question = Evaluate.of(self._model, load=load, precision=2 * BESIDE, **self._shared)
                yield from self._told("point", f"{load:g}", question)

    def _exactly(self) -> Generator[Event, None, bool]:
        """Where the chain is small or there is a formula: the waits, and nothing is left to sample."""
        model, state = self._model, self._state
        if state.policy != "fcfs" or model.nodes or model.has_priorities or model.discipline not in (None, "fcfs"):
            return False
        question = AskExact.of(model, rate=state.rate, max_states=STATES_FOR_WAITS)
        try:
            event = told(question, self._ask(question))
        except UnstableError:
            return False
        except LoynesError:
            return False  # too large, or another kind of model: it is sampled
        yield {"kind": "threshold", "name": ""} | event
        yield {"kind": "waits", "name": ""} | event
        return True

    def _sampled(self) -> Iterator[Event]:
        model, state = self._model, self._state
        first = self._threshold(precision=FIRST_WIDTH, max_jobs=FIRST_JOBS)
        below = True  # whether the rate may be one that the cluster can take
        for event in self._told("threshold", "", first):
            yield event
            below = state.rate < (event.get("threshold", {}).get("high") or model.ideal)
        if state.policy != "fcfs":
            yield from self._first_look()
        elif below:
            yield from self._from_below()
        if not (yield from self._exact_threshold()):
            yield from self._told("threshold", "", self._threshold())
        for precision in WAITS[:-1]:
            if self._precise > precision:  # else it is there already
                yield from self._waits(precision)

    def _waits(self, precision: float) -> Iterator[Event]:
        """Waits to a precision, unless it is known that there are none to tell."""
        if self._precise:
            question = Evaluate.of(self._model, rate=self._state.rate, precision=precision, **self._shared)
            yield from self._told("waits", "", question)

    def _from_below(self) -> Iterator[Event]:
        """Bounds of the waits, which are true whatever the threshold turns out to be."""
        event: Event = {"kind": "waits", "name": ""}
        try:
            result = self._ask(FirstWaits.of(self._model, rate=self._state.rate, seed=self._state.seed))
        except LoynesError as error:
            self._precise = 0.0
            yield event | {"error": str(error)}
            return
        assert isinstance(result, Evaluation)
        yield event | from_below(result)

    def _first_look(self) -> Iterator[Event]:
        """Short runs under a policy, from an empty cluster; where they tell nothing, longer ones will say why."""
        question = Simulate.of(self._model, rate=self._state.rate, replicas=LOOKS, jobs=LOOKED_AT, **self._shared)
        try:
            event = told(question, self._ask(question))
        except LoynesError:
            return
        yield {"kind": "waits", "name": ""} | event

    def _threshold(self, **how: Any) -> Question:
        """The threshold, which is the same at every rate, so that it is asked again only where the model changes."""
        model = self._model
        if model.arrivals.process in RATELESS and all(c.arrivals is None for c in model.classes):
            model = self._at_no_rate
        return Stability.of(model, seed=self._state.seed, time=LONGEST, **how)

    @property
    def _at_no_rate(self) -> Model:
        model = self._model
        return model.model_copy(update={"arrivals": model.arrivals.model_copy(update={"rate": None})})

    def _exact_threshold(self) -> Generator[Event, None, bool]:
        """Where the saturated chain has a few hundred states; whether it has."""
        model = self._model
        if model.discipline not in (None, "fcfs"):
            return False
        question = AskExact.of(self._at_no_rate, max_states=STATES_FOR_THRESHOLD)
        try:
            event = told(question, self._ask(question))
        except LoynesError:
            return False
        yield {"kind": "threshold", "name": ""} | event
        return True

    def _difference(self, pinned: Pinned) -> Iterator[Event]:
        """Against the pinned state: on the same jobs, in turn; under other policies of two runs of their own."""
        state = self._state
        try:
            if state.policy == pinned.policy == "fcfs":
                question = Compare.of(pinned.cluster, self._model, precision=BESIDE, seed=state.seed, time=LONGEST)
                for event in self._told("difference", "", question):
                    yield event | {"how": "on the same jobs"}
                return
            runs = [
                Evaluate.of(model, rate=rate, precision=BESIDE, **self._shared | {"policy": policy})
                for model, rate, policy in ((pinned.cluster, pinned.rate, pinned.policy),
                                            (self._model, state.rate, state.policy))
            ]  # fmt: skip
            first, second = (self._ask(question) for question in runs)
            assert isinstance(first, Evaluation)
            assert isinstance(second, Evaluation)
        except LoynesError as error:
            yield {"kind": "difference", "name": "", "error": str(error)}
            return
        shared = [name for name in second.classes if name in first.classes]
        yield {
            "kind": "difference", "name": "", "how": "of two runs, each with its own jobs under its own policy",
            "overall": shown(less(second.overall.wait.mean, first.overall.wait.mean)),
            "classes": {
                name: shown(less(second.classes[name].wait.mean, first.classes[name].wait.mean)) for name in shared
            },
        }  # fmt: skip

    def _told(self, kind: str, name: str, question: Question) -> Iterator[Event]:
        """The answer, or why there is none."""
        event: Event = {"kind": kind, "name": name}
        try:
            result = self._ask(question)
        except UnstableError as error:
            self._note(kind, 0.0)
            yield event | {"unstable": str(error)}
            return
        except LoynesError as error:
            yield event | {"error": str(error)}
            return
        if isinstance(result, Evaluation):
            self._note(kind, result.overall.wait.mean.relative)
        yield event | told(question, result)

    def _note(self, kind: str, precise: float) -> None:
        if kind == "waits":
            self._precise = precise


def facts_of(state: State) -> Event:
    """What is known of a state without sampling: it is exact, and there at once."""
    model = state.cluster
    if not model.classes:
        raise ModelError("classes: there are none")
    least, most = bounds(model)
    return {
        "kind": "facts",
        "label": model.label,
        "size": model.size,
        "ideal": model.ideal,
        "bounds": {"low": least, "high": most},
        "busy": state.rate * model.work,
        "servers": model.units[model.bottleneck],
        "kinds": list(model.kinds),
        "bottleneck": model.kinds[model.bottleneck],
        "pooled": pooled(model, state.policy),
        "time_unit": model.time_unit,
        "classes": [
            {"name": c.label, "need": c.need_text, "units": model.demand(c)[model.bottleneck],
             "probability": c.probability, "law": c.service.law, "mean": c.service.mean,
             "cv": _finite(c.service.variation)}
            for c in model.classes
        ],
    }  # fmt: skip


def pooled(model: Model, policy: str) -> bool:
    """Whether the answer is for the cluster without its nodes: what is certified knows none."""
    return bool(model.nodes) and policy == "fcfs"


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None
