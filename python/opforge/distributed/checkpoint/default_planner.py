"""How states are put into files of several processes: names for programs that import them."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_CLASSES = "DefaultLoadPlanner DefaultSavePlanner"
globals().update(absent_names(__name__, _REASON, classes=_CLASSES))
