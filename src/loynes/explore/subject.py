"""What a page is about: a model; or a log, of which it shows a fitted model beside the log's own waits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loynes.explore.service import Recorded, Service
from loynes.explore.state import first_state
from loynes.explore.told import shown
from loynes.explore.work import Workers
from loynes.model import Model, load
from loynes.results.records.fitted import FittedModel


def service_of(subject: Any, changes: Iterable[str] = ()) -> Service:
    """The service of a page about a model (an object, a file, a name, plain data) or a log.

    One that is too large for a page is refused at once.
    """
    from loynes.questions.asking.subject import is_log

    recorded = None
    if not isinstance(subject, Model) and is_log(subject):
        fitted = fitted_to(subject)
        model, policy = load(fitted.model, changes), fitted.policy
        recorded = recorded_of(fitted)
    else:
        model, policy = load(subject, changes), "fcfs"
    state = first_state(model).model_copy(update={"policy": policy})
    _ = state.cluster
    return Service(state, Workers(), recorded)


def model_of(subject: str, changes: Iterable[str]) -> Model:
    """The model that is named; of a log, the one that is fitted to it."""
    from loynes.questions.asking.subject import is_log

    return load(fitted_to(subject).model if is_log(subject) else subject, changes)


def fitted_to(log: Any) -> FittedModel:
    """As `loynes fit LOG --law fit` fits it: laws of a mean and a spread, which can be edited."""
    from loynes.questions.asking.ask import ask
    from loynes.questions.fit import Fit

    fitted = ask(Fit.of(log, law="fit", compare=False))
    assert isinstance(fitted, FittedModel)
    return fitted


def recorded_of(fitted: FittedModel) -> Recorded:
    """What the log itself says: its jobs, run again one by one under its policy."""
    return Recorded(
        source=fitted.source,
        jobs=fitted.jobs,
        skipped=sum(fitted.skipped.values()),
        process=fitted.process,
        policy=fitted.policy,
        waits={name: shown(value) for name, value in fitted.replayed.items()},
    )
