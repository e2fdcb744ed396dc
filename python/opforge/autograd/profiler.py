"""`opforge.profiler` under the older name."""

from __future__ import annotations

import contextlib

from ..profiler import EventList, FunctionEvent, profile, record_function
from ..profiler import is_recording as _profiler_enabled  # noqa: F401  packages ask `autograd._profiler_enabled()`

__all__ = ["EventList", "FunctionEvent", "emit_itt", "emit_nvtx", "profile", "record_function"]


@contextlib.contextmanager
def emit_nvtx(enabled=True, record_shapes=False):
    """A context in which calls would be ranges for NVIDIA's profiler, which is for CUDA alone: nothing is different."""
    yield


emit_itt = emit_nvtx
