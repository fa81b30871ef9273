"""The policy that a question names. Policies are loaded only where another than the default is asked for: they bring
the event-driven engine and its compiler, which the recurrence does without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from loynes.questions.answering.orders import Order, PolicyLike

# The names of the numbers that policies take, as questions have them; `option` is that of a user's own policy.
NUMBERS = ("window", "threshold", "depth", "age", "cycle", "option")


class AsksPolicy(Protocol):
    """A question with the options of a policy, and the numbers for policies."""

    @property
    def policy(self) -> PolicyLike: ...
    @property
    def inflation(self) -> float: ...


def numbers_of(question: object) -> dict[str, float | None]:
    """The numbers for policies that a question has."""
    return {name: getattr(question, name, None) for name in NUMBERS}


def order_asked(question: AsksPolicy) -> Order:
    """The policy that a question names, with its numbers; one that means nothing to it is refused."""
    from loynes.questions.answering.orders import order_of

    return order_of(question.policy, numbers_of(question), question.inflation)


def other_order(question: AsksPolicy) -> Order | None:
    """The same, if it is another than first come, first served, about which more is known."""
    policy: Any = question.policy
    plain = not isinstance(policy, Path) and policy == "fcfs" and question.inflation == 1.0
    if plain and all(value is None for value in numbers_of(question).values()):
        return None
    order = order_asked(question)
    return None if order.policy == "fcfs" else order
