"""The settings of `distributed.fsdp` under the name of the file that PyTorch has them in."""

from __future__ import annotations

from .. import fsdp


def __getattr__(name):
    return getattr(fsdp, name)
