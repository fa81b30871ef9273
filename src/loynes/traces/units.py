"""What a server is: of the resources that a log tells of, the one that counts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from loynes.arrays import Array
from loynes.errors import UsageError
from loynes.traces.ledger import Ledger

# As people write them -> as demands are named.
_ONE = {"nodes": "node", "hosts": "node", "cpus": "cpu", "cores": "cpu", "processors": "cpu", "gpus": "gpu",
        "memory": "mem"}  # fmt: skip
_MANY = {"node": "nodes", "cpu": "cpus", "gpu": "gpus"}
# What schedulers reserve but nobody calls a server, unless asked to.
NOT_SERVERS = ("mem",)


def resource_named(text: str) -> str:
    """nodes, cpus, gpus, ... as demands are named: node, cpu, gpu."""
    name = text.strip().lower()
    return _ONE.get(name, name)


def unit_named(resource: str) -> str:
    """What needs are called that are counted in a resource."""
    return _MANY.get(resource, resource)


def chosen(demand: Mapping[str, Array], unit: str | None, standard: str | None, ledger: Ledger) -> str:
    """The resource that counts: the one asked for; else the standard one of the format, or the only one there is.

    Where a log tells of GPUs as well, or of several resources none of which is the standard, somebody has to say.
    """
    choices = ", ".join(unit_named(name) for name in demand)
    if unit is not None:
        name = resource_named(unit)
        if name not in demand:
            raise UsageError(f"unit {unit!r}: {ledger.source} does not tell of it; it tells of: {choices or 'none'}")
        return name
    used = [name for name, units in demand.items() if name not in NOT_SERVERS and bool(np.any(units > 0))]
    if standard in demand and not any(name.startswith("gpu") for name in used if name != standard):
        assert standard is not None
        return standard
    if len(used) > 1:
        raise UsageError(
            f"unit: {ledger.source} tells of {choices}; say which of them a server is, such as --unit "
            f"{unit_named(used[0])} (unit={unit_named(used[0])!r} in Python)"
        )
    return used[0] if used else next(iter(demand))
