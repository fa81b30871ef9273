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

from loynes.kernels.events.floor import NOBODY as NOBODY
from loynes.kernels.events.floor import run as run
from loynes.kernels.events.floor import start as start
from loynes.kernels.events.floor import stop as stop
from loynes.kernels.events.policies.register import Option as Option
from loynes.kernels.events.policies.register import Policy as Policy
from loynes.kernels.events.policies.register import find_policy as find_policy
from loynes.kernels.events.policies.register import helper as helper
from loynes.kernels.events.policies.register import policies as policies
from loynes.kernels.events.policies.register import policy as policy
from loynes.kernels.events.view import any_idle as any_idle
from loynes.kernels.events.view import believed_time as believed_time
from loynes.kernels.events.view import came_before as came_before
from loynes.kernels.events.view import class_of as class_of
from loynes.kernels.events.view import classes as classes
from loynes.kernels.events.view import could_fit as could_fit
from loynes.kernels.events.view import first_in_line as first_in_line
from loynes.kernels.events.view import first_of_class as first_of_class
from loynes.kernels.events.view import fits as fits
from loynes.kernels.events.view import idle as idle
from loynes.kernels.events.view import jobs_in_line as jobs_in_line
from loynes.kernels.events.view import jobs_running as jobs_running
from loynes.kernels.events.view import kinds as kinds
from loynes.kernels.events.view import need as need
from loynes.kernels.events.view import needed as needed
from loynes.kernels.events.view import next_in_line as next_in_line
from loynes.kernels.events.view import note as note
from loynes.kernels.events.view import now as now
from loynes.kernels.events.view import remember as remember
from loynes.kernels.events.view import remembered as remembered
from loynes.kernels.events.view import running_job as running_job
from loynes.kernels.events.view import servers as servers
from loynes.kernels.events.view import set_note as set_note
from loynes.kernels.events.view import waited as waited
