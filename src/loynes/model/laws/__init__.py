"""All service laws: what a model file may say about a service time.

Every law has `mean`, `variance`, `highest_moment` (the largest k with E[X^k] finite, inf if all are),
`light_tail` (E[exp(theta X)] finite for some theta > 0) and a vectorised `cdf`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from loynes.model.laws.bounded import Deterministic, Uniform
from loynes.model.laws.empirical import Empirical, Quantiles
from loynes.model.laws.exponential import Erlang, Exponential, Hyperexponential
from loynes.model.laws.fit import Fit
from loynes.model.laws.law import Law
from loynes.model.laws.mixture import Mixture
from loynes.model.laws.pareto import BoundedPareto, Pareto
from loynes.model.laws.phase_type import Coxian, PhaseType
from loynes.model.laws.scipy_stats import Scipy, from_scipy, is_frozen
from loynes.model.laws.shaped import Gamma, Lognormal, Weibull
from loynes.model.laws.truncated import Shifted, Truncated

__all__ = [
    "BoundedPareto",
    "Coxian",
    "Deterministic",
    "Empirical",
    "Erlang",
    "Exponential",
    "Fit",
    "Gamma",
    "Hyperexponential",
    "Law",
    "Lognormal",
    "Mixture",
    "Pareto",
    "PhaseType",
    "Quantiles",
    "Scipy",
    "ServiceLaw",
    "Shifted",
    "Truncated",
    "Uniform",
    "Weibull",
    "from_scipy",
]


def _accept_frozen(value: Any) -> Any:
    return from_scipy(value) if is_frozen(value) else value


ServiceLaw = Annotated[
    Exponential
    | Erlang
    | Hyperexponential
    | BoundedPareto
    | Pareto
    | Deterministic
    | Uniform
    | Gamma
    | Weibull
    | Lognormal
    | PhaseType
    | Coxian
    | Mixture
    | Empirical
    | Quantiles
    | Truncated
    | Shifted
    | Fit
    | Scipy,
    Field(discriminator="law"),
    BeforeValidator(_accept_frozen),
]
for _law in (Mixture, Truncated, Shifted):
    _law.model_rebuild(_types_namespace={"ServiceLaw": ServiceLaw})
