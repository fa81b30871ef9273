"""Paths in a model file, as sweeps and comparisons vary them, in words for people; files and JSON keep the paths."""

from __future__ import annotations

NAMES = {"rate": "arrival rate"}


def in_words(path: str) -> str:
    """What a path is: classes.T15.service.mean is the mean service of T15."""
    parts = path.split(".")
    if parts[0] == "classes" and len(parts) >= 3:
        *what, of = reversed(parts[1:])
        return f"{' '.join(what)} of {of}".replace("_", " ")
    if parts[0] == "resources" and len(parts) == 2:
        return parts[1]
    return NAMES.get(parts[-1], " ".join(reversed(parts)).replace("_", " ")) if len(parts) > 1 else path


def change_in_words(text: str) -> str:
    """classes.T15.service.mean=5 is mean service of T15 = 5; other texts stay."""
    path, equals, value = text.partition("=")
    return f"{in_words(path.strip())} = {value.strip()}" if equals else text
