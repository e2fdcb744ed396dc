"""`distributed.tensor` under its older name."""

from __future__ import annotations

from .. import tensor


def __getattr__(name):
    return getattr(tensor, name)
