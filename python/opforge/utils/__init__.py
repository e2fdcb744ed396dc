"""Data loading, checkpoints, and what else is around training."""

from __future__ import annotations


def __getattr__(name: str):
    """Imports submodules when they are first used."""
    import importlib

    if name in ("checkpoint", "data", "hooks"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
