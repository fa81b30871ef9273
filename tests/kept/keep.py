"""Results of this version, kept so that every later version reads them: python tests/kept/keep.py [NAME]

Run it whenever there is a new command, or the number of the shape grows: what is missing is added, and nothing that is
here is changed or removed. The documents are the smallest recorded answers of every command (tests/recorded), read and
written again by this version.

| file | what is in it |
| --- | --- |
| 0.1.0 | what the release 0.1.0 printed for models/small.toml: no command, no question |
| unnumbered | documents of the time after it, with neither `schema` nor seconds |
| schema-1 | one of every command, of the first shape that has a number |
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from loynes.results.base import SCHEMA, result_of

HERE = Path(__file__).parent
RECORDED = HERE.parent / "recorded" / "documents.json.gz"


def recorded_documents() -> dict[str, list[dict[str, Any]]]:
    """The recorded documents of every command that has results."""
    found: dict[str, list[dict[str, Any]]] = {}
    for answers in json.loads(gzip.decompress(RECORDED.read_bytes()))["cases"].values():
        for document in (answer["document"] for answer in answers):
            if isinstance(document, dict) and "question" in document:
                found.setdefault(document["command"], []).append(document)
    return found


def kept(path: Path) -> dict[str, dict[str, Any]]:
    """Documents by command."""
    found: dict[str, dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def keep(name: str) -> None:
    target = HERE / f"{name}.json.gz"
    found = kept(target) if target.exists() else {}
    for command, documents in sorted(recorded_documents().items()):
        if command not in found:
            found[command] = result_of(min(documents, key=lambda one: len(json.dumps(one)))).to_dict()
    # No time of day in the header: the same documents give the same bytes.
    target.write_bytes(gzip.compress(json.dumps(found, allow_nan=False).encode(), mtime=0))


if __name__ == "__main__":
    keep(*(sys.argv[1:] or [f"schema-{SCHEMA}"]))
