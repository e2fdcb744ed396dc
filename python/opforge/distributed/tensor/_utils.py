"""Where the parts of tensors lie: names for programs that import them."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_FUNCTIONS = "compute_local_shape_and_global_offset"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS))
