"""`nn.functional` under the name that PyTorch's extension module has for it, and the arguments of `Module.to`."""

from __future__ import annotations

from ..nn import functional
from ..nn.modules._conversion import parse_to as _parse_to  # noqa: F401


def __getattr__(name):
    return getattr(functional, name)
