"""loynes: thresholds, waits and blocking losses of clusters whose jobs need several servers at once.

import loynes
model = loynes.load("five-class-exponential")
loynes.stability(model).threshold
loynes.evaluate(model, rate=1.35).summary
"""

from __future__ import annotations

from importlib import import_module

from loynes._version import __version__

# Where public names live; loaded on first use, so that `import loynes` costs nothing.
_HOMES = {
    "errors": "LoynesError LoynesWarning ModelError SamplingError TraceError UnstableError UsageError",
    "estimate": "Estimate",
    "model": "Batch BoundedPareto Coxian Deterministic Empirical Erlang Exponential Fit Gamma Hyperexponential "
    "JobClass Lognormal Map Mixture Mmpp Model Pareto PhaseType Poisson Quantiles Recorded Renewal Scipy Shifted "
    "Truncated Uniform Weibull builtin_names from_scipy load",
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
