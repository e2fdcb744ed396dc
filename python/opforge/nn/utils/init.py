"""Modules without the work of initializing them."""

from __future__ import annotations

import inspect

from ..modules.module import Module


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters and buffers hold anything: made without memory, then given some. Its class must take `device` and use
    it for all tensors."""
    if not isinstance(module_cls, type) or not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
