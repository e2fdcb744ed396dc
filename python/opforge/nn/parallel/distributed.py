"""`DistributedDataParallel` under the name of the file that PyTorch has it in."""

from __future__ import annotations

from . import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
