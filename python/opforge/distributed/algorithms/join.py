"""Blocks for several objects with different numbers of inputs, which are not there: `DistributedDataParallel.join` is such a block for one model."""

from __future__ import annotations

from ..._absent import absent_names

_ABSENT = "opforge has DistributedDataParallel.join alone"
globals().update(absent_names(__name__, _ABSENT, classes="Join JoinHook Joinable"))
