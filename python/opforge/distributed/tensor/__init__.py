"""Tensors that are spread over processes, which need process groups: names for programs that ask whether a tensor is one."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

_FUNCTIONS = "distribute_module distribute_tensor empty full ones rand randn zeros"
_CLASSES = "DTensor DeviceMesh"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes=_CLASSES))
