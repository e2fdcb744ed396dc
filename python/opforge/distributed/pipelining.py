"""Layers on several processes: names for programs that import them."""

from __future__ import annotations

from .._absent import absent_names
from . import _REASON

_FUNCTIONS = "pipe_split pipeline"
_CLASSES = "PipelineStage Schedule1F1B ScheduleGPipe SplitPoint"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes=_CLASSES))
