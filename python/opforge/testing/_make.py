"""Tensors of random elements for tests."""

from __future__ import annotations

import math

from .. import _core

# Where elements of a dtype lie unless told otherwise: [low, high).
_FLOATING, _INTEGRAL = (-9, 9), (-9, 10)


def make_tensor(
    *shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False, memory_format=None
):
    """A tensor of elements drawn evenly from `[low, high)`, by default [-9, 9), whole numbers for dtypes of them, [0, 9] for uint8, [0, 2) for bool.

    With `exclude_zero` no element is 0; with `noncontiguous` elements lie two apart.
    """
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    size = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape else shape
    tensor = _drawn(size, dtype, device, low, high)
    if exclude_zero:
        tensor[tensor == 0] = _core.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
    if noncontiguous and shape:
        tensor = tensor[..., ::2]
    return tensor.requires_grad_() if requires_grad else tensor


def _drawn(size, dtype, device, low, high):
    if dtype is _core.bool:
        low, high = (0 if low is None else low), (2 if high is None else high)
        return _core.randint(low, high, size, device=device).to(dtype)
    if dtype.is_complex:
        part = _core.empty(0, dtype=dtype).real.dtype
        return _core.complex(_drawn(size, part, device, low, high), _drawn(size, part, device, low, high))
    if dtype.is_floating_point:
        low, high = _bounds(low, high, _FLOATING, _core.finfo(dtype))
        # Floats of 8 bits are rounded: none is drawn itself.
        drawn = _core.float32 if dtype.itemsize == 1 else dtype
        return _core.empty(size, dtype=drawn, device=device).uniform_(low, high).to(dtype)
    default = (0, 10) if dtype is _core.uint8 else _INTEGRAL
    info = _core.iinfo(dtype)
    low, high = _bounds(low, high, default, info)
    return _core.randint(math.ceil(low), math.ceil(high), size, dtype=dtype, device=device)


def _bounds(low, high, default, info):
    low, high = (default[0] if low is None else low), (default[1] if high is None else high)
    if not low < high:
        raise ValueError(f"make_tensor: `low` must be less than `high`, but got {low} >= {high}")
    return max(low, info.min), min(high, info.max)
