"""The lowest versions that pyproject.toml allows, as constraints for pip: python packaging/lowest.py > lowest.txt

Of all direct dependencies and of those of the extras, but for `dev`, which nobody needs in order to use loynes, and
`gpu`. What these depend on may be as new as there is.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("dev", "gpu")


def lowest(pyproject: Path) -> list[str]:
    """`name==version` for every `name>=version`; a dependency without a lowest version is a mistake."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    direct = [*project["dependencies"], *(one for name in extras if name not in LEFT_OUT for one in extras[name])]
    found = []
    for requirement in direct:
        match = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
        if match is None:
            raise ValueError(f"{requirement}: must be NAME>=VERSION")
        found.append(f"{match[1]}=={match[2]}")
    return found


if __name__ == "__main__":
    print(*lowest(ROOT / "pyproject.toml"), sep="\n")
