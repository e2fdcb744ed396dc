"""Data loading, checkpoints, and what else is around training."""

from __future__ import annotations


_SUBMODULES = (
    "_pytree", "benchmark", "checkpoint", "collect_env", "cpp_extension", "data", "dlpack", "flop_counter", "hooks", "model_zoo", "tensorboard",
)  # fmt: skip


def __getattr__(name: str):
    """Imports submodules when they are first used."""
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
