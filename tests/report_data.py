"""Results of every kind as plain data, made by hand: reports are tested without computing anything."""

from __future__ import annotations

from typing import Any

Data = dict[str, Any]


def estimate(value: float, half: float = 0.0) -> Data:
    return {"estimate": value, "low": value - half, "high": value + half}


def spread(mean: float) -> Data:
    times = {
        "mean": mean,
        "variance": mean * mean,
        "p50": 0.4 * mean,
        "p90": 2.3 * mean,
        "p95": 3 * mean,
        "p99": 5 * mean,
    }
    return {name: estimate(value, 0.02 * value) for name, value in times.items()}


def waits(mean: float) -> Data:
    return {"wait": spread(mean), "response": spread(mean + 1.0), "no_wait": estimate(0.4, 0.01)}


def model(names: tuple[str, ...] = ("T1", "T5", "T15"), servers: int = 20) -> Data:
    service = {"law": "exponential", "mean": 1.0}
    share = 1.0 / len(names)
    classes = [{"name": n, "need": 1 + 5 * i, "probability": share, "service": service} for i, n in enumerate(names)]
    definition = {"name": "three", "servers": servers, "arrivals": {"process": "poisson"}, "classes": classes}
    return {"name": "three", "hash": "0123456789abcdef", "definition": definition}


def certificate() -> Data:
    bounds = {"theta": 0.031, "block": 64, "log_mgf": 0.7, "drift": -0.05, "blocks": 2048, "sure": 0.999999}
    return bounds | {"flat": False, "burn_in": 2816, "distance": {"estimate": 0.0, "low": 0.0, "high": 0.0052}}


def system(mean: float) -> Data:
    names = ("busy_servers", "utilization", "idle_servers", "hol_loss", "jobs_in_system", "jobs_waiting")
    values = (12.8, 0.64, 7.2, 1.65, mean + 2.0, mean)
    return {name: estimate(value, 0.01 * value) for name, value in zip(names, values, strict=True)}


def evaluation(
    names: tuple[str, ...] = ("T1", "T5", "T15"), mean: float = 8.0, rate: float = 1.35, servers: int = 20
) -> Data:
    return {
        "model": model(names, servers), "rate": rate, "load": rate / 1.8, "method": "sandwich", "confidence": 0.99,
        "seed": 1, "backend": "cpu", "replicas": 128, "jobs": 88_500_000, "seconds": 2.2, "version": "0.1.0",
        "warnings": [], "threshold": estimate(1.8, 0.001), "certificate": certificate(), "why": "",
        "overall": waits(mean), "classes": {name: waits(mean * (1 + 0.2 * i)) for i, name in enumerate(names)},
        "system": system(mean), "details": {},
    }  # fmt: skip


def threshold() -> Data:
    return {
        "model": model(), "threshold": estimate(1.8, 0.001), "ideal": 2.1, "max_utilization": 0.857,
        "hol_loss_saturated": estimate(2.9, 0.04), "variance_reduction": 232.0, "discipline": "fcfs",
        "method": "bracket", "confidence": 0.99, "replicas": 48, "jobs": 3_000_000, "seconds": 0.7, "seed": 1,
        "backend": "cpu", "version": "0.1.0", "warnings": [],
    }  # fmt: skip


def samples() -> Data:
    parts = [{"file": "part-00000.parquet", "samples": 8192, "sha256": "ab" * 32}]
    return {
        "model": model(), "parts": parts, "load": 0.5, "threshold": estimate(1.8), "why": "", "warnings": [],
        "certificate": certificate() | {"burn_in": None, "distance": {"estimate": 0.0, "low": 0.0, "high": 1e-9}},
        "rate": 0.9, "method": "perfect", "samples": 8192, "jobs": 10**9, "longest": 131072, "seed": 1,
        "seconds": 3.0, "version": "0.1.0",
    }  # fmt: skip


def sweep(names: tuple[str, ...] = ("T1", "T5", "T15")) -> Data:
    loads = (0.2, 0.4, 0.6, 0.8)
    points: list[Data] = [
        {"config": {"load": x}, "result": evaluation(names, x / (1 - x), 1.8 * x), "why": ""} for x in loads
    ]
    points.append({"config": {"load": 1.1}, "result": None, "why": "rate 1.98 is unstable: the threshold is 1.8"})
    told = {"confidence": 0.99, "seed": 1, "seconds": 12.3, "version": "0.1.0", "warnings": []}
    return {"command": "sweep", "model": model(names), "vary": ["load"], "points": points} | told


def plan() -> Data:
    met, not_met, further = (evaluation(mean=m, servers=s) for m, s in ((8.0, 41), (14.0, 40), (7.0, 42)))
    goal = {"text": "p95(wait) <= 30", "bound": 30, "meets": met["overall"]["wait"]["p95"]}
    return {
        "command": "plan", "model": met["model"], "rate": 1.35, "vary": "servers", "answer": 41, "fails_at": 40,
        "statement": "41 servers meet the objective, 40 servers do not (99%)", "fails_why": "", "certified": True,
        "objectives": [goal | {"fails": not_met["overall"]["wait"]["p95"]}], "meets": met, "fails": not_met,
        "next": further, "confidence": 0.99, "seed": 1, "seconds": 9.0, "version": "0.1.0", "warnings": [],
    }  # fmt: skip


