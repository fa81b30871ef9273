"""A certificate: what a bracket rests on, or why there is nothing to rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loynes.estimate import Estimate

ATTEMPTS = 6
# The certificate's own error, one-sided: small enough to forget beside the 1% of an interval.
SURE = 1.0 - 1e-6


@dataclass(frozen=True)
class LongServices:
    """Where services count as long, and the single-server queue that bounds what they bring (see long_services.py)."""

    thresholds: dict[str, float]  # by class; classes that are not here have no long services
    share: float  # q, at most this part of a class's services is long
    allowance: float  # a, time set aside for each job
    rho: float  # load of the queue of long services

    def __str__(self) -> str:
        cut = ", ".join(f"{label} {t:.4g}" for label, t in list(self.thresholds.items())[:4])
        more = len(self.thresholds) - 4
        return cut + (f" and {more} more" if more > 0 else "")


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
    long: LongServices | None = None  # set apart from the blocks: G is added to V, or to the level
    profile: tuple[float, ...] = ()  # blocks start from these heights (see profile.py), flat if there are none
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
        if self.long is not None:
            rows += [
                ("services are long from", str(self.long)),
                ("share of long services, at most", self.long.share),
                ("time set aside a job (allowance)", self.long.allowance),
                ("rho (load of the queue of long services)", self.long.rho),
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
        short = "" if self.long is None else " of short services"
        lines = [
            f"Over blocks of {self.block} jobs{short}, the largest workload stays below a {what}",
            f"with P({what[-1]} > x) <= {bound}, because ln E[exp(theta (Y - A))] <= {self.drift:.4g} < 0{given}.",
        ]
        if self.long is not None:
            lines += [
                f"Services are long from a threshold on ({self.long}),",
                f"at most a share {self.long.share:.3g} of them. "
                f"Each job leaves {self.long.allowance:.4g} of its gap to",
                "them; what they bring lies below the wait in an M/G/1 queue, "
                "a geometric sum of residual long services,",
                f"which is added. Its load rho is {self.long.rho:.4g}.",
            ]
        moments = "exponential moments" if self.long is None else "a finite mean"
        lines += [
            f"Assumed: services have {moments} (checked by their laws), and the upper bound of the mean of",
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
