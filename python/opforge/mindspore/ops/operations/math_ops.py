"""Operators of arithmetic that are made with arguments: reductions, products, running sums."""

from __future__ import annotations

from .... import _core
from ... import operators
from ...operators import Base
from .. import function
from .configured import configured


def _product(x, y, transpose_a, transpose_b):
    return function.matmul(x.swapaxes(-1, -2) if transpose_a else x, y.swapaxes(-1, -2) if transpose_b else y)


def _matrices(input, mat2, *, transpose_a=False, transpose_b=False):
    """The product of two matrices, each transposed first if told so."""
    if input.ndim != 2 or mat2.ndim != 2:
        raise ValueError(f"MatMul: {input.ndim} and {mat2.ndim} dimensions (accepted: 2 and 2; see ops.matmul)")
    return _product(input, mat2, transpose_a, transpose_b)


def _batches(x, y, *, transpose_a=False, transpose_b=False):
    """The products of matrices, the last two dimensions, each transposed first if told so."""
    return _product(x, y, transpose_a, transpose_b)


def _sum(x, axis=(), *, keep_dims=False, skip_mode=False):
    """The sum along axes: a number or a tuple, all of them if it is (), which changes nothing with `skip_mode`."""
    return x if skip_mode and axis == () else function.reduce_sum(x, axis, keep_dims)


def _along(reduce, x, axis, keep_dims):
    """A reduction along one axis after the other, the last one first."""
    axes = range(x.ndim) if axis in (None, ()) else (axis,) if isinstance(axis, int) else axis
    for one in sorted((item % x.ndim for item in axes), reverse=True):
        x = reduce(x, one, keep_dims)
    return x


def _running(input, axis, *, exclusive=False, reverse=False):
    """Running sums along an axis, in the dtype of the input; from its end with `reverse`, without the element itself if `exclusive`."""
    given = _core.flip(input, axis) if reverse else input
    found = _core.cumsum(given, axis, dtype=operators.core_dtype(input))
    found = found - given if exclusive else found
    return _core.flip(found, axis) if reverse else found


def _place(find, x, axis, output_type):
    return Base.to(find(x, axis), output_type)


_OPERATORS = {
    "ArgMaxWithValue": lambda input, *, axis=0, keep_dims=False: tuple(_core.max(input, axis, keep_dims))[::-1],
    "ArgMinWithValue": lambda input, *, axis=0, keep_dims=False: tuple(_core.min(input, axis, keep_dims))[::-1],
    "Argmax": lambda input_x, *, axis=-1, output_type=_core.int32: _place(_core.argmax, input_x, axis, output_type),
    "Argmin": lambda x, *, axis=-1, output_type=_core.int32: _place(_core.argmin, x, axis, output_type),
    "BatchMatMul": _batches,
    "CumProd": lambda x, axis: _core.cumprod(x, axis),
    "CumSum": _running,
    "MatMul": _matrices,
    "ReduceAll": lambda x, axis=(), *, keep_dims=False: _along(_core.all, x, axis, keep_dims),
    "ReduceAny": lambda x, axis=(), *, keep_dims=False: _along(_core.any, x, axis, keep_dims),
    "ReduceMax": lambda x, axis=(), *, keep_dims=False: function.reduce_max(x, axis, keep_dims),
    "ReduceMean": lambda x, axis=(), *, keep_dims=False: function.reduce_mean(x, axis, keep_dims),
    "ReduceMin": lambda x, axis=(), *, keep_dims=False: function.reduce_min(x, axis, keep_dims),
    "ReduceProd": lambda x, axis=(), *, keep_dims=False: _along(lambda *args: _core.prod(*args, dtype=operators.core_dtype(x)), x, axis, keep_dims),
    "ReduceSum": _sum,
}
globals().update(configured(_OPERATORS, __name__))
__all__ = list(_OPERATORS)
