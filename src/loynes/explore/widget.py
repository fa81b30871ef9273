"""The live page as a widget in a notebook: the same page and service, with messages in place of requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import anywidget

from loynes.errors import LoynesError
from loynes.explore.pages import bundled
from loynes.explore.service import Service


class Explorer(anywidget.AnyWidget):
    """A model as a page whose numbers follow every change; worker processes compute, in the kernel's machine.

    They start with the first view, and end with the last one, with `close()`, or with the kernel.
    """

    _esm = bundled()

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._loop = asyncio.new_event_loop()
        self._views: set[str] = set()
        self._turn = asyncio.Lock()
        # A loop of its own: cells that compute for long do not hold up the page.
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.on_msg(self._heard)

    @property
    def state(self) -> dict[str, Any]:
        """What the page began with, as plain data."""
        return self._service.state.model_dump(exclude_none=True)

    def close(self) -> None:
        """End the page's work and its workers."""
        if self._loop.is_running():
            asyncio.run_coroutine_threadsafe(self._service.workers.close(), self._loop).result(10)
            self._loop.call_soon_threadsafe(self._loop.stop)
        super().close()

    def _heard(self, _: Any, message: dict[str, Any], buffers: Any = None) -> None:
        """A message of the page: begin what it asks for, or end it."""
        call, path = str(message.get("call", ""))[:100], message.get("path")
        body = message.get("body")
        self._loop.call_soon_threadsafe(self._begin, call, path, body if isinstance(body, dict) else {})

    def _begin(self, call: str, path: Any, body: dict[str, Any]) -> None:
        whose = call.split(" ")[0]
        if path in ("cancel", "leave"):
            for number, task in list(self._jobs.items()):
                if number == call or (path == "leave" and number.split(" ")[0] == whose):
                    task.cancel()
            if path == "leave":
                self._views.discard(whose)
                self._keep(self._loop.create_task(self._rest()), "rest")
            return
        self._views.add(whose)
        self._keep(self._loop.create_task(self._done(call, path, body)), call)

    def _keep(self, task: asyncio.Task[None], call: str) -> None:
        self._jobs[call] = task
        task.add_done_callback(lambda _: self._jobs.pop(call, None))

    async def _done(self, call: str, path: Any, body: dict[str, Any]) -> None:
        try:
            async with self._turn:
                if not self._service.workers.processes:
                    await self._service.workers.start()
            self.send({"call": call, "value": await self._value(call, path, body)})
        except LoynesError as error:
            self.send({"call": call, "error": str(error)})

    async def _rest(self) -> None:
        """Without a view there is nothing to work for, as where a cell is run again."""
        async with self._turn:
            if not self._views:
                await self._service.workers.close()

    def _value(self, call: str, path: Any, body: dict[str, Any]) -> Coroutine[Any, Any, Any]:
        async def at_once(value: Any) -> Any:
            return value

        match path:
            case "start":
                return at_once(self._service.start())
            case "import":
                return at_once(self._service.take(body))
            case "export":
                return self._service.export(body)
            case "answer":
                return self._answer(call, body)
            case _:
                return at_once(None)

    async def _answer(self, call: str, body: dict[str, Any]) -> None:
        facts, job = self._service.answer(body)
        try:
            self.send({"call": call, "event": facts})
            async for event in job:
                self.send({"call": call, "event": event})
        finally:
            job.cancel()
