"""`distributed.tensor.experimental` under its older name."""

from __future__ import annotations

from ..tensor.experimental import *  # noqa: F403
