"""Tensors without elements, under a name of PyTorch's tracer: nothing is one. opforge's are those on the device "meta"."""

from __future__ import annotations

from .._absent import absent_names

_REASON = 'opforge traces with plain tensors; tensors without elements are on the device "meta"'
globals().update(absent_names(__name__, _REASON, classes="FakeTensor FakeTensorMode UnsupportedFakeTensorException"))


def is_fake(x) -> bool:
    """Whether a tensor is one: never."""
    return False