def comparison() -> Data:
    a, b = evaluation(mean=8.0), evaluation(mean=6.0)

    def minus(x: Any, y: Any) -> Any:
        if "estimate" in x:
            return estimate(y["estimate"] - x["estimate"], 0.05)
        return {key: minus(x[key], y[key]) for key in x}

    found = {key: minus(a[key], b[key]) for key in ("overall", "classes", "system")}
    told = {"confidence": 0.99, "seed": 1, "seconds": 4.2, "version": "0.1.0", "warnings": []}
    return {"command": "compare", "a": a, "b": b, "names": ["old", "new"], "differences": found} | told


def replay() -> Data:
    classes = {name: {"jobs": 500, "need": [n, n]} | waits(900.0 * n) for name, n in (("need 1", 1), ("need 8", 8))}
    series = {
        "begin": [0.0, 3600.0, 7200.0], "end": [3600.0, 7200.0, 10800.0], "busy_servers": [8.0, 30.0, 20.0],
        "utilization": [0.25, 0.94, 0.6], "hol_loss": [0.0, 1.5, 4.0], "jobs_waiting": [0.0, 12.0, 3.0],
    }  # fmt: skip
    recorded = {"jobs": 900, "overall": spread(600.0), "classes": {"need 1": spread(500.0), "need 8": None}}
    return {
        "model": {"name": "log.swf", "source": "log.swf", "format": "swf", "hash": "ab12", "servers": 32},
        "rate": 0.1, "load": None, "method": "replay", "seed": None, "backend": "cpu", "kernel": "dense",
        "replicas": 1, "jobs": 1000, "seconds": 0.2, "read_seconds": 0.1, "version": "0.1.0", "warnings": [],
        "threshold": None, "certificate": None, "why": "exact", "overall": waits(1000.0), "by": "need",
        "classes": classes, "system": system(10.0), "span": 10800.0, "records": 1010,
        "skipped": {"run time missing": 10}, "repaired": {}, "examples": ["line 7: no run time"],
        "recorded": recorded, "series": series,
    }  # fmt: skip


def simulation(policy: str = "easy", mean: float = 3.0, rate: float = 1.35) -> Data:
    moments = [
        {
            "time": time, "wait": estimate(mean * share, 0.1), "wait_p50": estimate(share, 0.05),
            "wait_p95": estimate(3 * mean * share, 0.3), "jobs_waiting": estimate(4 * share, 0.2),
            "jobs_in_system": estimate(6 * share, 0.2), "busy_servers": estimate(12.0, 0.4),
            "hol_loss": estimate(1.5, 0.2),
        }
        for time, share in ((10.0, 1.0), (20.0, 3.0), (40.0, 2.0))
    ]  # fmt: skip
    given = evaluation(mean=mean, rate=rate)
    told = {name: given[name] for name in ("model", "overall", "classes", "system", "confidence", "seed", "version")}
    told["model"]["definition"]["scenario"] = [{"from": 10.0, "until": 20.0, "rate_factor": 2.0, "name": "burst"}]
    slow = {name: estimate(9.0, 1.0) for name in ("all jobs", *given["classes"])}
    return told | {
        "command": "simulate", "rate": rate, "method": "simulate", "policy": policy, "start": "stationary",
        "horizon": 40.0, "replicas": 512, "jobs": 10**6, "seconds": 1.5, "warnings": [], "certificate": None,
        "why": "an event-driven simulation has none", "slowdown": slow, "moments": moments,
        "details": {"burn_in": 0, "inflation": 1.0},
    }  # fmt: skip


def policies() -> Data:
    points = []
    for load in (0.5, 0.9, 1.1):
        for place, name in enumerate(("fcfs", "easy")):
            there = load < 1 or name == "easy"
            result = simulation(name, (4.0 - 2.0 * place) * load, 1.8 * load) if there else None
            minus = estimate(-2.0 * load, 0.1) if place and load < 1 else None
            why = "" if there else "more than it can carry"
            where = {"policy": name, "rate": round(1.8 * load, 9), "load": load}
            points.append(where | {"result": result, "difference": minus, "why": why})
    limits = {
        "fcfs": {"rate": estimate(1.8), "source": "exact: saturated chain of 842 states"},
        "easy": {"rate": estimate(2.1, 0.02), "source": "estimate: runs that grow, or do not"},
    }
    return {
        "command": "policies", "model": model(), "policies": ["fcfs", "easy"], "ideal": 2.11, "limits": limits,
        "points": points, "confidence": 0.99, "seed": 1, "seconds": 20.0, "version": "0.1.0", "warnings": [],
    }  # fmt: skip


def without_numbers(data: Any) -> Any:
    """The same with every estimate null, as where nothing is finite."""
    if isinstance(data, dict):
        if set(data) == {"estimate", "low", "high"}:
            return dict.fromkeys(data)
        return {key: without_numbers(value) for key, value in data.items()}
    return [without_numbers(value) for value in data] if isinstance(data, list) else data


def without_ends(data: Any, *ends: str) -> Any:
    """The same with open intervals."""
    if isinstance(data, dict):
        if set(data) == {"estimate", "low", "high"}:
            return data | dict.fromkeys(ends)
        return {key: without_ends(value, *ends) for key, value in data.items()}
    return [without_ends(value, *ends) for value in data] if isinstance(data, list) else data


KINDS = {
    "evaluation": evaluation,
    "threshold": threshold,
    "samples": samples,
    "sweep": sweep,
    "plan": plan,
    "comparison": comparison,
    "replay": replay,
    "simulation": simulation,
    "policies": policies,
}
