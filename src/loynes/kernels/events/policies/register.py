"""The register of policies: the facts the engine needs of each, and how one is found by name, file or function."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import math
import pickle
import pkgutil
import types
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from numba.core import serialize
from numba.core.dispatcher import Dispatcher

from loynes.errors import UsageError
from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.events.mix import Mix
from loynes.kernels.events.policies.digest import digest_of
from loynes.reading import MOST_OF_A_MODEL, read_bytes

PACKAGE = __name__.rpartition(".")[0]


@dataclass(frozen=True)
class Option:
    """The one number that a policy may take: a whole one, or a time; without a default `prepare` computes it."""

    name: str
    default: int | None
    help: str
    least: int = 1


@dataclass(frozen=True)
class Policy:
    """A rule for who starts next, and what the engine has to provide for it.

    `schedule(floor, option)` is compiled and called after every event; it starts jobs. A policy that is computed for
    the jobs that come has a `prepare`: from a `Mix` it makes what every replica's `schedule` gets in place of the
    option, a number or a NamedTuple of arrays.

    The digest tells policies of one name apart; those that come with the package have none, as the fingerprint of all
    kernels covers them.
    """

    name: str
    schedule: Any = field(compare=False, repr=False)
    summary: str = field(default="", compare=False)  # who starts, in one line of a table
    reference: str = field(default="", compare=False)
    caveat: str = field(default="", compare=False)  # what speaks most against it, wherever it is used
    option: Option | None = None
    believes_run_times: bool = False  # its choices depend on how long it believes jobs to take
    by_class: bool = False  # it needs lines by class
    timetable: bool = False  # it needs room for a timetable
    seeks: bool = False  # it seeks those who may start in the whole line: a long one is kept in blocks
    promises: bool = False  # the head of the line has a reservation, which is kept from event to event
    asks_again: bool = False  # it may want to be asked when nothing happens (`ask_again`), as those with a timetable do
    keeps_place: bool = False  # running jobs keep their place in line, and may be stopped
    identical_servers_only: bool = False
    priorities: bool = True  # they go before what it chooses by; else it knows none
    prepare: Callable[[Mix], Any] | None = field(default=None, compare=False, repr=False)
    # From the needs of all classes and the number of servers to warnings: what the policy does not promise there.
    check: Callable[[list[int], int], tuple[str, ...]] | None = field(default=None, compare=False, repr=False)
    rank: int = field(default=100, compare=False)  # its place in tables; equals are in order of their names
    digest: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        """The name, and for a user's policy a part of the digest: other code under the same name has another key."""
        return f"{self.name} {self.digest[:16]}" if self.digest else self.name

    @property
    def default_option(self) -> float:
        """The option's default, 1 where there is none to give, and not a number where it is computed."""
        if self.option is None:
            return 1
        return math.nan if self.option.default is None else self.option.default

    def given(self, mix: Mix) -> Any:
        """What `schedule` gets beside the floor."""
        return mix.option if self.prepare is None else self.prepare(mix)

    def refuses(
        self, *, quotas: bool = False, restarts: bool = False, priorities: bool = False, announced: bool = False
    ) -> str:
        """Why it cannot serve where there are quotas, stopped jobs begin anew, priorities differ, or losses are
        announced; nothing if it can."""
        reason = ""
        if quotas and self.keeps_place:
            reason = "it stops jobs by itself, and knows no quotas"
        elif restarts and self.keeps_place:
            reason = "jobs that it stops go on where they were, so preemption must be 'never' or 'resume'"
        elif announced and self.keeps_place:
            reason = "it may stop jobs at any time, and does not plan around announced maintenance"
        elif priorities and not self.priorities:
            reason = "it chooses by needs alone, and knows no priorities: leave priority out, or let all have the same"
        return f"policy {self.name!r}: {reason}" if reason else ""

    def warnings(self, needs: list[int], servers: int) -> tuple[str, ...]:
        """What this policy does not promise for jobs of such needs on so many identical servers."""
        return () if self.check is None else self.check(needs, servers)

    def __reduce__(self) -> tuple[Any, ...]:
        """Built-in ones travel by name. A user's file may be nowhere on the other machine, so its code travels."""
        if not self.digest:
            return find_policy, (self.name,)
        return _restored, (serialize.dumps({one.name: getattr(self, one.name) for one in fields(self)}),)


def _restored(data: bytes) -> Policy:
    return Policy(**pickle.loads(data))


_register: dict[str, Policy] = {}


