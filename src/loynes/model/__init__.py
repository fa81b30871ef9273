"""What a cluster and its workload are: laws, arrivals, classes, models, and the files they live in."""

from loynes.model.arrivals import Batch, Map, Mmpp, Poisson, Recorded, Renewal
from loynes.model.cluster import JobClass, Model
from loynes.model.files import builtin_names, builtin_text, load
from loynes.model.law import Law
from loynes.model.laws import (
    BoundedPareto,
    Deterministic,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    Mixture,
    Pareto,
    Uniform,
    Weibull,
)
from loynes.model.phase_laws import Coxian, PhaseType

__all__ = [
    "Batch",
    "BoundedPareto",
    "Coxian",
    "Deterministic",
    "Erlang",
    "Exponential",
    "Gamma",
    "Hyperexponential",
    "JobClass",
    "Law",
    "Lognormal",
    "Map",
    "Mixture",
    "Mmpp",
    "Model",
    "Pareto",
    "PhaseType",
    "Poisson",
    "Recorded",
    "Renewal",
    "Uniform",
    "Weibull",
    "builtin_names",
    "builtin_text",
    "load",
]
