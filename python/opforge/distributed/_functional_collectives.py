"""Collective calls that give new tensors: names for programs that import them."""

from __future__ import annotations

from .._absent import absent_names
from . import _REASON

_FUNCTIONS = "all_gather_tensor all_reduce all_to_all_single all_to_all_single_autograd broadcast reduce_scatter_tensor wait_tensor"
_CLASSES = "AsyncCollectiveTensor"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes=_CLASSES))
