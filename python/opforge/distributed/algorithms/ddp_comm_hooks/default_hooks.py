"""Gradients in half precision on their way: names for programs that import them."""

from __future__ import annotations

from ...._absent import absent_names
from ... import _REASON

_FUNCTIONS = "allreduce_hook bf16_compress_hook bf16_compress_wrapper fp16_compress_hook fp16_compress_wrapper"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS))
