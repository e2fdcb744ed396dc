"""What functions of all chapters have in common: operands promoted, axes checked, names and documentation of those that are opforge's."""

from __future__ import annotations

from numbers import Integral

from opforge import _core

from .data_type_functions import result_type


def promoted(op, *operands):
    """Arrays of the one dtype that arrays and Python scalars promote to; `OverflowError` for an integer that the dtype does not have."""
    kinds = {x.dtype if isinstance(x, _core.Tensor) else None for x in operands}
    if len(kinds) == 1 and None not in kinds:
        return operands
    dtype = result_type(*operands)
    for x in operands:
        if beyond(x, dtype):
            limits = _core.iinfo(dtype)
            raise OverflowError(f"{op}: integer {x}, expected one of {dtype}: {limits.min} to {limits.max}")
    device = next(x.device for x in operands if isinstance(x, _core.Tensor))
    return [x.to(dtype) if isinstance(x, _core.Tensor) else _core.asarray(x, dtype=dtype, device=device) for x in operands]


def beyond(x, dtype):
    """Where a Python integer lies to a dtype of integers: -1 below them all, 1 above, 0 among them; 0 for what is no integer, and other dtypes."""
    if not isinstance(x, Integral) or dtype is _core.bool or dtype.is_floating_point or dtype.is_complex:
        return 0
    limits = _core.iinfo(dtype)
    return int(x > limits.max) - int(x < limits.min)


def comparable(x1, x2):
    """Operands to compare that promote to one dtype: themselves or, where one is an integer beyond those of the dtype, -1 or 1 for it, and 0 for each
    element of the other, which compare like them."""
    if isinstance(x1, _core.Tensor) and isinstance(x2, _core.Tensor):
        return x1, x2
    dtype = result_type(x1, x2)
    if not (beyond(x1, dtype) or beyond(x2, dtype)):
        return x1, x2
    return tuple(_core.zeros_like(x, dtype=_core.int8) if isinstance(x, _core.Tensor) else beyond(x, dtype) for x in (x1, x2))


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
