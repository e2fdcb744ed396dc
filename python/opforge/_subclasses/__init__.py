"""Tensors that PyTorch's own tracers use. opforge traces with plain tensors."""

from __future__ import annotations

from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
