"""loynes: thresholds, waits and blocking losses of clusters whose jobs need several servers at once.

import loynes
model = loynes.load("five-class-exponential")
loynes.stability(model).threshold
loynes.evaluate(model, rate=1.35).summary
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from loynes._version import __version__

if TYPE_CHECKING:
    from loynes.errors import (
        LoynesError,
        LoynesWarning,
        ModelError,
        SamplingError,
        TraceError,
        UnstableError,
        UsageError,
    )
    from loynes.estimate import Estimate
    from loynes.kernels.events.policies import Option, Policy, policies, policy
    from loynes.model import (
        Batch,
        BoundedPareto,
        Coxian,
        Deterministic,
        Empirical,
        Erlang,
        Exponential,
        Fit,
        Gamma,
        Hyperexponential,
        JobClass,
        Lognormal,
        Map,
        Mixture,
        Mmpp,
        Model,
        Pareto,
        PhaseType,
        Poisson,
        Quantiles,
        Recorded,
        Renewal,
        Scipy,
        Shifted,
        Truncated,
        Uniform,
        Weibull,
        builtin_names,
        from_scipy,
        load,
    )
    from loynes.questions.asking.ask import resume
    from loynes.questions.certify import certify
    from loynes.questions.check import check
    from loynes.questions.compare import compare
    from loynes.questions.compare_policies import compare_policies
    from loynes.questions.evaluate import evaluate
    from loynes.questions.exact import exact
    from loynes.questions.fit import fit
    from loynes.questions.plan import plan
    from loynes.questions.replay import replay
    from loynes.questions.sample import sample
    from loynes.questions.simulate import simulate
    from loynes.questions.stability import stability
    from loynes.questions.sweep import sweep
    from loynes.results.base import Result, read_result
    from loynes.results.records.certified import Certified
    from loynes.results.records.check import Check
    from loynes.results.records.comparison import Comparison
    from loynes.results.records.evaluation import Evaluation
    from loynes.results.records.exact import Exact
    from loynes.results.records.fitted import FittedModel
    from loynes.results.records.plan import Plan
    from loynes.results.records.policies import PolicyComparison
    from loynes.results.records.replay import Replay
    from loynes.results.records.samples import SampleFile
    from loynes.results.records.simulation import Simulation
    from loynes.results.records.sweep import Sweep
    from loynes.results.records.threshold import Threshold
    from loynes.stationary.certificate import Certificate, NoCertificate
    from loynes.traces.read import read_trace
    from loynes.traces.trace import Trace

# Where public names live; loaded on first use, so that `import loynes` costs nothing.
_HOMES = {
    "errors": "LoynesError LoynesWarning ModelError SamplingError TraceError UnstableError UsageError",
    "estimate": "Estimate",
    "kernels.events.policies": "Option Policy policies policy",
    "model": "Batch BoundedPareto Coxian Deterministic Empirical Erlang Exponential Fit Gamma Hyperexponential JobClass "
    "Lognormal Map Mixture Mmpp Model Pareto PhaseType Poisson Quantiles Recorded Renewal Scipy Shifted Truncated "
    "Uniform Weibull builtin_names from_scipy load",
    "questions.asking.ask": "resume",
    "questions.certify": "certify",
    "questions.check": "check",
    "questions.compare": "compare",
    "questions.compare_policies": "compare_policies",
    "questions.evaluate": "evaluate",
    "questions.exact": "exact",
    "questions.fit": "fit",
    "questions.plan": "plan",
    "questions.replay": "replay",
    "questions.sample": "sample",
    "questions.simulate": "simulate",
    "questions.stability": "stability",
    "questions.sweep": "sweep",
    "results.base": "Result read_result",
    "results.records.certified": "Certified",
    "results.records.check": "Check",
    "results.records.comparison": "Comparison",
    "results.records.evaluation": "Evaluation",
    "results.records.exact": "Exact",
    "results.records.fitted": "FittedModel",
    "results.records.plan": "Plan",
    "results.records.policies": "PolicyComparison",
    "results.records.replay": "Replay",
    "results.records.samples": "SampleFile",
    "results.records.simulation": "Simulation",
    "results.records.sweep": "Sweep",
    "results.records.threshold": "Threshold",
    "stationary.certificate": "Certificate NoCertificate",
    "traces.read": "read_trace",
    "traces.trace": "Trace",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'loynes' has no attribute {name!r}")
    value = getattr(import_module(f"loynes.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
