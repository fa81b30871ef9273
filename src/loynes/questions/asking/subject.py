"""What a question is about: a model, or a log."""

from __future__ import annotations

import json
from pathlib import Path

from loynes.model.files import builtin_names
from loynes.model.foreign import is_mjsre
from loynes.reading import MOST_OF_A_LOG, read_text
from loynes.traces.trace import Trace

# What a JSON document about a cluster has at its top level; a log in JSON has none of these.
OF_MODELS = ("servers", "resources", "classes", "model", "cores")
BEGINNING = 1 << 16


def is_log(subject: object) -> bool:
    """Whether this is a recorded workload, or a file that is no model: by its ending, where that is open by a look."""
    if isinstance(subject, Trace):
        return True
    if not isinstance(subject, str | Path):
        return False
    path = Path(subject)
    if (str(subject) in builtin_names() and not path.is_file()) or not path.is_file():
        return False
    if path.suffix.lower() in (".toml", ".yaml", ".yml"):
        return False
    try:
        if path.suffix == ".json":
            document = json.loads(read_text(path, MOST_OF_A_LOG))
            return not isinstance(document, dict) or not any(name in document for name in OF_MODELS)
        with path.open("rb") as file:
            return not is_mjsre(file.read(BEGINNING).decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return path.suffix != ".json"
