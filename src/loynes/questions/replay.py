"""What would a recorded workload have met on this cluster, first come, first served or under another policy?"""

from __future__ import annotations

from typing import ClassVar

from loynes.execution.context import Context
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.replayed import ReplayedLog
from loynes.results.records.replay import Replay

WINDOWS = 24


class AskReplay(ReplayedLog):
    """Run a recorded workload: first come, first served by the recurrence, or event by event under another policy.

    `trace` is a job log, or what `read_trace` reads. `servers` is by default what the log's header says; jobs that
    need more are skipped and counted. With `resources`, such as {"cpu": 640, "gpu": 64}, jobs need what the log says
    of each, and start when there is enough of all. With `nodes` of which each `has` so much, or the `nodes_of` a
    model file, a job is tasks that each run on one node: one for every node that the log says it had, or else as few
    as fit; `placement` says which node a task takes. No user holds more than `user_limit` at once, where that is
    given: 64, or {"gpu": 8}; and `user_borrow` beyond it while others leave it of theirs. `classes` names a label of
    the trace to group jobs by, instead of their need. `windows` is how many equal windows of time the series has
    (24). Time averages are over the time from the first submission to the last end. Policies are those of `simulate`;
    those that believe in run times believe in the requested ones where the log has them, and else in the true ones;
    or in `inflation` times the true ones, in what they `predict`, or in guesses that are too long at random
    (`overestimate`). What-ifs change the jobs: `scale`, `max_need` and what becomes of `larger` jobs, `without`,
    `run_times`, `limits`, `kill_at_limit`, `to_night`; or take servers away for a time, `outages`.
    """

    command: ClassVar[str] = "replay"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes replay log.swf.gz --servers 128 --by queue",
        "loynes replay log.swf.gz --policy easy",
        "loynes replay jobs.sacct --resources cpu=640,gpu=64 --policy easy",
        "loynes replay jobs.sacct --nodes 16 --has cpu=64,gpu=4 --policy easy",
        "loynes replay jobs.csv --servers 64 --column submit=arrival_time --column need=cores -o jobs.parquet",
    )

    def answer(self, context: Context) -> Replay:
        context.progress(0.0, "reading")
        # Compiled code is loaded only now: a file that cannot be read is refused at once.
        from loynes.questions.answering.replaying import Replayer

        replayer = Replayer(self)
        order = replayer.order(self.policy)
        context.progress(0.5, f"{replayer.log.jobs} jobs")
        return replayer.run(order, replayer.cluster(), self.windows or WINDOWS, context)


replay = Ask(AskReplay, Replay)
