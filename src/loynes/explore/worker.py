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

from loynes.errors import LoynesError, UnstableError
from loynes.execution.deadline import Deadline
from loynes.explore.asked import Step, steps_of, told
from loynes.explore.state import State, state_of

# A question that takes longer ends with what is known by then, and says so.
LONGEST = 120.0
# What kernels are compiled, or read from the cache, for before the first change.
WARM = {"servers": 4, "classes": [{"name": n, "need": k, "probability": 0.5, "service": {"law": "exponential",
        "mean": 1.0}} for n, k in (("a", 1), ("b", 4))]}  # fmt: skip


class Worker:
    """Does the latest job that it was given; one that is not wanted any more is ended."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._jobs = out, queue.SimpleQueue[dict[str, Any]]()
        self._deadline, self._stopped, self._lock = Deadline(), 0, threading.Lock()

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
                self._answer(number, state, tuple(asked.get("also", ())))
        except LoynesError as error:
            self.say(number, {"kind": "error", "text": str(error)})
        except KeyboardInterrupt:
            pass  # what ending a question early is called where nothing was known yet
        except Exception as error:  # a mistake of ours ends this job, not the worker
            self.say(number, {"kind": "error", "text": f"a mistake in loynes itself: {type(error).__name__}: {error}"})
        self.say(number, {"kind": "done"})

    def _answer(self, number: int, state: State, also: tuple[Any, ...]) -> None:
        precise = float("inf")
        for step in steps_of(state, also):
            if isinstance(step, LoynesError):
                self.say(number, {"kind": "remark", "text": str(step)})
                continue
            # Another precision is asked for only where it is not there yet; the last always.
            if step.kind == "waits" and precise <= step.question.precision and step.question.precision > 0.01:  # type: ignore[attr-defined]
                continue
            try:
                result = self._asked(number, step)
            except UnstableError as error:
                self.say(number, {"kind": step.kind, "name": step.name, "unstable": str(error)})
                precise = 0.0 if step.kind == "waits" else precise
                continue
            except LoynesError as error:
                self.say(number, {"kind": step.kind, "name": step.name, "error": str(error)})
                continue
            if step.kind == "waits":
                precise = result.overall.wait.mean.relative
            self.say(number, told(step, result))

    def _asked(self, number: int, step: Step) -> Any:
        from loynes.questions.asking.ask import ask

        with self._lock:
            if number <= self._stopped:
                raise KeyboardInterrupt
            self._deadline = deadline = Deadline(LONGEST)
        result = ask(step.question, deadline=deadline)
        if deadline.asked:
            raise KeyboardInterrupt
        return result

    def _report(self, number: int, state: State) -> None:
        from loynes.questions.evaluate import Evaluate
        from loynes.report import page

        question = Evaluate.of(state.cluster, rate=state.rate, policy=state.policy, seed=state.seed)
        result = self._asked(number, Step("report", "", question))
        self.say(number, {"kind": "report", "page": page(result)})

    def say(self, number: int, event: dict[str, Any]) -> None:
        self._out.write(json.dumps({"job": number} | event, allow_nan=False) + "\n")
        self._out.flush()


def main() -> None:
    # Whatever else prints must not come between the answers.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    worker = Worker(out)
    threading.Thread(target=worker.listen, args=(sys.stdin,), daemon=True).start()
    silent = Worker(open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    silent.do({"job": 1, "state": {"model": WARM, "rate": 0.3}})
    worker.say(0, {"kind": "ready"})
    worker.work()


if __name__ == "__main__":
    main()
