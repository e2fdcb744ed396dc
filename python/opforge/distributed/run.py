"""PyTorch's launcher, whose part `opforge run -n` has."""

from __future__ import annotations

from .._absent import absent_names
from . import _REASON

_FUNCTIONS = "get_args_parser main parse_args run"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS))
