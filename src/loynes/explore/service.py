"""What the page can ask for, whichever way its requests come: over HTTP, or from a notebook's front end."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from typing import Any, get_args

from loynes._version import __version__
from loynes.errors import LoynesError, UsageError
from loynes.explore.asked import facts_of
from loynes.explore.state import LONGEST_NAME, Also, Form, State, exported, first_state, imported, state_of
from loynes.explore.work import Job, Workers
from loynes.model import load


class NotThereError(LoynesError):
    """There is no answer to give."""


@dataclass(frozen=True)
class Recorded:
    """Of a page about a log: what it is, and the mean waits that its own jobs had when they were run again."""

    source: str
    jobs: int
    skipped: int
    process: str
    policy: str
    waits: dict[str, Any]  # by class, and of all jobs: estimate, low, high, text


@dataclass(frozen=True)
class Service:
    """Requests as plain data, answers as plain data; whatever is wrong with one is a LoynesError."""

    state: State
    workers: Workers
    recorded: Recorded | None = None

    def start(self) -> dict[str, Any]:
        """What a page begins with."""
        from loynes.kernels.events.policies import policies

        return {
            "state": self.state.model_dump(exclude_none=True), "version": __version__, "policies": list(policies()),
            "recorded": None if self.recorded is None else asdict(self.recorded),
        }  # fmt: skip

    def answer(self, given: dict[str, Any]) -> tuple[dict[str, Any], Job]:
        """What is known at once, and the job whose events are the rest. BusyError where too many ask."""
        asked = checked(given.get("state"))
        tab = str(given.get("tab", ""))[:LONGEST_NAME]
        wanted = given.get("also")
        also = [name for name in get_args(Also) if isinstance(wanted, list) and name in wanted]
        of = given.get("of")
        sent = {"state": asked.model_dump(exclude_none=True), "also": also,
                "of": of if isinstance(of, str) else None}  # fmt: skip
        return facts_of(asked), self.workers.submit(tab, sent)

    async def export(self, given: dict[str, Any]) -> str:
        """The state in the form that is asked for."""
        asked, form = checked(given.get("state")), given.get("form")
        if form == "report":
            return await self._report(asked)
        for known in get_args(Form):
            if form == known:
                return exported(asked, known)
        raise UsageError(f"form: must be one of report, {', '.join(get_args(Form))}")

    def take(self, given: dict[str, Any]) -> dict[str, Any]:
        """The state that a model file begins with."""
        model = load(imported(str(given.get("text", ""))))
        return first_state(model).model_dump(exclude_none=True)

    async def _report(self, state: State) -> str:
        """The page that `loynes report` would write of this state."""
        sent = {"state": state.model_dump(exclude_none=True), "report": True}
        job = self.workers.submit(f"report {secrets.token_hex(4)}", sent)
        try:
            async for event in job:
                if event["kind"] == "report":
                    return str(event["page"])
                if event["kind"] == "error":
                    raise UsageError(event["text"])
        finally:
            job.cancel()
        raise NotThereError("the report was not finished; ask again")


def checked(given: object) -> State:
    """The state that was sent, with all that is in it: the model of a pinned state, too."""
    state = state_of(given)
    if state.pinned is not None:
        _ = state.pinned.cluster
    return state
