"""A worker process: reads jobs from its standard input, answers on its standard output, a line of JSON each.

It ends when its input does, however its parent ended, so nothing is left running.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import Any, TextIO

from loynes.errors import LoynesError
from loynes.execution.deadline import Deadline
from loynes.explore.asked import LONGEST, WAITS, Asking
from loynes.explore.state import State, state_of
from loynes.questions.asking.question import Question
from loynes.questions.stability import Stability
from loynes.results.base import Result

# What is not wanted any more ends within about a tenth of a second: a slider that is dragged asks 20 times a second.
SOON = 0.04
# Thresholds that are kept: of a model as it was before the last changes, and after.
KEPT = 8
# What kernels are compiled, or read from the cache, for before the first change: of laws that are sampled, in a chain
# too large to be solved at once.
WARM = {"servers": 16, "classes": [{"name": f"need-{k}", "need": k, "probability": 0.25, "service": {"law": "lognormal",
        "mean": 1.0, "cv": 1.0}} for k in (1, 2, 5, 16)]}  # fmt: skip


class Worker:
    """Does the latest job that it was given; one that is not wanted any more is ended."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._jobs = out, queue.SimpleQueue[dict[str, Any]]()
        self._deadline, self._stopped, self._lock = Deadline(), 0, threading.Lock()
        self._thresholds: dict[str, Result] = {}

    def listen(self, lines: TextIO) -> None:
        """In a thread of its own: jobs are put in line, `stop` ends the one that runs."""
        for line in lines:
            asked = json.loads(line)
            if "stop" in asked:
                with self._lock:
                    self._stopped = max(self._stopped, int(asked["stop"]))
                    self._deadline.stop()
            else:
                self._jobs.put(asked)
        os._exit(0)

    def work(self) -> None:
        while True:
            self.do(self._jobs.get())

    def do(self, asked: dict[str, Any]) -> None:
        number = int(asked["job"])
        try:
            state = state_of(asked["state"])
            if asked.get("report"):
                self._report(number, state)
            else:
                self._answer(number, state, asked)
        except LoynesError as error:
            self.say(number, {"kind": "error", "text": str(error)})
        except KeyboardInterrupt:
            pass  # what ending a question early is called where nothing was known yet
        except Exception as error:  # a mistake of ours ends this job, not the worker
            self.say(number, {"kind": "error", "text": f"a mistake in loynes itself: {type(error).__name__}: {error}"})
        self.say(number, {"kind": "done"})

    def _answer(self, number: int, state: State, asked: dict[str, Any]) -> None:
        def ask(question: Question) -> Result:
            return self._kept(number, question) if isinstance(question, Stability) else self._asked(number, question)

        for event in Asking(state, tuple(asked.get("also", ())), ask, asked.get("of")).events():
            self.say(number, event)

    def _kept(self, number: int, question: Question) -> Result:
        """The answer from before, if it was asked lately: a change of the rate changes no threshold."""
        key = question.model_dump_json()
        if key not in self._thresholds:
            self._thresholds[key] = self._asked(number, question)
            if len(self._thresholds) > KEPT:
                del self._thresholds[next(iter(self._thresholds))]
        return self._thresholds[key]

    def _asked(self, number: int, question: Question) -> Result:
        from loynes.questions.asking.ask import ask

        with self._lock:
            if number <= self._stopped:
                raise KeyboardInterrupt
            self._deadline = deadline = Deadline(LONGEST, soon=SOON)
        result = ask(question, deadline=deadline)
        if deadline.asked:
            raise KeyboardInterrupt
        return result

    def _report(self, number: int, state: State) -> None:
        from loynes.questions.evaluate import Evaluate
        from loynes.report import page

        question = Evaluate.of(state.cluster, rate=state.rate, policy=state.policy, seed=state.seed, time=LONGEST)
        self.say(number, {"kind": "report", "page": page(self._asked(number, question))})

    def say(self, number: int, event: dict[str, Any]) -> None:
        self._out.write(json.dumps({"job": number} | event, allow_nan=False) + "\n")
        self._out.flush()


def warm() -> None:
    """Answer the first questions of a state, so that what they need is compiled and loaded before anybody waits."""
    from loynes.questions.asking.ask import ask

    state = state_of({"model": WARM, "rate": 1.0})
    for event in Asking(state, (), ask).events():
        if event.get("precision") == WAITS[0]:
            return


def main() -> None:
    # Whatever else prints must not come between the answers.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    worker = Worker(out)
    threading.Thread(target=worker.listen, args=(sys.stdin,), daemon=True).start()
    warm()
    worker.say(0, {"kind": "ready"})
    worker.work()


if __name__ == "__main__":
    main()
