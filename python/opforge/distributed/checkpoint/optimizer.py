"""States of optimizers that are spread over processes: names for programs that import them."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_FUNCTIONS = "load_sharded_optimizer_state_dict"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS))
