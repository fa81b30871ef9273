"""What a threshold is at least and at most because jobs have to wait for servers, whatever their services are like.

Strictly in turn, somebody waits only if fewer servers are free than he needs. Let all needs be multiples of g; then
servers are taken g at a time only, and of s there are s' = floor(s / g) such groups. The job at the head of the line
needs at most a' groups, so while he waits at most a' - 1 are free and at least s' - a' + 1 are busy. A pile of n jobs
in which somebody waits until the last one starts, at the time T, has had at least g (s' - a' + 1) T of its server time
done by then, and at most g s' T. Over n, with T / n -> 1 / threshold and the server time of a job w on average,

    g (s' - a' + 1) / w  <=  threshold  <=  g s' / w.

That is exact if all jobs need the same, and narrow wherever needs are small beside the cluster: the more servers there
are, where piles are dear.
"""

from __future__ import annotations

import math

from loynes.model.cluster import Model


def bounds(model: Model) -> tuple[float, float]:
    """The least and the most that the threshold can be, by the work of its jobs alone; 0 for no lower end.

    Of several kinds of servers one may wait while others idle, and so does who waits for particular ones; servers that
    are drawn blindly may idle beside a line. Then nothing is known but the ideal rate.
    """
    if len(model.units) > 1 or model.order == "random" or any(sum(model.specific(c)) for c in model.classes):
        return 0.0, model.ideal
    needs = [model.need(c) for c in model.classes if c.probability > 0]
    together = math.gcd(*needs)
    groups, most = model.servers // together, max(needs) // together
    least, most_busy = (together * busy / model.servers for busy in (groups - most + 1, groups))
    return least * model.ideal, most_busy * model.ideal
