"""What functions of all chapters have in common: operands promoted, axes checked, names and documentation of those that are opforge's."""

from __future__ import annotations

from opforge import _core

from .data_type_functions import result_type


def promoted(*operands):
    """Arrays of the one dtype that arrays and Python scalars promote to."""
    kinds = {x.dtype if isinstance(x, _core.Tensor) else None for x in operands}
    if len(kinds) == 1 and None not in kinds:
        return operands
    dtype = result_type(*operands)
    device = next(x.device for x in operands if isinstance(x, _core.Tensor))
    return [x.to(dtype) if isinstance(x, _core.Tensor) else _core.asarray(x, dtype=dtype, device=device) for x in operands]


def places_in(op, indices, length):
    """An array of places along an axis, of which negative ones count from the end, as numbers from 0 on."""
    indices = whole(op, "indices", indices)
    return _core.where(indices < 0, indices + length, indices)


def whole(op, name, x):
    """An array of integers, in int64."""
    if x.dtype is _core.bool or x.dtype.is_floating_point or x.dtype.is_complex:
        raise TypeError(f"{op}: {name} of {x.dtype}, expected integers")
    return x.to(_core.int64)


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


def named(function, name, operation):
    """A function that calls an operation of opforge, with its documentation but for the first line, its parameters."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = operation.__doc__.partition("\n\n")[2]
    return function
