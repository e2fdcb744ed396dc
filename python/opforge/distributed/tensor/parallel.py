"""Plans by which modules are spread over processes, which need process groups."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_CLASSES = "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleOutput RowwiseParallel SequenceParallel"
globals().update(absent_names(__name__, _REASON, functions="loss_parallel parallelize_module", classes=_CLASSES))
