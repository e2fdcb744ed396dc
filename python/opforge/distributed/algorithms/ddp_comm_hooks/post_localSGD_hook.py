"""Averages now and then: names for programs that import them."""

from __future__ import annotations

from ...._absent import absent_names
from ... import _REASON

_FUNCTIONS = "post_localSGD_hook"
_CLASSES = "PostLocalSGDState"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes=_CLASSES))
