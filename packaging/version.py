"""Whether a tag may be released: python packaging/version.py v0.2.0

The tag is the version of the sources, of CITATION.cff and of codemeta.json, and the changelog has a heading for it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def versions() -> dict[str, str]:
    """What each file says."""

    def found(name: str, pattern: str) -> str:
        match = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        return match[1] if match else "none"

    return {
        "src/loynes/_version.py": found("src/loynes/_version.py", r'__version__ = "(.*)"'),
        "CITATION.cff": found("CITATION.cff", r"^version: (.*)$"),
        "codemeta.json": json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))["version"],
    }


def problems(tag: str) -> list[str]:
    """What speaks against releasing it."""
    wanted = tag.removeprefix("v")
    wrong = [f"{name} has version {version}" for name, version in versions().items() if version != wanted]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(rf"^## {re.escape(wanted)}, \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE)
    return wrong if heading else [*wrong, f"CHANGELOG.md has no heading for {wanted}, with a date"]


if __name__ == "__main__":
    if found := problems(sys.argv[1]):
        sys.exit("\n".join(f"{sys.argv[1]}: {one}" for one in found))
