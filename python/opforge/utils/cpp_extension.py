"""Extensions compiled against PyTorch, which opforge cannot load: names for programs that import them. `opforge.custom_op` compiles kernels."""

from __future__ import annotations

import os

from .._absent import absent_names

CUDA_HOME = os.environ.get("CUDA_HOME")
ROCM_HOME = None
_REASON = "PyTorch's C++ interface is not there; opforge.custom_op compiles and loads kernels"
_FUNCTIONS = "CUDAExtension CppExtension include_paths library_paths load load_inline is_ninja_available"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes="BuildExtension"))
