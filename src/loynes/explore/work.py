"""Worker processes, seen from the server: every tab has at most one job, and its latest change wins."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any

from loynes.errors import UsageError

WORKERS = 2
# Tabs that may wait at once; more are sent away.
MOST_WAITING = 32
# Seconds that a worker has to end what is not wanted any more; then it is killed, and another one takes its place. That
# it ends at once is the rule; but what is being compiled is lost if it is killed.
GRACE = 10.0
# An answer is a line; a report is the longest.
LONGEST_LINE = 1 << 25
# With the last event of a job: it was answered, another one of the same tab came, or its worker ended.
LAST = ("done", "replaced", "lost")


class BusyError(UsageError):
    """More at once than is taken."""


class Job:
    """What one tab wants to know, and the answers as they come."""

    def __init__(self, workers: Workers, number: int, tab: str, request: dict[str, Any]) -> None:
        self._workers, self.number, self.tab, self.request = workers, number, tab, request
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.ended = False

    def add(self, event: dict[str, Any]) -> None:
        """Another event, unless the last has been."""
        if not self.ended:
            self.ended = event["kind"] in LAST
            self._events.put_nowait(event)

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        """All events up to the last."""
        while True:
            event = await self._events.get()
            yield event
            if event["kind"] in LAST:
                return

    def cancel(self) -> None:
        """Nobody wants to know any more."""
        self._workers.cancel(self)


class Workers:
    """A few worker processes, and the line of jobs before them, one a tab."""

    def __init__(self, count: int = WORKERS) -> None:
        self._count, self._number = count, 0
        self._all: list[_Worker] = []
        self._waiting: dict[str, Job] = {}

    async def start(self) -> None:
        self._all = [_Worker(self) for _ in range(self._count)]
        await asyncio.gather(*(one.start() for one in self._all))

    async def close(self) -> None:
        """End all of them, at once; they may be started again."""
        ended, self._all = self._all, []
        await asyncio.gather(*(one.close() for one in ended))

    @property
    def processes(self) -> list[int]:
        """Their process numbers."""
        return [one.process.pid for one in self._all if one.process is not None]

    @property
    def busy(self) -> int:
        """How many of them have a job."""
        return sum(one.job is not None for one in self._all)

    def submit(self, tab: str, request: dict[str, Any]) -> Job:
        """A job for a tab, in place of the one that it had. BusyError where too many tabs wait."""
        for older in [*self._waiting.values(), *(one.job for one in self._all)]:
            if older is not None and older.tab == tab:
                self.cancel(older)
        if len(self._waiting) >= MOST_WAITING:
            raise BusyError("too many tabs ask at once; close some")
        self._number += 1
        job = Job(self, self._number, tab, request)
        self._waiting[tab] = job
        self.dispatch()
        return job

    def cancel(self, job: Job) -> None:
        """Take a job out of the line, or end it where it is being done."""
        job.add({"kind": "replaced"})
        if self._waiting.get(job.tab) is job:
            del self._waiting[job.tab]
        for one in self._all:
            if one.job is job:
                one.stop()

    def dispatch(self) -> None:
        """Give waiting jobs to workers that have none, the one that waits longest first."""
        for one in self._all:
            if self._waiting and one.idle:
                tab = next(iter(self._waiting))
                one.give(self._waiting.pop(tab))


class _Worker:
    """One process; when it ends by itself, or does not stop when asked, another one takes its place."""

    def __init__(self, workers: Workers) -> None:
        self._workers, self._ready, self._closed = workers, False, False
        self.process: Process | None = None
        self.job: Job | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def idle(self) -> bool:
        return self._ready and self.job is None

    async def start(self) -> None:
        # A session of its own: an interrupt at the prompt is for the server, which ends the workers itself.
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "loynes.explore.worker", stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
            start_new_session=True, limit=LONGEST_LINE, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        self._begin(self._read(self.process))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            event = json.loads(line)
            number = event.pop("job")
            if event["kind"] == "ready":
                self._ready = True
            elif self.job is not None and number == self.job.number:
                job, self.job = self.job, None if event["kind"] == "done" else self.job
                job.add(event)
            self._workers.dispatch()
        await process.wait()
        self._ready = False
        if self.job is not None:
            self.job.add({"kind": "lost"})
            self.job = None
        if not self._closed:
            await asyncio.sleep(0.2)
        if not self._closed:
            await self.start()

    def give(self, job: Job) -> None:
        self.job = job
        self._send({"job": job.number} | job.request)

    def stop(self) -> None:
        """Ask for the end of the job; where that takes too long, the process is killed."""
        if self.job is None or self.process is None:
            return
        self._send({"stop": self.job.number})
        asyncio.get_running_loop().call_later(GRACE, self._kill_if_still, self.job, self.process)

    def _kill_if_still(self, job: Job, process: Process) -> None:
        if self.job is job and self.process is process and process.returncode is None:
            process.kill()

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(ConnectionError, RuntimeError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def close(self) -> None:
        self._closed = True
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
