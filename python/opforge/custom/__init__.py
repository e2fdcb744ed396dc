"""Custom operators: kernels in C, C++, CUDA and Rust, and functions of Python's, as operators like opforge's own.

>>> add = opforge.custom_op("kernels/add.cc:Add", shapes=0)      # compiled when needed; the output is like input 0
>>> add(x, y)
"""

from __future__ import annotations

from .checker import check
from .inline import load_inline
from .operator import CustomOp, custom_op

__all__ = ["CustomOp", "check", "custom_op", "load_inline"]
