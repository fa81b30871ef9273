"""What a scheduler believes of the run times of a log's jobs: what was requested, the truth, or a prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loynes.arrays import Array
from loynes.errors import UsageError
from loynes.kernels.events.predictions import CORRECTIONS, Beliefs, guessed
from loynes.questions.answering.orders import Order
from loynes.questions.asking.changed import ChangedLog
from loynes.traces.trace import Trace

WORDS = {
    "steps": "corrected by steps",
    "requested": "then by what was requested",
    "doubling": "doubled where too short",
    "floor": "then at any moment",
}


@dataclass(frozen=True)
class Believed:
    """Run times that are believed, a value a job; where they are predicted, what of; and all that in words."""

    guess: Array
    beliefs: Beliefs | None = None
    words: str | None = None  # None where the policy believes in nothing


def check_beliefs(question: ChangedLog) -> None:
    """Refuse options that exclude each other."""
    predict = question.predict
    for name, given in (("inflation", question.inflation), ("overestimate", question.overestimate or None)):
        if given is not None and predict not in (None, "exact"):
            raise UsageError(f"{name} {given:g}: is about the true run times; predict {predict!r} is not")
    if question.correct is not None and predict != "last-two":
        raise UsageError(f"correct {question.correct!r}: is for predictions, --predict last-two")


def believed_of(jobs: Trace, order: Order, question: ChangedLog, seed: int) -> Believed:
    """What a policy believes of these jobs, as a question has it."""
    predict, requested = question.predict, jobs.requested
    if not order.rule.believes_run_times:
        return Believed(jobs.service)
    if predict == "requested" and requested is None:
        raise UsageError(f"predict 'requested': {jobs.source} has no requested times")
    asked = np.full(jobs.jobs, np.nan) if requested is None else requested
    known = ~np.isnan(asked)
    if predict == "last-two":
        if "user" not in jobs.labels:
            raise UsageError(f"predict 'last-two': {jobs.source} does not tell whose the jobs are")
        correct = question.correct or "steps"
        user = np.unique(jobs.labels["user"], return_inverse=True)[1].ravel()
        beliefs = Beliefs(user, np.where(known, asked, np.inf), CORRECTIONS.index(correct))
        words = f"the mean of the user's last two run times, {WORDS[correct]}"
        return Believed(np.where(known, asked, jobs.service), beliefs, words)
    true = predict == "exact" or question.inflation is not None or order.overestimate > 0.0
    if not true and requested is not None:
        words = f"requested times, of {int(known.sum())} jobs"
        return Believed(np.where(known, asked, jobs.service), words=words)
    guess = guessed(jobs.service, order.inflation, order.overestimate, seed, 0, 0)
    if order.overestimate:
        most = order.inflation + order.overestimate
        return Believed(guess, words=f"{order.inflation:g} to {most:g} times the true run times, at random")
    words = "true run times" if order.inflation == 1.0 else f"{order.inflation:g} times the true run times"
    return Believed(jobs.service if order.inflation == 1.0 else guess, words=words)
