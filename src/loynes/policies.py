"""What the author of a policy needs: the decorator, and the words in which a policy is written.

A policy is a function f(floor, option) that Numba can compile. It is called after every event (an arrival, or the end
of one or several jobs at one time) and starts whom it likes of the jobs in line:

    from loynes.policies import NOBODY, first_in_line, fits, policy, start

    @policy("strict", summary="the head of the line, when it fits")
    def strict(floor, option):
        while first_in_line(floor) != NOBODY and fits(floor, first_in_line(floor)):
            start(floor, first_in_line(floor))

Jobs are known by their slots, whole numbers; NOBODY stands for none, and may be given to no function. `examples/
my_policy.py` is a longer one, explained line by line.
"""

from loynes.kernels.events.floor import NOBODY, run, start, stop
from loynes.kernels.events.policies.register import Option, Policy, find_policy, helper, policies, policy
from loynes.kernels.events.view import (
    any_idle,
    believed_time,
    came_before,
    classes,
    could_fit,
    first_in_line,
    first_of_class,
    fits,
    idle,
    jobs_in_line,
    jobs_running,
    kinds,
    need,
    needed,
    next_in_line,
    note,
    now,
    remember,
    remembered,
    running_job,
    servers,
    set_note,
)

__all__ = [
    "NOBODY",
    "Option",
    "Policy",
    "any_idle",
    "believed_time",
    "came_before",
    "classes",
    "could_fit",
    "find_policy",
    "first_in_line",
    "first_of_class",
    "fits",
    "helper",
    "idle",
    "jobs_in_line",
    "jobs_running",
    "kinds",
    "need",
    "needed",
    "next_in_line",
    "note",
    "now",
    "policies",
    "policy",
    "remember",
    "remembered",
    "run",
    "running_job",
    "servers",
    "set_note",
    "start",
    "stop",
]
