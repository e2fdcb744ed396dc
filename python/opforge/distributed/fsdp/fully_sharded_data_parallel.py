"""`distributed.fsdp` under the name of the file that PyTorch has it in."""

from __future__ import annotations

from . import *  # noqa: F403
from . import BackwardPrefetch, FullyShardedDataParallel, ShardingStrategy, StateDictType

__all__ = ["BackwardPrefetch", "FullyShardedDataParallel", "ShardingStrategy", "StateDictType"]
