"""Inputs of which some ranks have more than others: names for programs that import them."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_CLASSES = "Join JoinHook Joinable"
globals().update(absent_names(__name__, _REASON, classes=_CLASSES))
