"""A digest of all sources that kernels are made of: what a compiled kernel, a journal and a worker must agree on."""

from __future__ import annotations

import hashlib
from pathlib import Path


def fingerprint(package: Path) -> str:
    digest = hashlib.sha256()
    for folder in ("inputs", "kernels", "kernels/cpu", "kernels/events", "kernels/events/policies"):
        for source in sorted((package / folder).glob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()


FINGERPRINT = fingerprint(Path(__file__).parents[1])
