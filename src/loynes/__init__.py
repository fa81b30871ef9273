"""loynes: thresholds, waits and blocking losses of clusters whose jobs need several servers at once.

import loynes
model = loynes.load("five-class-exponential")
loynes.stability(model).threshold
loynes.evaluate(model, rate=1.35).summary
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    from loynes.results.comparison import Comparison
    from loynes.results.exact import Exact
    from loynes.results.fit import FittedModel
    from loynes.results.plan import Plan
    from loynes.results.policies import PolicyComparison
    from loynes.results.reading import read_result
    from loynes.results.records import Evaluation, Threshold
    from loynes.results.replay import Replay
    from loynes.results.samples import SampleFile
    from loynes.results.simulation import Simulation
    from loynes.results.sweep import Sweep
    from loynes.stationary.certificate import Certificate, NoCertificate
    from loynes.study.certify import certify
    from loynes.study.check import check
    from loynes.study.compare import compare
    from loynes.study.evaluate import evaluate
    from loynes.study.exact import exact
    from loynes.study.fit import fit
    from loynes.study.plan import plan
    from loynes.study.policies import compare_policies
    from loynes.study.replay import replay
    from loynes.study.resume import resume
    from loynes.study.sample import sample
    from loynes.study.simulate import simulate
    from loynes.study.stability import stability
    from loynes.study.sweep import sweep
    from loynes.traces.read import read_trace
    from loynes.traces.trace import Trace

__all__ = [
    "Batch",
    "BoundedPareto",
    "Certificate",
    "Comparison",
    "Coxian",
    "Deterministic",
    "Empirical",
    "Erlang",
    "Estimate",
    "Evaluation",
    "Exact",
    "Exponential",
    "Fit",
    "FittedModel",
    "Gamma",
    "Hyperexponential",
    "JobClass",
    "Lognormal",
    "LoynesError",
    "LoynesWarning",
    "Map",
    "Mixture",
    "Mmpp",
    "Model",
    "ModelError",
    "NoCertificate",
    "Pareto",
    "PhaseType",
    "Plan",
    "Poisson",
    "PolicyComparison",
    "Quantiles",
    "Recorded",
    "Renewal",
    "Replay",
    "SampleFile",
    "SamplingError",
    "Scipy",
    "Shifted",
    "Simulation",
    "Sweep",
    "Threshold",
    "Trace",
    "TraceError",
    "Truncated",
    "Uniform",
    "UnstableError",
    "UsageError",
    "Weibull",
    "__version__",
    "builtin_names",
    "certify",
    "check",
    "compare",
    "compare_policies",
    "evaluate",
    "exact",
    "fit",
    "from_scipy",
    "load",
    "plan",
    "read_result",
    "read_trace",
    "replay",
    "resume",
    "sample",
    "simulate",
    "stability",
    "sweep",
]

# Where a public name lives, if not in loynes.model; loaded on first use, so that `import loynes` costs nothing.
_HOMES = {
    "Certificate": "loynes.stationary.certificate",
    "NoCertificate": "loynes.stationary.certificate",
    "certify": "loynes.study.certify",
    "Estimate": "loynes.estimate",
    "Evaluation": "loynes.results.records",
    "Exact": "loynes.results.exact",
    "FittedModel": "loynes.results.fit",
    "Replay": "loynes.results.replay",
    "SampleFile": "loynes.results.samples",
    "Threshold": "loynes.results.records",
    "Trace": "loynes.traces.trace",
    "read_result": "loynes.results.reading",
    "Comparison": "loynes.results.comparison",
    "Plan": "loynes.results.plan",
    "Sweep": "loynes.results.sweep",
    "compare": "loynes.study.compare",
    "plan": "loynes.study.plan",
    "sweep": "loynes.study.sweep",
    "Simulation": "loynes.results.simulation",
    "simulate": "loynes.study.simulate",
    "PolicyComparison": "loynes.results.policies",
    "compare_policies": "loynes.study.policies",
    "check": "loynes.study.check",
    "evaluate": "loynes.study.evaluate",
    "exact": "loynes.study.exact",
    "fit": "loynes.study.fit",
    "read_trace": "loynes.traces.read",
    "replay": "loynes.study.replay",
    "resume": "loynes.study.resume",
    "sample": "loynes.study.sample",
    "stability": "loynes.study.stability",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'loynes' has no attribute {name!r}")
    trouble = name.endswith(("Error", "Warning"))
    value = getattr(import_module(_HOMES.get(name, "loynes.errors" if trouble else "loynes.model")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
