"""The machine's accelerator: CUDA's devices, where there are any. Functions are those of `opforge.cuda`."""

from __future__ import annotations

from . import _core, cuda as _cuda
from .cuda import (  # noqa: F401  PyTorch's names
    current_device as current_device_idx, current_device as current_device_index, current_stream, device as device_index, device_count, empty_cache,
    get_device_capability, is_available, max_memory_allocated, max_memory_reserved, memory_allocated, memory_reserved, memory_stats,
    reset_accumulated_memory_stats, reset_peak_memory_stats, set_device as set_device_idx, set_device as set_device_index, set_stream, synchronize,
)  # fmt: skip


def current_accelerator(check_available=False):
    """The accelerator's type as a device, `device("cuda")`; None where there is none."""
    return _core.device("cuda") if _cuda.is_available() else None
