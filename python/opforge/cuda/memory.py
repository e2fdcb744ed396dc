"""The functions of `cuda` about memory."""

from __future__ import annotations

from .. import cuda as _cuda

_NAMES = """
empty_cache max_memory_allocated max_memory_reserved mem_get_info memory_allocated memory_reserved memory_snapshot memory_stats memory_summary
reset_peak_memory_stats
"""
globals().update({name: getattr(_cuda, name) for name in _NAMES.split()})
