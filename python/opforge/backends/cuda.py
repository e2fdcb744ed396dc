"""How cuBLAS computes products of matrices of float32, and whether long attention of halves may be cuDNN's: other switches change nothing."""

from __future__ import annotations

import contextlib
import sys
import types

from .. import _core, _settings

# Multiplications of queries and keys from which on attention is cuDNN's, where that is allowed.
_LONG = 1 << 32


class _Products(types.SimpleNamespace):
    @property
    def allow_tf32(self) -> bool:
        """Whether products of matrices of float32 may be computed as TF32: whether `opforge.get_float32_matmul_precision()` is not "highest"."""
        return _settings.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed):
        _settings.set_float32_matmul_precision("high" if allowed else "highest")


matmul = _Products(allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True, fp32_precision="none")
cufft_plan_cache = types.SimpleNamespace(size=0, max_size=0, clear=lambda: None)

_kernels = dict.fromkeys(("flash", "math", "mem_efficient", "cudnn"), True)


def is_built() -> bool:
    """Whether opforge is made for CUDA, with or without a GPU: it is."""
    return True


def _allow(**kernels):
    _kernels.update({kernel: bool(allowed) for kernel, allowed in kernels.items()})
    _core._cuda_set_least_attention_of_cudnn(_LONG if _kernels["cudnn"] else sys.maxsize)


def _switch(kernel):
    def enable(enabled):
        """Keeps what it is told. That of cuDNN decides whether attention of halves is ever cuDNN's; calls like those before keep their kernels."""
        _allow(**{kernel: enabled})

    return enable, lambda: _kernels[kernel]


enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """A context in which other kernels for attention are allowed."""
    before = dict(_kernels)
    _allow(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _allow(**before)


def is_flash_attention_available() -> bool:
    """Whether there is CUDA's kernel."""
    return False


def preferred_linalg_library(backend=None):
    """Ignored: factorisations are opforge's own."""


preferred_blas_library = preferred_linalg_library
