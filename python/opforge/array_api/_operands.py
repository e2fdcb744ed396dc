"""What functions of all chapters do with their arguments: operands promoted, axes checked."""

from __future__ import annotations

from opforge import _core

from .data_type_functions import result_type


def promoted(*operands):
    """Arrays of the one dtype that arrays and Python scalars promote to."""
    dtype = result_type(*operands)
    device = next(x.device for x in operands if isinstance(x, _core.Tensor))
    return [x.to(dtype) if isinstance(x, _core.Tensor) else _core.asarray(x, dtype=dtype, device=device) for x in operands]


def place(op, axis, ndim):
    """An axis, which may be counted from the end, as a number from 0 on."""
    if not -ndim <= axis < ndim:
        raise IndexError(f"{op}: axis {axis}, expected one of {ndim} axes: {-ndim} to {ndim - 1}")
    return axis % ndim


def places(op, axis, ndim):
    """The axes that `axis` names, an axis or several or, as None, all, as numbers from 0 on."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(place(op, one, ndim) for one in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(set(axes)) < len(axes):
        raise ValueError(f"{op}: axis {axis}, expected different axes")
    return axes


def only_axis(op, x, axis):
    """The axis to work along: that of a vector may be left out."""
    if axis is None and x.ndim > 1:
        raise ValueError(f"{op}: no axis for {x.ndim} axes, expected one of them")
    return place(op, 0 if axis is None else axis, x.ndim)
