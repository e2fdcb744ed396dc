"""Checkpoints of several processes, which need process groups. `opforge.save` writes those of one."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_CLASSES = "DefaultLoadPlanner DefaultSavePlanner FileSystemReader FileSystemWriter"
globals().update(absent_names(__name__, _REASON, functions="async_save load load_state_dict save save_state_dict", classes=_CLASSES))
