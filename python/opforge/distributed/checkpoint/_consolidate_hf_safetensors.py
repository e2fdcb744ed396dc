"""Parts of `.safetensors` made one: names for programs that import them."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_FUNCTIONS = "consolidate_safetensors_files consolidate_safetensors_files_on_every_rank"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS))
