"""States that are spread over processes: names for programs that import them."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_FUNCTIONS = "_load_state_dict load load_state_dict"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS))
