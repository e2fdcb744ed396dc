"""cuDNN, which computes convolutions on CUDA devices where it is found. `allow_tf32` says how precisely it does those of float32; other switches keep what they are
set to and change nothing: results are the same at every run always."""

from __future__ import annotations

import sys
import types

from .. import _core
from ._switches import flags_of

enabled, benchmark, deterministic, benchmark_limit, fp32_precision = True, False, False, 10, "none"
allow_tf32: bool

flags = flags_of(__name__, enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none")


def version():
    """Its version as one number, 90100 for 9.1.0; None where it is not found."""
    found = _core._cuda_cudnn_version()
    if found is None:
        return None
    major, minor, patch = found
    return major * (10000 if major >= 9 else 1000) + minor * 100 + patch


def is_available() -> bool:
    """Whether it is found."""
    return version() is not None


def is_acceptable(tensor) -> bool:
    """Whether it takes tensors of a device and dtype."""
    return tensor.is_cuda and tensor.dtype in (_core.float16, _core.bfloat16, _core.float32, _core.float64) and is_available()


class _Module(types.ModuleType):
    @property
    def allow_tf32(self) -> bool:
        """Whether convolutions of float32 may be computed as TF32, whose fractions have 10 bits."""
        return _core._cuda_tf32_convolutions()

    @allow_tf32.setter
    def allow_tf32(self, allowed):
        _core._cuda_set_tf32_convolutions(bool(allowed))


sys.modules[__name__].__class__ = _Module
