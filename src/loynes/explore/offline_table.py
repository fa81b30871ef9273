"""A model as the plain data that a page's own kernel draws and serves jobs from: the job table, without its rate.

The kernel in the browser makes the same numbers of it as `inputs` and `kernels/reference.py`, bit for bit. Rate,
shares, needs and means are changed there, so what follows from them, gaps and cuts, is left to it.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from loynes.errors import ModelError
from loynes.explore.state import MOST_CLASSES
from loynes.inputs.arrivals import MODULATED, POISSON, RECORDED, RENEWAL, arrival_table, parts_of
from loynes.inputs.tables import JobTable, job_table
from loynes.model import Model
from loynes.model.arrivals import Batch, Periodic, Recorded, Renewal, Sessions
from loynes.readable import readable
from loynes.stationary.cut import FOR_VARIANCE

# What a browser looks at while somebody waits for it.
MOST_SERVERS, MOST_GAPS = 1 << 16, 100_000
PROCESSES = {POISSON: "poisson", RENEWAL: "renewal", MODULATED: "modulated", RECORDED: "recorded"}


def check(model: Model) -> None:
    """Refuse what the page's kernel does not know, and what is too large for it."""
    if model.nodes is not None:
        raise ModelError("nodes: a page by itself knows pooled resources only")
    arrivals = model.arrivals
    unknown = isinstance(arrivals, Periodic | Sessions)
    if unknown or not model.independent:
        what = f"process = {arrivals.process!r}" if unknown else "classes that depend on them"
        raise ModelError(
            f"arrivals: {what}: a page by itself draws poisson, renewal, trace, mmpp, map and batch arrivals, "
            "with classes that do not depend on them"
        )
    if len(model.classes) > MOST_CLASSES:
        raise ModelError(f"classes: {len(model.classes)} of them, the page takes at most {MOST_CLASSES}")
    if model.servers > MOST_SERVERS:
        raise ModelError(f"servers: {model.servers} units in all, the page takes at most {MOST_SERVERS}")
    if isinstance(arrivals, Recorded) and len(arrivals.gaps) > MOST_GAPS:
        raise ModelError(f"arrivals.gaps: {len(arrivals.gaps)} of them, the page takes at most {MOST_GAPS}")


def table_data(model: Model) -> dict[str, Any]:
    """The table as JSON: numbers as they are, arrays of them by their bytes, so that no bit is lost."""
    check(model)
    table, written = job_table(model, 1.0), model.to_dict()["classes"]
    return {
        "kinds": list(map(readable, model.kinds)),
        "unitSizes": list(model.unit_sizes),
        "byResource": model.by_resource,
        "units": table.units.tolist(),
        "strict": bool(table.strict),
        "demand": table.demand.tolist(),
        "specific": table.specific.tolist(),
        "first": table.first.tolist(),
        "recipe": table.recipe.tolist(),
        **{name: packed(getattr(table, name)) for name in ("low", "stretch", "p", "q", "r", "add", "grid", "pieces")},
        "arrivals": _arrivals(model, table),
        # Whether waits have no variance, so that Student's intervals of their means are too short.
        "heavy": model.highest_moment < FOR_VARIANCE,
        "classes": [
            {
                "name": readable(c.label),
                "need": readable(c.need_text),
                "probability": c.probability,
                "law": c.service.law,
                "mean": c.service.mean,
                # What sets the mean in a model file and changes nothing else of the law, if anything does.
                "scaledBy": next((key for key in ("mean", "value") if key in service["service"]), None),
                "variance": c.service.variance if math.isfinite(c.service.variance) else None,
            }
            for c, service in zip(model.classes, written, strict=True)
        ],
    }


def packed(values: Any) -> str:
    """Doubles by their bytes, the lowest first, in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def _arrivals(model: Model, table: JobTable) -> dict[str, Any]:
    """What gaps are made of at any rate: times that are divided by it, and the moves of the phase."""
    own, _ = arrival_table(model, 1.0)
    parts = parts_of(own)
    data: dict[str, Any] = {"process": PROCESSES[own.process], "phases": own.phases, "sizes": own.sizes}
    if own.process == POISSON:
        return data
    process = model.arrivals
    size = process.mean_size if isinstance(process, Batch) else 1.0
    inner = process.of if isinstance(process, Batch) else process
    if isinstance(inner, Recorded):
        gaps = np.array(inner.gaps)
        return data | {"gaps": packed(gaps), "gapMean": float(gaps.mean())}
    if own.process == RENEWAL:
        assert isinstance(inner, Renewal)
        data |= {"meanSize": size, "gapMean": inner.gap.mean}
    else:
        chain = model.chain
        leaving, stretch = np.ones(1), size
        if chain is not None:
            from loynes.model import modulation

            leaving, stretch = -np.diag(chain.d0), modulation.rate_of(chain.d0, chain.d1) * size
        data |= {"stretch": float(stretch), "leaving": packed(leaving)}
    cuts = {name: packed(getattr(parts, name).astype(np.float64)) for name in ("move", "size", "start", "start_more")}
    return data | {"first": parts.first.tolist(), "to": parts.to.tolist(), "cuts": cuts}
