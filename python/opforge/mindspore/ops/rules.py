"""What a `Custom` declares of its outputs, `out_shape` and `out_dtype`: a value, a tuple of them, or a function of the inputs'."""

from __future__ import annotations

from numbers import Integral

from ..dtype import TensorType, Type, to_core


def shapes(declared, inputs):
    """The outputs' shapes for inputs of these shapes, as lists, and whether the result is a tuple."""
    value = declared(*(list(shape) for shape in inputs)) if callable(declared) else declared
    found, several = _split("out_shape", value, _is_shape)
    return [[int(size) for size in shape] for shape in found], several


def dtypes(declared, inputs):
    """The outputs' dtypes, as opforge's, for inputs of these dtypes, and whether the result is a tuple."""
    value = declared(*inputs) if callable(declared) else declared
    found, several = _split("out_dtype", value, lambda item: isinstance(item, (Type, TensorType)))
    return [to_core(dtype.element_type() if isinstance(dtype, TensorType) else dtype) for dtype in found], several


def _split(argument, value, is_one):
    if is_one(value):
        return [value], False
    if isinstance(value, (tuple, list)) and all(map(is_one, value)):
        return value, True
    one = "a shape" if argument == "out_shape" else "a mindspore.dtype"
    raise TypeError(f"Custom: {argument} is {value!r} (accepted: {one}, a tuple of them, or a function that returns one of these)")


def _is_shape(value) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(size, Integral) for size in value)
