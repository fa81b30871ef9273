"""Models written for the paper authors' own programs, turned into ours.

MJSRE (github.com/UniVe-NeDS-Lab/MJSRE) reads lines of `(size, probability, parameters...)`, with the number of servers
and the law in the file's name: synth_20_bpar.txt. mjqm-simulator (github.com/NeDS-Lab/mjqm-simulator) reads TOML with
`cores`, `[[class]]`, and `arrival` and `service` tables that a class may override key by key.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from loynes.errors import ModelError
from loynes.model.fields import LARGEST, SMALLEST

Document = dict[str, Any]


def is_mjsre(text: str) -> bool:
    """Whether the first line that says something is a parenthesised list of numbers."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return bool(lines) and re.fullmatch(r"\([\d\s.,eE+-]+\)", lines[0]) is not None


def from_mjsre(text: str, stem: str, origin: str) -> Document:
    """Lines of (size, probability, parameters...): exp (mean), erlk (mean, phases), bpar (low, high, shape),
    hyperexp (mean 1, mean 2, probability of 1)."""
    parts = stem.split("_")
    law = parts[-1] if parts[-1] in ("exp", "erlk", "bpar", "hyperexp") else None
    classes = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            need, probability, *rest = (float(x) for x in ast.literal_eval(line.strip()))
        except (ValueError, SyntaxError, TypeError):
            raise ModelError(f"{origin}: line {number}: must be (size, probability, parameters...)") from None
        if not need.is_integer():
            raise ModelError(f"{origin}: line {number}: size {need:g} must be a whole number of servers")
        service = _mjsre_law(rest, law, f"{origin}: line {number}")
        classes.append({"need": int(need), "probability": probability, "service": service})
    sizes = [entry["need"] for entry in classes]
    for entry in classes:
        if sizes.count(entry["need"]) == 1:
            entry["name"] = f"T{entry['need']}"
    document: Document = {"name": stem, "classes": classes}
    servers = [int(part) for part in parts if part.isdecimal()]
    if servers:
        document["servers"] = servers[0]
    return document


def _mjsre_law(rest: list[float], law: str | None, where: str) -> Document:
    match law, rest:
        case (("exp" | None), [mean]):
            return {"law": "exponential", "mean": mean}
        case (("erlk" | None), [mean, phases]) if phases.is_integer():
            return {"law": "erlang", "mean": mean, "phases": int(phases)}
        case "bpar", [low, high, shape]:
            return {"law": "bounded_pareto", "low": low, "high": high, "shape": shape}
        case "hyperexp", [first, second, share]:
            return {"law": "hyperexponential", "probabilities": [share, 1.0 - share], "means": [first, second]}
        case None, [_, _, _]:
            raise ModelError(f"{where}: three parameters: end the file's name in _bpar or _hyperexp to say which law")
    raise ModelError(f"{where}: parameters {rest} do not fit {law or 'any law'}")


def is_mjqm(document: Document) -> bool:
    return "cores" in document and "class" in document


def from_mjqm(document: Document, origin: str) -> Document:
    """mjqm-simulator's settings; what it says of policies, events and pivots is about its runs, not about the model."""
    given = document["class"]
    if not isinstance(given, dict | list):
        raise ModelError(f"{origin}: class = {given!r}: must be a list of tables")
    entries = list(given.values()) if isinstance(given, dict) else given
    arrival, service = _table(document, "arrival", origin), _table(document, "service", origin)
    classes: list[Document] = []
    weights: list[float] = []
    rates: list[float | None] = []
    for position, entry in enumerate(entries):
        where = f"{origin}: class[{position}]"
        if not isinstance(entry, dict) or "cores" not in entry:
            raise ModelError(f"{where}.cores: is missing")
        arrives = arrival | _table(entry, "arrival", where)
        if arrives.get("distribution", "exponential") != "exponential":
            raise ModelError(f"{where}.arrival.distribution = {arrives['distribution']!r}: must be 'exponential'")
        rate = _rate(arrives, f"{where}.arrival")
        share = _number(arrives, "prob", f"{where}.arrival") if "prob" in arrives else None
        if share is None and rate is None:
            raise ModelError(f"{where}.arrival: must have prob, or a rate (lambda, rate or mean)")
        weights.append(share if share is not None else rate or 0.0)
        rates.append(rate if share is None else None)
        name = str(entry.get("name", entry["cores"]))
        law = _mjqm_law(service | _table(entry, "service", where), f"{where}.service")
        classes.append({"name": name, "need": entry["cores"], "service": law})
    total = sum(weights)
    if not total > 0:
        raise ModelError(f"{origin}: class probabilities or rates must be above 0")
    for entry, weight in zip(classes, weights, strict=True):
        entry["probability"] = weight / total
    # Probabilities share the common rate; without them every class has a rate of its own, and they add up.
    common = _rate(arrival, f"{origin}: arrival") if None in rates else total
    model: Document = {"servers": document["cores"], "classes": classes}
    if common is not None:
        model["arrivals"] = {"process": "poisson", "rate": common}
    if "identifier" in document:
        model["name"] = document["identifier"]
    return model


def _table(document: Document, key: str, where: str) -> Document:
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise ModelError(f"{where}.{key}: must be a table")
    return value


def _rate(table: Document, where: str) -> float | None:
    for key in ("lambda", "rate", "mean"):
        value = table.get(key)
        if isinstance(value, list):  # a pivot: many rates, none of them the model's
            return None
        if value is not None:
            number = _number(table, key, where)
            return 1.0 / number if key == "mean" else number
    return None


def _number(table: Document, key: str, where: str) -> float:
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not SMALLEST <= value <= LARGEST:
        raise ModelError(f"{where}.{key} = {value!r}: must be a number above 0")
    return float(value)


def _mjqm_law(table: Document, where: str) -> Document:
    kind = str(table.get("distribution", "")).replace(" ", "_")
    match kind:
        case "exponential":
            rate = _rate(table, where)
            if rate is None:
                raise ModelError(f"{where}: must have lambda, rate or mean")
            return {"law": kind, "mean": 1.0 / rate}
        case "deterministic" if "value" in table or "mean" in table:
            return {"law": kind, "value": table.get("value", table.get("mean"))}
        case "bounded_pareto" if {"alpha", "L", "H"} <= set(table):
            return {"law": kind, "low": table["L"], "high": table["H"], "shape": table["alpha"]}
        case "uniform" if "mean" in table:
            mean = _number(table, "mean", where)
            return {"law": kind, "low": 0.5 * mean, "high": 1.5 * mean}
        case "uniform":
            low, high = table.get("min", table.get("a")), table.get("max", table.get("b"))
            return {"law": kind, "low": low, "high": high}
    raise ModelError(
        f"{where}.distribution = {table.get('distribution')!r}: must be exponential (lambda or mean), deterministic "
        "(value), uniform (min, max or mean) or bounded_pareto (alpha, L, H)"
    )
