"""A policy that plans ahead for everybody in line takes long where the line does: say so before, and what helps."""

from __future__ import annotations

from loynes.questions.answering.orders import Order

# Of a line of so many jobs a few seconds; each time it is twice as long, eight times as many.
LONG = 3_000


def long_plans(order: Order, jobs: int, load: float, early: bool) -> tuple[str, ...]:
    """A warning, where that many jobs bring `load` times what can be served; only where some end earlier than believed
    are all reservations looked at again."""
    plans = order.rule.timetable and order.rule.option is not None and order.option == 0
    in_line = jobs * (1.0 - 1.0 / max(load, 1.0))
    if not plans or not early or in_line < LONG:
        return ()
    assert order.rule.option is not None
    about = f"{float(f'{in_line:.2g}'):,.0f}"
    return (
        f"{order.policy}: about {about} jobs will be in line at the end, and whenever one ends early the reservations "
        f"of all are looked at again, which takes minutes for a line of 10,000 and days for 100,000; "
        f"--{order.rule.option.name} 100 reserves for the first hundred only",
    )
