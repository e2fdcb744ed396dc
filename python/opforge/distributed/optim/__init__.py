"""Optimizers whose state is spread over processes."""

from __future__ import annotations

from ..._absent import absent_names
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]

_ABSENT = "opforge's distributed optimizers are ZeroRedundancyOptimizer alone"
globals().update(absent_names(__name__, _ABSENT, classes="DistributedOptimizer PostLocalSGDOptimizer"))
