"""Products of matrices and vectors."""

from __future__ import annotations

from numbers import Integral

import opforge
from opforge import _core

from ._operands import places, promoted

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1, x2, /):
    """The product of matrices, or of stacks of them, which broadcast; a vector is a row on the left and a column on the right."""
    return _core.matmul(*promoted("matmul", x1, x2))


def matrix_transpose(x, /):
    """A view with the last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: x with {x.ndim} axes, expected at least 2")
    return x.mT


def tensordot(x1, x2, /, *, axes=2):
    """The products over axes, summed: over the last `axes` of `x1` and the first of `x2`, or over the pairs that two sequences name."""
    x1, x2 = promoted("tensordot", x1, x2)
    pair = _contracted(axes, x1.ndim, x2.ndim)
    lengths = [tuple(x.shape[one] for one in ones) for x, ones in zip((x1, x2), pair)]
    if lengths[0] != lengths[1]:
        raise ValueError(f"tensordot: x1 and x2 of lengths {lengths[0]} and {lengths[1]} along axes {axes}, expected the same")
    return opforge.tensordot(x1, x2, dims=pair)


def _contracted(axes, *ndims):
    """The axes of each operand of `tensordot` that are summed over."""
    if not isinstance(axes, Integral):
        pair = tuple(one if isinstance(one, Integral) else tuple(one) for one in axes)
        if len(pair) != 2:
            raise ValueError(f"tensordot: axes {axes}, expected a number of axes or two sequences of axes")
        return tuple(places("tensordot", one, ndim) for one, ndim in zip(pair, ndims))
    if not 0 <= axes <= min(ndims):
        raise ValueError(f"tensordot: {axes} axes of x1 and x2 with {ndims[0]} and {ndims[1]}, expected 0 to {min(ndims)}")
    return tuple(range(ndims[0] - axes, ndims[0])), tuple(range(axes))


def vecdot(x1, x2, /, *, axis=-1):
    """The products along an axis summed; complex numbers of `x1` are conjugated. Where the arrays differ in their numbers of axes, the axis is negative."""
    x1, x2 = promoted("vecdot", x1, x2)
    if x1.ndim == x2.ndim > axis >= 0:
        axis -= x1.ndim
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        raise IndexError(f"vecdot: axis {axis} of x1 and x2 with {x1.ndim} and {x2.ndim} axes, expected a negative one that both have")
    lengths = [x.shape[axis] for x in (x1, x2)]
    if lengths[0] != lengths[1]:
        raise ValueError(f"vecdot: x1 and x2 of lengths {lengths[0]} and {lengths[1]} along axis {axis}, expected the same")
    return _core.sum(_core.conj(x1) * x2, axis, dtype=x1.dtype)
