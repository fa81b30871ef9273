"""How soon the live page says something true, and what it holds after many changes: python benchmarks/explore_page.py

The server is started as `loynes explore` does, and asked over HTTP as its page asks; what a browser needs to draw comes
on top, and 40 ms in which the page gathers changes. Wall times mean little on a busy machine, so that the processor
time of server and workers up to the same events is told as well. A change is a new arrival rate. Latency is from
sending it to what is exact without a run, to the first bracket of the threshold (or the exact one), and to the first
bound of the waits (or first look, under another policy). Every change ends what the one before had begun, at 20 changes
a second as a dragged slider makes them; before that, single changes with a rest after each.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import loynes
from loynes.model import builtin_names

# What is opened, and under which policy: all built-in models, some under EASY, a cluster of nodes.
EXAMPLES = Path(__file__).parents[1] / "examples"
MODELS = {name: (name, "fcfs") for name in builtin_names()} | {
    "five-class-exponential, easy": ("five-class-exponential", "easy"),
    "borg-cell-b, easy": ("borg-cell-b", "easy"),
    "shared-nodes, easy": (str(EXAMPLES / "shared-nodes.toml"), "easy"),
}
# Of a drag: changes a second.
PACE = 20.0
# Seconds for what follows the first answer.
WARM = 10.0


class Served:
    """A server that was started as a user starts it."""

    def __init__(self, model: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "loynes", "explore", model, "--no-browser"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.where = urlsplit(self.process.stdout.readline().split()[-1])

    def workers(self) -> list[int]:
        asked = ["ps", "-o", "pid=", "--ppid", str(self.process.pid)]
        return [int(pid) for pid in subprocess.run(asked, capture_output=True, text=True).stdout.split()]

    def memory(self) -> float:
        """Of the server and its workers, resident, in MB."""
        text = [Path(f"/proc/{pid}/status").read_text() for pid in (self.process.pid, *self.workers())]
        return sum(int(one.split("VmRSS:")[1].split()[0]) for one in text) / 1000

    def seconds(self) -> float:
        """Processor time of the server and its workers until now, of all their threads."""
        total = 0
        for pid in (self.process.pid, *self.workers()):
            with suppress(FileNotFoundError, ProcessLookupError):  # a thread, or a worker, that has just ended
                for task in Path(f"/proc/{pid}/task").iterdir():
                    total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def connect(self) -> HTTPConnection:
        assert self.where.hostname is not None
        return HTTPConnection(self.where.hostname, self.where.port, timeout=300)

    def end(self) -> float:
        """As Ctrl-C does; seconds until nothing of it is left."""
        workers = self.workers()
        began = time.perf_counter()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        while any(Path(f"/proc/{pid}").exists() for pid in workers):
            time.sleep(0.01)
        return time.perf_counter() - began


class Asked:
    """One change: the request, and its events as they come."""

    def __init__(self, served: Served, state: dict[str, Any]) -> None:
        self.began = time.perf_counter()
        self.connection = served.connect()
        body = json.dumps({"state": state, "tab": "benchmark"})
        self.connection.request("POST", f"{served.where.path}api/answer", body, {"content-type": "application/json"})
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()

    def until(self, *kinds: str) -> dict[str, float]:
        """Seconds after the change at which each of these kinds of events came first; all must come."""
        found: dict[str, float] = {}
        while line := self.answer.readline():
            if line.startswith(b"data: "):
                found.setdefault(json.loads(line[6:])["kind"], time.perf_counter() - self.began)
            if all(kind in found for kind in kinds):
                return found
        raise RuntimeError(f"ended before {kinds}: {found}")

    def close(self) -> None:
        self.connection.close()


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {"median": statistics.median(ordered), "p95": ordered[int(0.95 * len(ordered))], "most": ordered[-1]}


def measured(subject: str, policy: str, changes: int, singles: int) -> dict[str, Any]:
    """Latencies of single changes and of a drag, memory before and after, and how soon all of it is gone."""
    served = Served(subject)
    state: dict[str, Any] = {}
    try:
        connection = served.connect()
        connection.request("GET", f"{served.where.path}api/start")
        state = json.loads(connection.getresponse().read())["state"]
        if policy:
            state["policy"] = policy
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", loynes.LoynesWarning)
            threshold = loynes.stability(state["model"], precision=0.05).threshold.estimate

        def at(number: int) -> dict[str, Any]:
            # Loads between 0.3 and 0.9, none twice.
            return state | {"rate": threshold * (0.3 + 0.6 * ((number * 0.6180339887498949) % 1.0))}

        first = Asked(served, at(0))
        ready = first.until("waits")["waits"]
        time.sleep(WARM)  # what follows is compiled, too, where it has never been
        first.close()
        alone = [_change(served, at(number)) for number in range(1, singles + 1)]
        memory = {"before": served.memory()}
        dragged, previous = [], None
        for number in range(singles + 1, singles + 1 + changes):
            began = time.perf_counter()
            asked = Asked(served, at(number))
            if previous is not None:
                previous.close()
            # The first bracket, or none where the next change comes sooner than that.
            dragged.append(asked.until("threshold")["threshold"])
            previous = asked
            time.sleep(max(1.0 / PACE - (time.perf_counter() - began), 0.0))
            if number == singles + changes // 2:
                memory["half-way"] = served.memory()
        assert previous is not None
        last = previous.until("waits")["waits"]
        previous.close()
        idle = _idle_after(served)
        memory["after"] = served.memory()
    finally:
        gone = served.end()
    return {
        "subject": subject, "policy": state["policy"], "ready": ready,
        "facts": spread([one["facts"] for one in alone]), "bracket": spread([one["threshold"] for one in alone]),
        "waits": spread([one["waits"] for one in alone]),
        "cpu_bracket": spread([one["cpu_threshold"] for one in alone]),
        "cpu_waits": spread([one["cpu_waits"] for one in alone]), "dragged": spread(dragged), "last_waits": last,
        "changes": changes, "memory_mb": memory, "idle_after_closing": idle, "gone_after_interrupt": gone,
    }  # fmt: skip


def _change(served: Served, state: dict[str, Any]) -> dict[str, float]:
    before = served.seconds()
    asked = Asked(served, state)
    found = asked.until("threshold")
    found["cpu_threshold"] = served.seconds() - before
    found |= asked.until("waits")
    found["cpu_waits"] = served.seconds() - before
    asked.close()
    time.sleep(0.2)  # what was begun has ended
    return found


def _idle_after(served: Served) -> float:
    """Seconds after the last connection was closed until the workers take no more processor time."""
    began = time.perf_counter()
    while True:
        before = _ticks(served)
        time.sleep(0.25)
        if _ticks(served) - before <= 1:
            return time.perf_counter() - began - 0.25


def _ticks(served: Served) -> int:
    fields = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in served.workers()]
    return sum(int(one[11]) + int(one[12]) for one in fields)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=1000, help="of a drag (1000)")
    parser.add_argument("--singles", type=int, default=50, help="changes with a rest after each (50)")
    parser.add_argument("--only", choices=MODELS, nargs="+", help="these alone")
    parser.add_argument("--log", help="a log besides, under the policy that it says")
    parser.add_argument("-o", "--output", type=Path, help="a JSON file")
    given = parser.parse_args()
    results = []
    wanted = {name: MODELS[name] for name in given.only or MODELS}
    if given.log:
        wanted[Path(given.log).name] = (given.log, "")
    for label, (subject, policy) in wanted.items():
        found = measured(subject, policy, given.changes, given.singles)
        results.append(found)
        print(f"{label}: {os.getloadavg()[0]:.1f} processes ready to run besides")
        for name in ("facts", "bracket", "waits", "cpu_bracket", "cpu_waits", "dragged"):
            print(f"  {name:12}", ", ".join(f"{k} {1000 * v:.0f} ms" for k, v in found[name].items()))
        print("  memory      ", ", ".join(f"{k} {v:.0f} MB" for k, v in found["memory_mb"].items()))
        print(f"  idle {found['idle_after_closing']:.1f} s after closing, gone {found['gone_after_interrupt']:.2f} s "
              "after an interrupt")  # fmt: skip
    if given.output:
        given.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
