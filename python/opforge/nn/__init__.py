"""Neural networks: modules, their parameters, and the functions that they are made of."""

from __future__ import annotations

import importlib

from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [*modules.__all__, "Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils"]


def __getattr__(name: str):
    """What stands on modules, not beside them, is imported when it is first used."""
    if name == "Graph":
        from ..graph import Graph

        return Graph
    if name in ("_reduction", "grad", "quantized"):
        return importlib.import_module(f".{name}", __name__)
    if name in ("parallel", "DataParallel"):
        parallel = importlib.import_module(".parallel", __name__)
        return parallel if name == "parallel" else parallel.DataParallel
    raise AttributeError(f"module 'opforge.nn' has no attribute '{name}'")
