"""What a cluster and its workload are: laws, arrivals, classes, models, and the files they live in."""

from loynes.model import laws
from loynes.model.arrivals import Batch, Map, Mmpp, Periodic, Poisson, Recorded, Renewal, Sessions
from loynes.model.cluster import JobClass, Model
from loynes.model.files import builtin_names, builtin_text, load
from loynes.model.laws import *  # noqa: F403

__all__ = [
    "Batch",
    "JobClass",
    "Map",
    "Mmpp",
    "Model",
    "Periodic",
    "Poisson",
    "Recorded",
    "Renewal",
    "Sessions",
    "builtin_names",
    "builtin_text",
    "laws",
    "load",
]
__all__ += laws.__all__
