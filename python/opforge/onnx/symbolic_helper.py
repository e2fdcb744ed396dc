"""Decorators of functions that say how an operator would be exported. No exporter calls them."""

from __future__ import annotations

from .._absent import absent_names


def parse_args(*arg_descriptors):
    """A decorator that gives the function as it is."""
    return lambda fn: fn


def quantized_args(*arg_q_descriptors, scale=None, zero_point=None, quantize_output=True):
    """A decorator that gives the function as it is."""
    return lambda fn: fn


_REASON = "opforge writes no ONNX files; opforge.export.save writes programs"
_FUNCTIONS = "_get_tensor_rank _get_tensor_sizes _is_constant _is_none _maybe_get_const _reshape_helper _squeeze_helper _unimplemented _unsqueeze_helper"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS))
