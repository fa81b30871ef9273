"""What a cluster and its workload are: laws, arrivals, classes, models, and the files they live in."""

from loynes.model import laws
from loynes.model.arrivals import Batch, Map, Mmpp, Periodic, Poisson, Recorded, Renewal, Sessions
from loynes.model.classes import JobClass
from loynes.model.cluster import Model
from loynes.model.files import builtin_names, builtin_text, load
from loynes.model.laws import *  # noqa: F403
from loynes.model.nodes import Nodes, Quota

__all__ = [
    "Batch",
    "JobClass",
    "Map",
    "Mmpp",
    "Model",
    "Nodes",
    "Periodic",
    "Poisson",
    "Quota",
    "Recorded",
    "Renewal",
    "Sessions",
    "builtin_names",
    "builtin_text",
    "laws",
    "load",
]
__all__ += laws.__all__
