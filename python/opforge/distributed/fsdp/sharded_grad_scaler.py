"""`GradScaler` of modules that are spread over processes: a name for programs that import it."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_CLASSES = "ShardedGradScaler"
globals().update(absent_names(__name__, _REASON, classes=_CLASSES))
