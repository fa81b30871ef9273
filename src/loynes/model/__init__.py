"""What a cluster and its workload are: laws, arrivals, classes, models, and the files they live in."""

from loynes.model.arrivals import Poisson
from loynes.model.cluster import JobClass, Model
from loynes.model.files import builtin_names, builtin_text, load
from loynes.model.law import Law
from loynes.model.laws import (
    BoundedPareto,
    Coxian,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Fit,
    Gamma,
    Hyperexponential,
    Lognormal,
    Mixture,
    Pareto,
    PhaseType,
    Quantiles,
    Scipy,
    Shifted,
    Truncated,
    Uniform,
    Weibull,
    from_scipy,
)

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
    "JobClass",
    "Law",
    "Lognormal",
    "Mixture",
    "Model",
    "Pareto",
    "PhaseType",
    "Poisson",
    "Quantiles",
    "Scipy",
    "Shifted",
    "Truncated",
    "Uniform",
    "Weibull",
    "builtin_names",
    "builtin_text",
    "from_scipy",
    "load",
]
