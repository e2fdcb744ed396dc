"""Gradients of low rank: names for programs that import them."""

from __future__ import annotations

from ...._absent import absent_names
from ... import _REASON

_FUNCTIONS = "batched_powerSGD_hook powerSGD_hook"
_CLASSES = "PowerSGDState"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes=_CLASSES))
