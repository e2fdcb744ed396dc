"""Gradients: `backward` and `grad`, modes, functions with a backward of their own, and what is made of them."""

from __future__ import annotations

from .. import _core
from .._package import functions_stay
from .batched import grad
from .function import Function, once_differentiable
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

backward = _core.backward
is_grad_enabled = _core.is_grad_enabled

functions_stay(__name__, "gradcheck")

# Names that are imported when they are first used, and the modules that have them.
_LAZY = {
    "anomaly_mode": None,
    "detect_anomaly": "anomaly_mode",
    "set_detect_anomaly": "anomaly_mode",
    "gradcheck": "gradcheck",
    "gradgradcheck": "gradcheck",
    "forward_ad": None,
    "functional": None,
    "graph": None,
    "profiler": None,
    "variable": None,
    "Variable": "variable",
    "_profiler_enabled": "profiler",
    "jacobian": "functional",
    "hessian": "functional",
}


def __getattr__(name: str):
    """Imports what is rarely used when it is first used."""
    import importlib

    if name not in _LAZY:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    module = importlib.import_module(f".{_LAZY[name] or name}", __name__)
    value = getattr(module, name) if _LAZY[name] else module
    globals()[name] = value
    return value
