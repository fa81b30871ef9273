"""How results are written: by the ending of a path, or into a run folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loynes.errors import UsageError
from loynes.results.files import check_writable, is_file_path, write_text
from loynes.results.tidy import write_parquet

WRITTEN = (".json", ".csv", ".parquet")


def dump(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def save(record: Any, path: str | Path) -> None:
    """Write a result by the ending of its path: .json, .csv, .parquet (tidy), or else a folder."""
    target = Path(path)
    check_writable(target)
    match target.suffix.lower():
        case ".json":
            write_text(target, record.to_json())
        case ".csv":
            write_text(target, record.flat.to_csv())
        case ".parquet":
            write_parquet(record.tidy, target)
        case ending if is_file_path(target):
            raise UsageError(f"{path}: results are written to {', '.join(WRITTEN)} or a run folder, not to {ending}")
        case _:
            save_folder(record, target)


def save_folder(record: Any, folder: Path) -> None:
    """result.json, which is the same for the same work, timing.json and model.toml."""
    folder.mkdir(parents=True, exist_ok=True)
    data = record.to_dict()
    timing = {"seconds": data["seconds"]}
    write_text(folder / "model.toml", record.model.to_toml())
    write_text(folder / "timing.json", dump(timing))
    write_text(folder / "result.json", dump(_timeless(data)))


def _timeless(data: Any) -> Any:
    """Without how long anything took, however deep."""
    if isinstance(data, dict):
        return {name: _timeless(value) for name, value in data.items() if name != "seconds"}
    return [_timeless(value) for value in data] if isinstance(data, list) else data
