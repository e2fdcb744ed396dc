"""What programs ask about the machine's accelerator. There is none: see `_absent/accelerators.py`."""

from __future__ import annotations

from ._absent.accelerators import absent_device

_FUNCTIONS = absent_device("an accelerator")
_NAMES = """
current_stream device_count empty_cache get_device_capability is_available max_memory_allocated max_memory_reserved memory_allocated memory_reserved
memory_stats reset_accumulated_memory_stats reset_peak_memory_stats synchronize
"""
globals().update({name: _FUNCTIONS[name] for name in _NAMES.split()})
set_device_index = set_device_idx = set_stream = _FUNCTIONS["set_device"]
current_device_index = current_device_idx = _FUNCTIONS["current_device"]
device_index = _FUNCTIONS["device"]


def current_accelerator(check_available=False):
    """The accelerator's device: None."""
    return None
