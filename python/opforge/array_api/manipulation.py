"""Functions that move elements, or view them in another shape."""

from __future__ import annotations

import math
from numbers import Integral

import opforge
from opforge import _core

from ._operands import place, places, promoted, whole
from .info import MAX_RANK

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims", "repeat", "reshape", "roll",
    "squeeze", "stack", "tile", "unstack",
]  # fmt: skip


def broadcast_arrays(*arrays):
    """Views of the arrays in the one shape that they broadcast to."""
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return tuple(x.expand(shape) for x in arrays)


def broadcast_shapes(*shapes):
    """The shape that shapes broadcast to; without any, that of a number."""
    try:
        return tuple(opforge.broadcast_shapes(*shapes))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def broadcast_to(x, /, shape):
    """A view in a shape that `x` broadcasts to."""
    if broadcast_shapes(x.shape, shape) != tuple(shape):
        raise ValueError(f"broadcast_to: x of shape {tuple(x.shape)}, expected one that broadcasts to {tuple(shape)}")
    return x.expand(tuple(shape))


def concat(arrays, /, *, axis=0):
    """Arrays joined along an axis; flattened first where it is None."""
    arrays = promoted("concat", *arrays)
    if axis is None:
        return _core.concat([x.reshape(-1) for x in arrays])
    if len({x.ndim for x in arrays}) > 1:
        raise ValueError(f"concat: arrays with {', '.join(str(x.ndim) for x in arrays)} axes, expected the same number")
    return _core.concat(arrays, place("concat", axis, arrays[0].ndim))


def expand_dims(x, /, axis):
    """A view with axes of length 1 at one or several places of the result."""
    axes = (axis,) if isinstance(axis, Integral) else tuple(axis)
    for one in sorted(places("expand_dims", axes, x.ndim + len(axes))):
        x = x.unsqueeze(one)
    return x


def flip(x, /, *, axis=None):
    """The elements in reverse order along axes, or all of them."""
    return _core.flip(x, places("flip", axis, x.ndim))


def moveaxis(x, source, destination, /):
    """A view with axes at other places; the rest keep their order."""
    return _core.movedim(x, source, destination)


def permute_dims(x, /, axes):
    """A view with the axes in another order."""
    return x.permute(places("permute_dims", tuple(axes), x.ndim))


def repeat(x, repeats, /, *, axis=None):
    """Each element, or each slice along an axis, `repeats` times: one number for all, or an array of a number for each."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = place("repeat", axis, x.ndim)
    if isinstance(repeats, _core.Tensor):
        repeats = whole("repeat", "repeats", repeats).expand(x.shape[axis])
    return _core.repeat_interleave(x, repeats, axis)


def reshape(x, /, shape, *, copy=None):
    """The elements in another shape, of which one length may be -1: the one that fits. A view where that is possible; never with `copy=True`, and
    always, or a `ValueError`, with `copy=False`."""
    if copy is False:
        try:
            return x.view(tuple(shape))
        except RuntimeError as error:
            raise ValueError(str(error)) from None
    return (x.clone() if copy else x).reshape(tuple(shape))


def roll(x, /, shift, *, axis=None):
    """The elements some places further along axes, the last ones to the front; without axes, as if the array were flat. The
    shifts of an axis that is named again add up."""
    if axis is None:
        return _core.roll(x.reshape(-1), shift, 0).reshape(x.shape)
    axes = tuple(place("roll", one, x.ndim) for one in ((axis,) if isinstance(axis, Integral) else axis))
    shifts = (shift,) * len(axes) if isinstance(shift, Integral) else tuple(shift)
    return _core.roll(x, shifts, axes) if axes or shifts else x.clone()


def squeeze(x, /, axis):
    """A view without axes of length 1."""
    axes = places("squeeze", axis, x.ndim)
    long = [one for one in axes if x.shape[one] != 1]
    if long:
        raise ValueError(f"squeeze: axis {axis} of shape {tuple(x.shape)}, expected axes of length 1")
    return x.reshape([length for one, length in enumerate(x.shape) if one not in axes])


def stack(arrays, /, *, axis=0):
    """Arrays of one shape joined along a new axis."""
    arrays = promoted("stack", *arrays)
    return _core.stack(arrays, place("stack", axis, arrays[0].ndim + 1))


def tile(x, repetitions, /):
    """The whole array, `repetitions` times along each of the last axes."""
    repetitions = tuple(repetitions)
    ndim = max(x.ndim, len(repetitions))
    if 2 * ndim <= MAX_RANK:
        return _core.tile(x, repetitions)
    # The core needs an axis more for each, so that they are tiled one after the other, as the second of two: all from it on.
    tiled = x.clone().reshape((1,) * (ndim - x.ndim) + tuple(x.shape))
    for axis, times in enumerate(repetitions, ndim - len(repetitions)):
        if times != 1:
            shape = tiled.shape[:axis] + (tiled.shape[axis] * times,) + tiled.shape[axis + 1 :]
            tiled = _core.tile(tiled.reshape(math.prod(tiled.shape[:axis]), math.prod(tiled.shape[axis:])), (1, times)).reshape(shape)
    return tiled


def unstack(x, /, *, axis=0):
    """Views of what lies at each place of an axis."""
    return tuple(_core.unbind(x, place("unstack", axis, x.ndim)))
