"""How tensors are spread over processes, which need process groups."""

from __future__ import annotations

from . import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]
