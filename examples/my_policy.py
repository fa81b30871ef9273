"""A policy of one's own: first fit, but the head of the line is passed only so many times.

First fit lets small jobs pass a big one for ever. Here every job that starts from behind the head of the line is
counted, and after `passes` of them nobody starts until the head does. With 0 passes this is first come, first served;
with very many, first fit.

    loynes simulate five-class-exponential --policy examples/my_policy.py --load 0.75

    import loynes
    loynes.simulate("five-class-exponential", policy="examples/my_policy.py", load=0.75)
"""

from loynes.policies import (
    NOBODY,
    Option,
    any_idle,
    first_in_line,
    fits,
    helper,
    next_in_line,
    note,
    policy,
    set_note,
    start,
)


# A function that the policy calls is a `helper`, or Numba could not compile the call.
@helper
def start_head_while_it_fits(floor):
    """`floor` is the cluster now. A job is a whole number, its slot; NOBODY says that there is none."""
    while first_in_line(floor) != NOBODY and fits(floor, first_in_line(floor)):
        start(floor, first_in_line(floor))  # it leaves the line for its servers


# The name is what --policy and tables call it. An option is one whole number that the user may choose; `least` is the
# smallest. `summary` is the line in tables. A policy whose choices depend on `believed_time` says
# `believes_run_times=True`; one that asks `first_of_class` says `by_class=True`.
@policy(
    "bounded-passing",
    option=Option("passes", default=10, least=0, help="how often the head of the line may be passed"),
    summary="whoever fits, in order of arrival, until the head of the line has been passed `--passes` times",
)
def bounded_passing(floor, passes):
    """Called after every event; every job in line may be started, as long as it fits."""
    start_head_while_it_fits(floor)
    head = first_in_line(floor)
    if head == NOBODY:
        return
    slot = next_in_line(floor, head)
    # A note is a whole number that stays with a job, 0 when it arrives: here, how often it has been passed.
    while slot != NOBODY and note(floor, head) < passes and any_idle(floor):
        behind = next_in_line(floor, slot)  # before it starts: a job that runs is not in line
        if fits(floor, slot):
            start(floor, slot)
            set_note(floor, head, note(floor, head) + 1)
        slot = behind
