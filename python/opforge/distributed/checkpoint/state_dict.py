"""States of modules that are spread over processes, which need process groups."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_FUNCTIONS = "get_model_state_dict get_optimizer_state_dict get_state_dict set_model_state_dict set_optimizer_state_dict set_state_dict"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes="StateDictOptions"))
