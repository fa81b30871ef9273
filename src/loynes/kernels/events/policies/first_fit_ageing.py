"""First fit with ageing: whoever fits starts, in order of arrival, but nobody passes a job that has waited too long.

Until the head of the line has waited `age`, this is first fit; from then on nobody behind it starts before it does, so
no job starves that fits an empty floor. With age 0 it is first come, first served, with an infinite one first fit.
"""

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.mix import Mix
from loynes.kernels.events.policies.first_fit import first_that_fits
from loynes.kernels.events.policies.register import Option, policy
from loynes.kernels.events.view import any_idle, first_in_line, fits, waited

# Mean services that a job waits at most before nobody passes it, where nobody says for how long.
DEFAULT_AGE = 10.0


def age_of(mix: Mix) -> float:
    """The age that was said, or the default."""
    return float(DEFAULT_AGE * mix.mean_service if mix.option != mix.option else mix.option)


@policy(
    "first-fit-ageing",
    rank=5,
    by_class=True,
    prepare=age_of,
    option=Option("age", default=None, least=0, help="how long a job waits before nobody passes it; 10 mean services"),
    caveat="once the head of the line has waited long enough, it idles servers like fcfs",
    summary="whoever fits, in order of arrival; but nobody passes a job that has waited longer than `--age`",
)
def first_fit_ageing(floor, age):
    while any_idle(floor) and first_in_line(floor) != NOBODY:
        best = first_in_line(floor)
        if not fits(floor, best):
            if waited(floor, best) > age:
                return
            best = first_that_fits(floor)
            if best == NOBODY:
                return
        start(floor, best)
