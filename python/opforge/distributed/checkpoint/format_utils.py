"""Checkpoints of several processes as files of one: names for programs that import them."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_FUNCTIONS = "dcp_to_torch_save torch_save_to_dcp"
_CLASSES = "_EmptyStateDictLoadPlanner"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes=_CLASSES))
