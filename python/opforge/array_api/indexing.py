"""Functions that take elements by index."""

from __future__ import annotations

from opforge import _core

from ._operands import only_axis, place, places_in
from .manipulation import broadcast_shapes

__all__ = ["take", "take_along_axis"]


def take(x, indices, /, *, axis=None):
    """What lies at places of an axis, by a vector of them; negative ones count from the end."""
    axis = only_axis("take", x, axis)
    return _core.index_select(x, axis, places_in("take", indices, x.shape[axis]))


def take_along_axis(x, indices, /, *, axis=-1):
    """Elements at places of an axis, by an array with a place for each; negative ones count from the end. The other axes broadcast."""
    axis = place("take_along_axis", axis, x.ndim)
    shape = broadcast_shapes(*(_with_length(array.shape, axis, 1) for array in (x, indices)))
    x, indices = (array.expand(_with_length(shape, axis, array.shape[axis])) for array in (x, indices))
    return _core.gather(x, axis, places_in("take_along_axis", indices, x.shape[axis]))


def _with_length(shape, axis, length):
    """A shape with another length at an axis."""
    return tuple(length if one == axis else other for one, other in enumerate(shape))
