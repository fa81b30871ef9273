"""A page that needs no server: the model, what the command line answered, and a kernel that goes on from there.

Everything is in one file, and nothing is asked of any network: the page's own policy lets only its script, its style
and its workers run. Names are put in as data without `<`, and as text where the script shows them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.errors import UsageError
from loynes.execution.deadline import Deadline
from loynes.execution.progress import Progress, silent
from loynes.explore.offline_known import Known, known_data, known_of
from loynes.explore.offline_table import check, table_data
from loynes.model import Model
from loynes.readable import readable, visible
from loynes.results.files import check_writable, write_text

# What the workers run, in this order, and what the page runs; drawing.js is that of reports.
KERNEL = ("philox", "elementary", "table", "jobs", "arrivals", "servers", "estimates", "piles", "chains", "worker")
SCRIPTS = ("state", "pictures", "text", "page")


def check_path(path: str | Path) -> None:
    """Refuse, before any work is done, a path that the page could not be written to."""
    if Path(path).suffix.lower() != ".html":
        raise UsageError(f"{path}: a page is written to an .html file")
    check_writable(path)


def write(model: Model, path: str | Path, progress: Progress = silent, deadline: Deadline | None = None) -> None:
    """Write the page of a model, whole or not at all, with what is known by the deadline (three minutes from now)."""
    check_path(path)
    check(model)
    write_text(Path(path), page(known_of(model, progress=progress, deadline=deadline)))


def page(known: Known) -> str:
    """The page as HTML, from what is known of its model."""
    model = known.model
    data = {
        "timeUnit": None if model.time_unit is None else readable(model.time_unit),
        "rate": _first_rate(known),
        "table": table_data(model),
        "known": known_data(known),
        "toml": visible(model.to_toml().strip(), lines=True),
        "version": __version__,
    }
    style, script = _asset("report", "page.css") + _asset("explore", "offline/page.css"), _script()
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; worker-src blob:; "
        f"style-src '{_fingerprint(style)}'; script-src '{_fingerprint(script)}'"
    )
    filled = {
        "POLICY": policy, "VERSION": __version__, "TITLE": escape(readable(f"{model.label}: {model.size}")),
        "STYLE": style, "DATA": _data(data), "KERNEL": _kernel(), "SCRIPT": script,
    }  # fmt: skip
    parts = _asset("explore", "offline/page.html").split("{{")
    return parts[0] + "".join(filled[name] + rest for name, rest in (part.split("}}", 1) for part in parts[1:]))


def _first_rate(known: Known) -> float:
    """The model's own rate, else that of the point nearest to a load of 0.6, else about that load."""
    if known.model.rate is not None:
        return known.model.rate
    rates = {abs(one.load - 0.6): one.result.rate for one in known.points if one.result is not None}
    return rates[min(rates)] if rates else 0.6 * known.threshold.threshold.estimate


def _asset(room: str, name: str) -> str:
    return files(f"loynes.{room}").joinpath("assets", name).read_text(encoding="utf-8")


def _kernel() -> str:
    return '"use strict";\n' + "\n".join(_asset("explore", f"offline/{name}.js") for name in KERNEL)


def _script() -> str:
    parts = [_asset("report", "drawing.js"), *(_asset("explore", f"offline/{name}.js") for name in SCRIPTS)]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"


def _fingerprint(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(data: dict[str, Any]) -> str:
    """JSON in which no HTML can begin or end."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
