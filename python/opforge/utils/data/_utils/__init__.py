"""`utils.data`'s parts under the names of the files that PyTorch has them in."""

from __future__ import annotations

from . import collate, worker

__all__ = ["collate", "worker"]
