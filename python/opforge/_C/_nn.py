"""`nn.functional` under the name that PyTorch's extension module has for it."""

from __future__ import annotations

from ..nn import functional


def __getattr__(name):
    return getattr(functional, name)
