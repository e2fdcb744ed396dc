"""Products of matrices and vectors."""

from __future__ import annotations

import opforge
from opforge import _core

from ._operands import place, promoted

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1, x2, /):
    """The product of matrices, or of stacks of them, which broadcast; a vector is a row on the left and a column on the right."""
    return _core.matmul(*promoted(x1, x2))


def matrix_transpose(x, /):
    """A view with the last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: x with {x.ndim} axes, expected at least 2")
    return x.mT


def tensordot(x1, x2, /, *, axes=2):
    """The products over axes, summed: over the last `axes` of `x1` and the first of `x2`, or over the pairs that two sequences name."""
    return opforge.tensordot(*promoted(x1, x2), dims=axes)


def vecdot(x1, x2, /, *, axis=-1):
    """The products along an axis, summed; complex numbers of `x1` are conjugated."""
    x1, x2 = promoted(x1, x2)
    lengths = [x.shape[place("vecdot", axis, x.ndim)] for x in (x1, x2)]
    if lengths[0] != lengths[1]:
        raise ValueError(f"vecdot: x1 and x2 of lengths {lengths[0]} and {lengths[1]} along axis {axis}, expected the same")
    return _core.sum(_core.conj(x1) * x2, axis, dtype=x1.dtype)
