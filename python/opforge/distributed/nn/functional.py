"""Collective calls with gradients, which need process groups."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON, ReduceOp

__all__ = ["ReduceOp"]

_FUNCTIONS = "all_gather all_reduce all_to_all all_to_all_single broadcast gather reduce reduce_scatter scatter"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS))
