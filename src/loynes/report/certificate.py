"""What an answer rests on, in plain words."""

from __future__ import annotations

from typing import Any

from loynes.report.content import Sure
from loynes.report.leaves import at, leaf, number
from loynes.report.words import about, count, percent

LOWER = (
    "Without a certificate nothing bounds the workload from above: the waits below are lower bounds, "
    "and the truth may be higher than their intervals say."
)
BOUNDED = (
    "Two chains were driven by the same jobs, one started empty and one started above the long-run workload. The truth "
    "lies between them however short the run, and once they have met they are the truth itself. What “above” rests on "
    "is the certificate."
)
PERFECT = (
    "Every sample was followed from the past until a chain started empty and one started above the long-run workload "
    "had met. What “above” rests on is the certificate."
)


def explained(data: dict[str, Any]) -> Sure:
    """Of an evaluation, or of samples."""
    certificate = data.get("certificate")
    intervals = _intervals(data)
    if not isinstance(certificate, dict):
        why = str(data.get("why") or "the method used does not give one")
        return Sure([f"There is no certificate: {why}.", LOWER, *intervals])
    sentences = [PERFECT if data.get("method") == "perfect" else BOUNDED, *intervals]
    return Sure(sentences, terms(certificate))


def terms(certificate: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Term, value, meaning."""
    found: list[tuple[str, str, str]] = []
    theta, block = number(certificate.get("theta")), number(certificate.get("block"))
    if theta is not None:
        half = f", so half as likely every {about(0.693147 / theta)} units of time" if theta > 0 else ""
        meaning = f"How fast large workloads become unlikely: the chance of more than x falls like exp(−theta x){half}."
        found.append(("theta", f"{theta:.6g}", meaning))
    if block is not None:
        blocks = number(certificate.get("blocks"))
        checked = f" This was checked on {count(blocks, 'block')} of its own." if blocks else ""
        meaning = (
            "Jobs are taken in blocks of this length. If a whole block needs less time than it takes to arrive, on "
            "average, the cluster as a whole lies below a simple queue whose customers are blocks." + checked
        )
        found.append(("block", count(block, "job"), meaning))
    drift = number(certificate.get("drift"))
    if drift is not None:
        found.append(
            (
                "drift",
                f"{drift:.4g}".replace("-", "−"),
                "Below zero: blocks go faster than they come, with room to spare.",
            )
        )
    burn_in = number(certificate.get("burn_in"))
    if burn_in is not None:
        meaning = "So many jobs were run and thrown away before anything was measured, in both chains."
        found.append(("burn-in", count(burn_in, "job"), meaning))
    distance = leaf(certificate, "distance")
    if distance is not None:
        if burn_in is not None:
            meaning = (
                "The share of pairs of chains that had not met after the burn-in: how far the state then can be from "
                "the long run. Where a pair is still apart, both its chains are counted, so the intervals stay right."
            )
        else:
            meaning = "The chance, at most, that a sample differs from one of the long run."
        found.append(("distance", f"{about(distance.estimate)}, at most {_small(distance.high)}", meaning))
    return found


def _small(value: float) -> str:
    return f"{value:.2g}" if value < float("inf") else "1"


def _intervals(data: dict[str, Any]) -> list[str]:
    confidence, replicas = number(data.get("confidence")), number(data.get("replicas"))
    if confidence is None:
        return []
    base = f" They come from {count(replicas, 'independent replica')}." if replicas else ""
    return [f"Each interval holds the true value with {percent(confidence, 7)} confidence.{base}"]


def of_several(named: list[tuple[str, Any]]) -> Sure:
    """Of the evaluations that a sweep, a plan or a comparison is made of."""
    have = [(name, data) for name, data in named if isinstance(data, dict)]
    certified = [name for name, data in have if isinstance(data.get("certificate"), dict)]
    sentences = []
    if have:
        share = "Every" if len(certified) == len(have) else f"{len(certified)} of {len(have)}"
        verb = "evaluation has" if share == "Every" else "evaluations have"
        sentences.append(f"{share} {verb} a certificate.")
    if certified:
        sentences.append(BOUNDED)
    reasons = {str(data.get("why")) for _, data in have if not isinstance(data.get("certificate"), dict)}
    sentences += [f"Elsewhere there is none: {why}." for why in sorted(reasons) if why not in ("", "None")]
    if len(certified) < len(have):
        sentences.append(LOWER)
    sentences += _intervals(have[0][1])[:1] if have else []
    distances = [leaf(data, "certificate", "distance") for _, data in have]
    highest = [d.high for d in distances if d is not None]
    burn_ins = [n for _, data in have if (n := number(at(data, "certificate", "burn_in"))) is not None]
    found = []
    if burn_ins:
        span = count(max(burn_ins), "job") if min(burn_ins) == max(burn_ins) else _span(min(burn_ins), max(burn_ins))
        found.append(("burn-in", span, "So many jobs were run and thrown away before anything was measured."))
    if highest:
        meaning = "How far the state after the burn-in can be from the long run, in the worst of the evaluations."
        found.append(("distance", f"at most {_small(max(highest))}", meaning))
    return Sure(sentences, found)


def _span(low: float, high: float) -> str:
    return f"{low:,.10g} to {count(high, 'job')}"
