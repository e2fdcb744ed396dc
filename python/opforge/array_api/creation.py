"""Functions that make arrays."""

from __future__ import annotations

from numbers import Integral

from opforge import _core

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid", "ones", "ones_like", "tril",
    "triu", "zeros", "zeros_like",
]  # fmt: skip


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """The numbers from `start` on, `step` apart, before `stop`; with one number, those from 0 on before it. None where `step` leads away."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step 0, expected another number")
    if (stop - start) * step <= 0:
        stop = start
    if dtype is None and any(isinstance(number, float) for number in (start, stop, step)):
        dtype = _core.get_default_dtype()
    return _core.arange(start, stop, step, dtype=dtype, device=device)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of a number, nested sequences of numbers, another array or a buffer, whose memory it shares where nothing has to change. It never
    does with `copy=True`; with `copy=False` it always does, or there is a `ValueError`."""
    obj = memoryview(obj) if isinstance(obj, bytes) else obj
    return _core.asarray(obj, dtype=dtype, device=device, copy=copy)


def empty(shape, *, dtype=None, device=None):
    """An array of any elements."""
    return _core.empty(_shape(shape), dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """An array of any elements, in the shape of another."""
    return _core.empty_like(x, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """A matrix of 1 on the `k`th diagonal above the main one, or below it for negative `k`, and 0 elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    matrix = _core.zeros((n_rows, n_cols), dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        matrix.diagonal(k).fill_(1)
    return matrix


def from_dlpack(x, /, *, device=None, copy=None):
    """An array over the memory of another library's, which shows it by `__dlpack__`; of a copy with `copy=True`, and, unless there is `copy=False`,
    where the memory cannot be ours: with negative strides, or not aligned."""
    if not hasattr(x, "__dlpack__"):
        raise AttributeError(f"from_dlpack: a {type(x).__name__} has no __dlpack__")
    try:
        return _core.from_dlpack(x, device=device, copy=copy)
    except ValueError:
        if copy is False:
            raise
        return _core.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=True), device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """An array of one number, whose kind the dtype is of unless it is given."""
    return _core.full(_shape(shape), _number(fill_value), dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """An array of one number, in the shape of another."""
    return _core.full_like(x, _number(fill_value), dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers, evenly spaced from `start` to `stop`; the last is one step before it with `endpoint=False`."""
    if num < 0:
        raise ValueError(f"linspace: num {num}, expected 0 or more")
    numbers = _core.linspace(start, stop, num if endpoint else num + 1, dtype=dtype, device=device)
    return numbers if endpoint else numbers[:num]


def meshgrid(*arrays, indexing="xy"):
    """The coordinates of a grid, of which vectors are the axes: each in an array with an axis for each of them. With `'xy'` the first two axes are
    exchanged."""
    return tuple(_core.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def ones(shape, *, dtype=None, device=None):
    """An array of 1."""
    return _core.ones(_shape(shape), dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """An array of 1, in the shape of another."""
    return _core.ones_like(x, dtype=dtype, device=device)


def tril(x, /, *, k=0):
    """Matrices with 0 above the `k`th diagonal."""
    return _core.tril(x, k)


def triu(x, /, *, k=0):
    """Matrices with 0 below the `k`th diagonal."""
    return _core.triu(x, k)


def zeros(shape, *, dtype=None, device=None):
    """An array of 0."""
    return _core.zeros(_shape(shape), dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """An array of 0, in the shape of another."""
    return _core.zeros_like(x, dtype=dtype, device=device)


def _shape(shape):
    return (shape,) if isinstance(shape, Integral) else tuple(shape)


def _number(value):
    """A number to fill with, which may be an array of one."""
    return value.item() if isinstance(value, _core.Tensor) else value
