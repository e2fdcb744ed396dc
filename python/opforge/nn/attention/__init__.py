"""Attention: what computes it, masks that need no memory, and scores that programs change (`flex_attention`)."""

from __future__ import annotations

import enum
import threading
from contextlib import contextmanager

__all__ = ["SDPBackend", "bias", "flex_attention", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """What PyTorch computes attention by. Here is one kernel, which each of them stands for."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_thread = threading.local()
_ALL = [backend for backend in SDPBackend if backend is not SDPBackend.ERROR]


def _cur_sdpa_kernel_backends(with_priority=False):
    """What `sdpa_kernel` has chosen."""
    return list(getattr(_thread, "backends", _ALL))


@contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A block, or a decorated function, in which `scaled_dot_product_attention` is to be computed by one of `backends`, an `SDPBackend` or a list of
    them. The choice is remembered and changes nothing: kernels are chosen by the call, and take any arguments."""
    backends = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(backends, list) or not all(isinstance(backend, SDPBackend) for backend in backends):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    before, _thread.backends = _cur_sdpa_kernel_backends(), list(dict.fromkeys(backends))
    try:
        yield {}
    finally:
        _thread.backends = before


def __getattr__(name):
    """Imports what is rarely used when it is first used."""
    import importlib

    if name in ("bias", "flex_attention"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
