"""The memory of CUDA devices, in bytes. Where there is no GPU there are 0."""

from __future__ import annotations

import collections

from .. import _core
from . import devices

__all__ = [
    "empty_cache", "get_per_process_memory_fraction", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats", "memory_summary", "reset_accumulated_memory_stats",
    "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats", "set_per_process_memory_fraction",
]  # fmt: skip

_Usage = collections.namedtuple("_Usage", "allocated most_allocated reserved most_reserved free total")

# The parts of devices' memory that this process may use, where it was told.
_fractions = {}


def _usage(device):
    return _Usage(*_core._cuda_usage(devices.number(device))) if devices.is_available() else _Usage(0, 0, 0, 0, 0, 0)


def memory_allocated(device=None) -> int:
    """What tensors and kernels use."""
    return _usage(device).allocated


def max_memory_allocated(device=None) -> int:
    """The most of it since the last `reset_peak_memory_stats`."""
    return _usage(device).most_allocated


def memory_reserved(device=None) -> int:
    """What this process holds of a device's memory, used or kept for what comes next."""
    return _usage(device).reserved


def max_memory_reserved(device=None) -> int:
    """The most of it since the last `reset_peak_memory_stats`."""
    return _usage(device).most_reserved


def reset_peak_memory_stats(device=None) -> None:
    """Has the most that was in use counted from now on."""
    if devices.is_available():
        _core._cuda_reset_peak(devices.number(device))


def empty_cache() -> None:
    """Gives what the current device keeps for what comes next back to the system."""
    if devices.is_available():
        _core._cuda_empty_cache(devices.current_device())


def mem_get_info(device=None) -> tuple[int, int]:
    """What no process uses of a device's memory, and all of it."""
    devices.number(device)
    usage = _usage(device)
    return usage.free, usage.total


def memory_stats(device=None) -> dict:
    """What is in use, and what this process holds, now and at most, under PyTorch's names. Empty where there is no GPU."""
    if not devices.is_available():
        return {}
    usage = _usage(device)
    return {
        "allocated_bytes.all.current": usage.allocated, "allocated_bytes.all.peak": usage.most_allocated,
        "reserved_bytes.all.current": usage.reserved, "reserved_bytes.all.peak": usage.most_reserved,
    }  # fmt: skip


def memory_summary(device=None, abbreviated=False) -> str:
    """The figures of `memory_stats` as a text."""
    devices.number(device)
    return "\n".join(f"{name:<30}{value:>16,} bytes" for name, value in memory_stats(device).items())


def memory_snapshot() -> list:
    """Blocks of memory: the driver, which has them, does not tell."""
    return []


def set_per_process_memory_fraction(fraction, device=None) -> None:
    """Has tensors and kernels use such a part of a device's memory at most: OutOfMemoryError beyond it.

    Raises ValueError unless 0 <= fraction <= 1.
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    index = devices.number(device)
    _core._cuda_limit(index, int(fraction * devices.get_device_properties(index).total_memory))
    _fractions[index] = float(fraction)


def get_per_process_memory_fraction(device=None) -> float:
    """The part of a device's memory that may be used; at first all."""
    return _fractions.get(devices.number(device), 1.0)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved
reset_accumulated_memory_stats = reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
