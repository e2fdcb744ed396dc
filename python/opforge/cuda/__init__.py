"""Tensors on NVIDIA's GPUs: which there are, their memory, and waiting for them.

    x = opforge.ones(3, device="cuda")          or x.cuda(), x.to("cuda:1"), module.cuda()

The driver and NVRTC, which compiles kernels on first use, are looked for when they are first asked for: on the system, in folders of `OPFORGE_CUDA_PATH`, and
among packages (`pip install nvidia-cuda-nvrtc`). Where there is no GPU, questions have answers, memory is 0 bytes, and what needs one is a DeviceAbsentError.
"""

from __future__ import annotations

from .. import _core
from .._absent.accelerators import DeviceAbsentError
from .._core import OutOfMemoryError
from .._tensors.typed import types_on
from .devices import *  # noqa: F403
from .graphs import *  # noqa: F403
from .memory import *  # noqa: F403
from .random import *  # noqa: F403
from .streams import *  # noqa: F403

globals().update(types_on("cuda"))

AcceleratorError = CudaError = DeferredCudaCallError = DeviceAbsentError
has_half = has_magma = False
_lazy_init = init  # noqa: F405


class MemPool:
    """Memory of one's own for tensors, which devices do not have: a RuntimeError."""

    def __init__(self, *args, **kwargs):
        init()  # noqa: F405
        raise RuntimeError("MemPool(): the driver has one pool of memory a device")


def __getattr__(name: str):
    """Imports submodules when they are first used, and asks for the devices that there are."""
    import importlib

    if name in ("amp", "nvtx"):
        return importlib.import_module(f".{name}", __name__)
    if name == "default_generators":
        return (_core.default_generator,) * device_count()  # noqa: F405
    # Packages ask before they fork.
    if name == "_initialized":
        return is_initialized()  # noqa: F405
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
