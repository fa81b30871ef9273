"""The public names, for type checkers; loaded on first use (`__init__.py`)."""

from loynes import policies as policies
from loynes.errors import (
    LoynesError as LoynesError,
)
from loynes.errors import (
    LoynesWarning as LoynesWarning,
)
from loynes.errors import (
    ModelError as ModelError,
)
from loynes.errors import (
    SamplingError as SamplingError,
)
from loynes.errors import (
    TraceError as TraceError,
)
from loynes.errors import (
    UnstableError as UnstableError,
)
from loynes.errors import (
    UsageError as UsageError,
)
from loynes.estimate import Estimate as Estimate
from loynes.model import (
    Batch as Batch,
)
from loynes.model import (
    BoundedPareto as BoundedPareto,
)
from loynes.model import (
    Coxian as Coxian,
)
from loynes.model import (
    Deterministic as Deterministic,
)
from loynes.model import (
    Empirical as Empirical,
)
from loynes.model import (
    Erlang as Erlang,
)
from loynes.model import (
    Exponential as Exponential,
)
from loynes.model import (
    Fit as Fit,
)
from loynes.model import (
    Gamma as Gamma,
)
from loynes.model import (
    Hyperexponential as Hyperexponential,
)
from loynes.model import (
    JobClass as JobClass,
)
from loynes.model import (
    Lognormal as Lognormal,
)
from loynes.model import (
    Map as Map,
)
from loynes.model import (
    Mixture as Mixture,
)
from loynes.model import (
    Mmpp as Mmpp,
)
from loynes.model import (
    Model as Model,
)
from loynes.model import (
    Pareto as Pareto,
)
from loynes.model import (
    PhaseType as PhaseType,
)
from loynes.model import (
    Poisson as Poisson,
)
from loynes.model import (
    Quantiles as Quantiles,
)
from loynes.model import (
    Recorded as Recorded,
)
from loynes.model import (
    Renewal as Renewal,
)
from loynes.model import (
    Scipy as Scipy,
)
from loynes.model import (
    Shifted as Shifted,
)
from loynes.model import (
    Truncated as Truncated,
)
from loynes.model import (
    Uniform as Uniform,
)
from loynes.model import (
    Weibull as Weibull,
)
from loynes.model import (
    builtin_names as builtin_names,
)
from loynes.model import (
    from_scipy as from_scipy,
)
from loynes.model import (
    load as load,
)
from loynes.questions.asking.ask import resume as resume
from loynes.questions.certify import certify as certify
from loynes.questions.check import check as check
from loynes.questions.compare import compare as compare
from loynes.questions.compare_policies import compare_policies as compare_policies
from loynes.questions.evaluate import evaluate as evaluate
from loynes.questions.exact import exact as exact
from loynes.questions.fit import fit as fit
from loynes.questions.plan import plan as plan
from loynes.questions.replay import replay as replay
from loynes.questions.sample import sample as sample
from loynes.questions.simulate import simulate as simulate
from loynes.questions.stability import stability as stability
from loynes.questions.sweep import sweep as sweep
from loynes.results.base import (
    Result as Result,
)
from loynes.results.base import (
    read_result as read_result,
)
from loynes.results.records.certified import Certified as Certified
from loynes.results.records.check import Check as Check
from loynes.results.records.comparison import Comparison as Comparison
from loynes.results.records.evaluation import Evaluation as Evaluation
from loynes.results.records.exact import Exact as Exact
from loynes.results.records.fitted import FittedModel as FittedModel
from loynes.results.records.plan import Plan as Plan
from loynes.results.records.policies import PolicyComparison as PolicyComparison
from loynes.results.records.replay import Replay as Replay
from loynes.results.records.samples import SampleFile as SampleFile
from loynes.results.records.simulation import Simulation as Simulation
from loynes.results.records.sweep import Sweep as Sweep
from loynes.results.records.threshold import Threshold as Threshold
from loynes.stationary.certificate import (
    Certificate as Certificate,
)
from loynes.stationary.certificate import (
    NoCertificate as NoCertificate,
)
from loynes.traces.read import read_trace as read_trace
from loynes.traces.trace import Trace as Trace

__version__: str
