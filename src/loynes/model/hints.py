"""What somebody may have meant: keys and names that are nearly right, or that other programs use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

from loynes.model import arrivals
from loynes.model.classes import JobClass
from loynes.model.cluster import Model
from loynes.model.fields import Record
from loynes.model.laws import LAWS
from loynes.model.lines import Place
from loynes.model.nodes import Nodes, Quota
from loynes.model.scenario import Change

# Our keys, and the words that other programs and books have for them.
WORDS = {
    "need": "needs size demand requires cpus cores gpus slots servers",
    "tasks": "pieces replicas workers pods ranks ntasks num_tasks task",
    "per_node": "tasks_per_node ntasks_per_node ppn",
    "priority": "prio rank importance",
    "partition": "partitions queue pool",
    "nodes": "node hosts machines",
    "count": "number n how_many nodes",
    "has": "resources have capacity with each",
    "limit": "max quota most nominal nominal_quota limits",
    "borrow": "borrowing borrowing_limit borrow_limit",
    "cohort": "group",
    "quotas": "quota limits",
    "placement": "packing place",
    "preemption": "preempt preemptive",
    "announced": "known planned maintenance",
    "probability": "prob p share weight fraction percent",
    "probabilities": "probs p weights",
    "weights": "probs probabilities weight",
    "classes": "class jobs job job_classes types",
    "law": "type dist distribution kind process",
    "process": "type dist distribution kind law",
    "service": "runtime run_time duration service_time length time",
    "mean": "average avg expectation scale runtime run_time duration length time",
    "value": "mean constant runtime run_time duration length time",
    "arrivals": "arrival input",
    "rate": "lambda lam arrival_rate intensity mu",
    "from": "start begin since at",
    "until": "end stop to",
    "rate_factor": "factor times",
    "lost": "failed down servers",
    "discipline": "order policy scheduling",
    "servers": "n m s machines hosts capacity cores gpus cpus",
    "phases": "k n stages shape",
    "shape": "k alpha exponent phases",
    "low": "min minimum lower",
    "high": "max maximum upper",
    "cycle": "period",
    "name": "title label id",
    "description": "comment text",
    "cv": "c_v cov variation",
}
# Names of laws, processes and disciplines.
NAMES = {
    "exp": "exponential", "m": "exponential", "markov": "exponential", "constant": "deterministic",
    "const": "deterministic", "fixed": "deterministic", "det": "deterministic", "d": "deterministic",
    "hyper": "hyperexponential", "h2": "hyperexponential", "ph": "phase_type", "cox": "coxian", "normal": "lognormal",
    "trace": "empirical", "data": "empirical", "recorded": "trace", "markovian": "map", "daily": "periodic",
    "fifo": "fcfs", "best-fit": "pack", "best_fit": "pack", "bestfit": "pack", "binpack": "pack", "worst-fit": "spread",
    "worst_fit": "spread", "balance": "spread", "first_fit": "first-fit", "firstfit": "first-fit", "none": "never",
    "no": "never", "requeue": "restart", "kill": "restart", "suspend": "resume",
}  # fmt: skip
# Words for how widely values are spread, and what each is.
SPREADS = {
    **dict.fromkeys(("sd", "std", "stddev", "std_dev", "stdev", "sigma"), "standard deviation"),
    **dict.fromkeys(("variance", "var"), "variance"),
    **dict.fromkeys(("scv", "cv2", "c2"), "squared coefficient of variation"),
}
# Keys that stand one level deeper, and where.
IN_ARRIVALS = ("rate", "process")
IN_CLASSES = ("need", "specific", "probability", "service", "tasks", "per_node", "priority")
AT_THE_TOP = (
    "time_unit", "servers", "resources", "nodes", "placement", "preemption", "quotas", "discipline", "scenario",
    "classes", "description",
)  # fmt: skip
CLOSE = 0.65


class Hint(NamedTuple):
    """Words to go after "is not a known key"; the key that was meant, where its value may stand as it is; and whether
    what is said needs another number instead."""

    words: str
    key: str = ""
    another: bool = False


# The records of lists.
LISTED: dict[str, type[Record]] = {"classes": JobClass, "scenario": Change, "nodes": Nodes, "quotas": Quota}


def record_at(parts: Place, root: type[Record] = Model) -> type[Record] | None:
    """The record at this place of another, as pydantic writes places: with names of laws and processes in them."""
    if not parts:
        return root
    if len(parts) > 1 and isinstance(parts[-1], int):
        return LISTED.get(str(parts[-2]))
    return LAWS.get(str(parts[-1])) or _processes().get(str(parts[-1]))


def hint_for(key: str, parts: Place, table: Mapping[str, Any], root: type[Record] = Model) -> Hint:
    """What an unknown key of the table at this place of a record may have meant."""
    record = record_at(parts, root)
    if record is None:
        return Hint("")
    known = keys_of(record)
    word = key.strip().lower().replace("-", "_")
    if word in SPREADS and word not in known:
        return Hint(_spread(word, table.get(key), known, table.get("mean")), another=True)
    meant = meant_by(word, known)
    if meant:
        there = ", which is there, too" if meant in table else ""
        return Hint(f"; did you mean `{meant}`{there}?", "" if there else meant)
    return Hint(_elsewhere(word, record) or f"; there are: {', '.join(known)}")


def meant_by(word: str, known: Iterable[str]) -> str:
    """The one of these keys that somebody may have meant by a word, or nothing."""
    choices = list(known)
    said = next((one for one in choices if word in WORDS.get(one, "").split()), "")
    return said or _close(word, choices)


def name_meant(word: object, known: Iterable[str]) -> str:
    """The same of names of laws, processes and disciplines."""
    choices, name = list(known), str(word).strip().lower()
    if NAMES.get(name) in choices:
        return NAMES[name]
    return _close(name.replace("-", "_"), choices)


def _close(word: str, choices: list[str]) -> str:
    """The only one that begins so, or the one that is most alike."""
    begin = [one for one in choices if one.startswith(word)] if len(word) > 2 else []
    return begin[0] if len(begin) == 1 else next(iter(get_close_matches(word, choices, 1, CLOSE)), "")


def _spread(word: str, value: Any, known: list[str], mean: Any) -> str:
    """Laws here that are given by their spread have a mean and a cv."""
    what = SPREADS[word]
    numbers = [x for x in (value, mean) if isinstance(x, int | float) and not isinstance(x, bool) and 0 < x < math.inf]
    square = math.nan  # of the coefficient of variation
    if len(numbers) == 2:
        square = {"standard deviation": (numbers[0] / numbers[1]) ** 2, "variance": numbers[0] / numbers[1] ** 2}.get(
            what, numbers[0]
        )
    if "cv" in known:
        here = "" if math.isnan(square) else f"; here {math.sqrt(square):.6g}"
        return f"; did you mean `cv`? It is the standard deviation over the mean{here}"
    return f"; a law with a {what} is {{ law = 'lognormal', mean = ..., cv = ... }}, or 'fit'" + (
        "" if math.isnan(square) else f" (here cv = {math.sqrt(square):.6g})"
    )


def _elsewhere(word: str, record: type[Record]) -> str:
    if record is Model and word in IN_ARRIVALS:
        return "; it belongs in [arrivals]"
    if record is Model and word in IN_CLASSES:
        return "; it belongs in a [[classes]] table"
    if record is JobClass and any(word in keys_of(law) for law in LAWS.values()):
        return f"; it belongs in the service: service = {{ law = ..., {word} = ... }}"
    if record is not Model and word in AT_THE_TOP:
        return "; it belongs at the top of the file, above the first [table]"
    return ""


@cache
def keys_of(record: type[Record]) -> list[str]:
    """The keys that a record may have in a file, those that stand for another one included."""
    schema = record.model_json_schema()
    if "$ref" in schema:  # a law that may hold others of its kind
        schema = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    return list(schema["properties"])


@cache
def _processes() -> dict[str, type[Record]]:
    """Arrival processes by name."""
    kinds = [one for one in vars(arrivals).values() if isinstance(one, type) and issubclass(one, arrivals.Process)]
    return {one.model_fields["process"].default: one for one in kinds if "process" in one.model_fields}
