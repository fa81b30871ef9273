"""Which backend answers: the only place that knows their names."""

from __future__ import annotations

from types import ModuleType

from loynes.errors import UsageError

NAMES = ("auto", "cpu", "cuda")


def backend(name: str) -> ModuleType:
    """The engine of a backend: a module with NAME and its functions run_*."""
    if name not in NAMES:
        raise UsageError(f"backend {name!r}: must be one of {', '.join(NAMES)}")
    if name == "cuda":
        raise UsageError("backend 'cuda': this version has no GPU kernels; use --backend cpu (or auto)")
    from loynes.kernels.cpu import engine

    return engine