def policy(name: str, **facts: Any) -> Callable[[Callable[..., Any]], Any]:
    """The decorator that registers a function f(floor, option); `facts` are the fields of `Policy`.

    The function is compiled, and may be called by other policies. A name that the package uses cannot be taken; a
    user's own is replaced, as a file may be changed and read again.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        made = _register[name] = _made(name, function, **facts)
        schedule: Callable[..., Any] = made.schedule
        return schedule

    return register


def policies() -> dict[str, Policy]:
    """All policies by name: those of the package, then those that were registered since."""
    _import_built_in()
    return {one.name: one for one in sorted(_register.values(), key=lambda one: (one.rank, one.name))}


def find_policy(given: str | Path | Policy | Callable[..., Any]) -> Policy:
    """A policy from its name, a file (.py) that registers one, or a function f(floor, option), compiled or not."""
    if isinstance(given, Policy):
        return given
    if isinstance(given, str | Path):
        if str(given).endswith(".py"):
            return _from_file(Path(given))
        known = policies()
        if str(given) not in known:
            raise UsageError(f"policy {str(given)!r}: must be one of {', '.join(known)}, or a file that ends in .py")
        return known[str(given)]
    if not callable(given):
        raise UsageError(f"policy {given!r}: must be a name, a file that ends in .py, or a function f(floor, option)")
    for one in policies().values():
        if given is one.schedule:
            return one
    summary = (inspect.getdoc(given) or "").partition("\n")[0]
    return _made(given.__name__.strip("<>").replace("_", "-"), given, summary=summary)


def markdown_table() -> list[str]:
    """All policies as the rows of a table: name, who starts, reference."""
    rows = [f"| `{one.name}` | {one.summary} | {one.reference} |".replace("|  |", "| |") for one in policies().values()]
    return ["| policy | who starts | reference |", "| --- | --- | --- |", *rows]


@functools.cache
def _import_built_in() -> None:
    """Every module of the package is imported, and so registers what it has."""
    for module in pkgutil.iter_modules(importlib.import_module(PACKAGE).__path__):
        importlib.import_module(f"{PACKAGE}.{module.name}")


def _made(name: str, function: Callable[..., Any], **facts: Any) -> Policy:
    built_in = (function.__module__ or "").startswith(f"{PACKAGE}.")
    if not built_in and name in policies() and not policies()[name].digest:
        raise UsageError(f"policy {name!r}: the package has one of that name; choose another")
    plain: Any = function.py_func if isinstance(function, Dispatcher) else function
    if len(inspect.signature(plain).parameters) != 2:
        raise UsageError(f"policy {name!r}: must be a function of two arguments, f(floor, option)")
    digest = "" if built_in else digest_of(plain)
    # The loop that calls it is cached on disk, with this in it. What its author has compiled may make arrays.
    counted = isinstance(function, Dispatcher)
    schedule = compiled(_renamed(plain, digest), counted=counted, inlined=not counted, cached=False)
    return Policy(name, schedule, digest=digest, **facts)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """The decorator of a function that a user's policy calls; it may make no arrays."""
    return compiled(_renamed(function, digest_of(function)), counted=False, inlined=True, cached=False)


def _renamed(function: Any, digest: str) -> Any:
    """A copy with the digest in its name, in a module that can be imported wherever the compiled code is read again.

    Functions of one name would share symbols where both are read from a cache, and the reader imports their modules.
    """
    if not digest:
        return function
    copy = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__qualname__ = f"{function.__name__}_{digest[:16]}"
    copy.__doc__, copy.__module__ = function.__doc__, __name__
    return copy


def _from_file(path: Path) -> Policy:
    """The one policy that a file registers."""
    if not path.is_file():
        raise UsageError(f"policy {str(path)!r}: there is no such file")
    try:
        read_bytes(path, MOST_OF_A_MODEL)
    except OSError as error:
        raise UsageError(f"policy {str(path)!r}: cannot be read: {error.strerror}") from None
    before = policies()
    spec = importlib.util.spec_from_file_location(f"policy_file_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"policy {str(path)!r}: cannot be read: {type(error).__name__}: {error}") from error
    new = [one for name, one in _register.items() if before.get(name) is not one]
    if len(new) != 1:
        many = f"registers {len(new)} policies ({', '.join(one.name for one in new)})" if new else "registers none"
        raise UsageError(f"policy {str(path)!r}: {many}; decorate one function with @policy(name)")
    return new[0]
