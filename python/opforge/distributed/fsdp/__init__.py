"""Modules whose parameters are spread over processes, which need process groups: names for programs that ask whether a module is one."""

from __future__ import annotations

import enum

from ..._absent import absent_names
from ...nn import Module
from .. import _REASON

_CLASSES = """
CPUOffloadPolicy FSDPModule FullOptimStateDictConfig FullStateDictConfig LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision
MixedPrecisionPolicy OffloadPolicy OptimStateDictConfig ShardedOptimStateDictConfig ShardedStateDictConfig StateDictConfig CPUOffload
"""
globals().update(absent_names(__name__, _REASON, functions="fully_shard register_fsdp_forward_method", classes=_CLASSES))


class FullyShardedDataParallel(Module):
    """A module whose parameters are spread over processes."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"FullyShardedDataParallel: {_REASON}")


class StateDictType(enum.Enum):
    """How states would be saved."""

    FULL_STATE_DICT, LOCAL_STATE_DICT, SHARDED_STATE_DICT = range(1, 4)


class OptimStateKeyType(enum.Enum):
    """What states of optimizers would be saved by."""

    PARAM_NAME, PARAM_ID = range(1, 3)


class ShardingStrategy(enum.Enum):
    """What would be spread."""

    FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, _HYBRID_SHARD_ZERO2 = range(1, 6)


class BackwardPrefetch(enum.Enum):
    """When parameters would be gathered."""

    BACKWARD_PRE, BACKWARD_POST = range(1, 3)
