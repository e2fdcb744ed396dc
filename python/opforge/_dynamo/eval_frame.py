"""The class of compiled modules under PyTorch's name, which programs look for in order to unwrap them (`_orig_mod`)."""

from __future__ import annotations

from ..graph import CompiledModule as OptimizedModule

__all__ = ["OptimizedModule"]
