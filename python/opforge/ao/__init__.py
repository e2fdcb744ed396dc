"""Quantization, under the name that PyTorch has for it."""

from __future__ import annotations


def __getattr__(name: str):
    """Imports submodules when they are first used."""
    import importlib

    if name == "quantization":
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
