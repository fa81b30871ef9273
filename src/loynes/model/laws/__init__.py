"""Service laws: what a model file may say about a service time, one file a family.

A law is a subclass of `Law` with a name; `law.py` says what it must offer. Every file in this folder is imported, so
that a law is known from its definition alone; laws defined elsewhere are known once their module has been imported.
"""
# ruff: noqa: I001  (messages list laws in the order of these imports)

from importlib import import_module
from pkgutil import iter_modules

from loynes.model.laws.law import LAWS, Law
from loynes.model.laws.exponential import Erlang, Exponential, Hyperexponential
from loynes.model.laws.pareto import BoundedPareto, Pareto
from loynes.model.laws.bounded import Deterministic, Uniform
from loynes.model.laws.shaped import Gamma, Lognormal, Weibull
from loynes.model.laws.phase_type import Coxian, PhaseType
from loynes.model.laws.mixture import Mixture
from loynes.model.laws.empirical import Empirical, Quantiles
from loynes.model.laws.truncated import Shifted, Truncated
from loynes.model.laws.fit import Fit
from loynes.model.laws.scipy_stats import Scipy, from_scipy
from loynes.model.laws.service_law import ServiceLaw

__all__ = [
    "LAWS",
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

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
