"""Models with nodes, priorities and quotas, which only an event by event answer sees: what all others do with them."""

from __future__ import annotations

from loynes.errors import UsageError
from loynes.model import Model
from loynes.model.sizes import Size
from loynes.questions.asking.question import Question


def pooled(question: Question) -> tuple[Question, tuple[str, ...]]:
    """The question as it is answered: about the pooled cluster, unless it is answered event by event; and in words what
    is left out."""
    model = getattr(question, "model", None)
    if question.by_events or not isinstance(model, Model):
        return question, ()
    words = left_out(model)
    return (question.model_copy(update={"model": model.pooled}), words) if model.pooled is not model else (question, ())


def left_out(model: Model) -> tuple[str, ...]:
    """What the pooled cluster's answer leaves out; priorities, without which it would mean nothing, are refused."""
    if model.has_priorities:
        raise UsageError(
            "priorities: this answer is for jobs in order of arrival; simulate has priorities (loynes simulate MODEL)"
        )
    words = []
    if model.nodes is not None:
        what = "nodes and quotas are" if model.quotas else "nodes are"
        words.append(
            f"{what} left out: this answer is for the pooled cluster ({model.size}), where a task may take units of "
            "any nodes; simulate has them"
        )
        if model.scenario:
            words.append("the model's scenario is left out: this answer is for nodes that never change")
    elif model.quotas:
        words.append("quotas are left out: this answer is for jobs that may hold all there is; simulate has them")
    sizes = [f"{kind} in units of {Size(unit)}" for kind, unit in zip(model.kinds, model.unit_sizes, strict=True)
             if unit != 1]  # fmt: skip
    return (*words, *([f"{', '.join(sizes)}"] if sizes else []))
