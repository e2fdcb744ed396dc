"""Helpers of packages for process groups."""

from __future__ import annotations

from .._absent import absent_names
from . import _REASON

globals().update(absent_names(__name__, _REASON, functions="_alloc_storage _free_storage _sync_module_states _to_kwargs"))
