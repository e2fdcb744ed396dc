"""What programs ask about CUDA before they use it. This build has none: see `_absent/accelerators.py`."""

from __future__ import annotations

from .._absent.accelerators import DeviceAbsentError, absent_device
from .._tensors.typed import absent_types
from .._core import OutOfMemoryError

globals().update(absent_device("CUDA"))
globals().update(absent_types("cuda"))

AcceleratorError = CudaError = DeferredCudaCallError = DeviceAbsentError
has_half = has_magma = False
default_generators = ()
# Whether CUDA has been started, which packages ask before they fork.
_initialized = False
StreamContext = stream  # noqa: F821  from absent_device


def _lazy_init():
    """Starts CUDA, which is not there: an error."""
    raise DeviceAbsentError("cuda: opforge is built without CUDA: there is no such device")


class CUDAGraph:
    """A graph of CUDA's kernels: needs CUDA."""

    def __init__(self, *args, **kwargs):
        raise DeviceAbsentError("CUDAGraph: opforge is built without CUDA: there is no such device")


graph = ExternalStream = CUDAGraph


def __getattr__(name: str):
    """Imports submodules when they are first used."""
    import importlib

    if name in ("amp", "memory", "nvtx", "random", "streams"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
