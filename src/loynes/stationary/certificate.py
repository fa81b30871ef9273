"""A certificate: what a bracket rests on, or why there is nothing to rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loynes.estimate import Estimate

ATTEMPTS = 6
# The certificate's own error, one-sided: small enough to forget beside the 1% of an interval.
SURE = 1.0 - 1e-6


@dataclass(frozen=True)
class Certificate:
    """What a bracket rests on: V + Y lies above the stationary workload in law, with P(V > x) <= exp(-theta x)."""

    theta: float
    block: int  # K, jobs
    log_mgf: float  # upper bound of ln E[exp(theta Y)], services too rare to be sampled included
    drift: float  # upper bound of ln E[exp(theta (Y - A))], below 0
    blocks: int  # how many the bounds come from
    sure: float = SURE
    flat: bool = False  # the bound is a level for all servers, exp(log_mgf - theta x), instead of V + Y
    burn_in: int | None = None  # jobs both chains were run for (sandwich)
    distance: Estimate | None = None  # of the state after the burn-in from stationarity, in total variation

    @property
    def figures(self) -> list[tuple[str, Any]]:
        """Quantity and value, for tables."""
        rows: list[tuple[str, Any]] = [
            ("theta (decay of the majorant)", self.theta),
            ("block (jobs)", str(self.block)),
            ("log-mgf of a block's drift, at most", self.drift),
        ]
        if self.burn_in is not None:
            rows.append(("burn-in (jobs)", str(self.burn_in)))
        if self.distance is not None:
            rows.append(
                ("distance from stationarity", f"{self.distance.estimate:.2g}, at most {self.distance.high:.2g}")
            )
        return rows

    def __str__(self) -> str:
        bound = f"exp({self.log_mgf:.4g} - {self.theta:.6g} x)" if self.flat else f"exp(-{self.theta:.6g} x)"
        what = "level Z" if self.flat else "single-server queue whose wait V"
        given = ", whatever the phase of arrivals" if self.flat else ""
        lines = [
            f"Over blocks of {self.block} jobs, the largest workload stays below a {what}",
            f"with P({what[-1]} > x) <= {bound}, because ln E[exp(theta (Y - A))] <= {self.drift:.4g} < 0{given}.",
            "Assumed: services have exponential moments (checked by their laws), and the upper bound of the mean of",
            f"exp(theta Y) over {self.blocks} independent blocks holds (a Student bound, sure to {self.sure:.6f}).",
        ]
        if self.burn_in is not None and self.distance is not None:
            lines += [
                f"After {self.burn_in} jobs a fraction {self.distance.estimate:.2g} of all pairs of chains were apart;",
                f"the state then is within {self.distance.high:.2g} of stationarity in total variation.",
            ]
        elif self.distance is not None:
            lines += [f"A sample differs from a stationary one with probability at most {self.distance.high:.2g}."]
        return "\n".join(lines)


@dataclass(frozen=True)
class NoCertificate:
    """Why there is none."""

    why: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"no certificate: {self.why}"
