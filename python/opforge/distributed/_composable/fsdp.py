"""`distributed.fsdp` under its older name."""

from __future__ import annotations

from .. import fsdp


def __getattr__(name):
    return getattr(fsdp, name)
