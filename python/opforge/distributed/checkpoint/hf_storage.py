"""Checkpoints of several processes in `.safetensors`: names for programs that import them."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_CLASSES = "HuggingFaceStorageReader HuggingFaceStorageWriter"
globals().update(absent_names(__name__, _REASON, classes=_CLASSES))
