"""Arithmetic and comparisons where MindSpore's rules are not opforge's; operators of tensors and functions of `ops` are these."""

from __future__ import annotations

from functools import update_wrapper

from .. import _core

Base = _core.Tensor
_BOUNDS = {getattr(_core, f"int{n}"): (-(1 << n - 1), (1 << n - 1) - 1) for n in (8, 16, 32, 64)}
_BOUNDS |= {getattr(_core, f"uint{n}"): (0, (1 << n) - 1) for n in (8, 16, 32, 64)}


def core_dtype(value):
    """opforge's dtype of a tensor, None for what is none."""
    return Base.dtype.__get__(value) if isinstance(value, Base) else None


def comparison(function):
    """A comparison of opforge's, where an integer beyond the dtype of the tensor is greater, or less, than all its elements, as infinity is."""

    def compare(input, other):
        if type(other) is int:
            input, other = _comparable(input, other)
        elif type(input) is int:
            other, input = _comparable(other, input)
        return function(input, other)

    return update_wrapper(compare, function, ("__name__", "__doc__"), ())


def _comparable(tensor, number):
    least, greatest = _BOUNDS.get(core_dtype(tensor), (number, number))
    if least <= number <= greatest:
        return tensor, number
    return Base.to(tensor, _core.float64), float("inf") if number > 0 else float("-inf")


def addition(function):
    """A sum of opforge's, where items of a list or tuple are converted to the tensor's dtype."""

    def add(input, other):
        if type(other) in (list, tuple):
            other = _items(other, input)
        return function(input, other)

    return update_wrapper(add, function, ("__name__", "__doc__"), ())


def subtraction(function):
    """As `addition`, a difference; of two of Bool, where they differ, Bool counts as Int8 beside another tensor, as Int64 beside a number."""

    def sub(input, other):
        if type(other) in (list, tuple):
            other = _items(other, input)
        if _core.bool in (core_dtype(input), core_dtype(other)):
            if all(core_dtype(value) == _core.bool or type(value) is bool for value in (input, other)):
                return _core.logical_xor(_truths(input), _truths(other))
            narrowest = _core.int8 if isinstance(input, Base) and isinstance(other, Base) else _core.int64
            input, other = (Base.to(value, narrowest) if core_dtype(value) == _core.bool else value for value in (input, other))
        return function(input, other)

    return update_wrapper(sub, function, ("__name__", "__doc__"), ())


def _truths(value):
    return _core.tensor(value) if type(value) is bool else value


def _items(other, tensor):
    return _core.tensor(other).to(core_dtype(tensor))


def power(input, exponent):
    """`input` to the power of `exponent`. Negative powers of integers are rounded towards zero: those of 1 and -1 are left, and 0 has 0."""
    if type(exponent) is int and exponent < 0 and core_dtype(input) in _BOUNDS:
        return _core.where(_core.abs(input) == 1, _core.pow(input, -exponent), _core.zeros_like(input))
    return _core.pow(input, exponent)


add, sub = addition(_core.add), subtraction(_core.sub)


def absolute(input):
    """The absolute value; Bool is left."""
    return Base.clone(input) if core_dtype(input) == _core.bool else _core.abs(input)


def logical_not(input):
    """Where elements are 0."""
    return _core.logical_not(input)


def real_div(x, y):
    """The quotient; of integers rounded towards zero."""
    if all(core_dtype(value) in _BOUNDS or type(value) is int for value in (x, y)):
        return _core.div(x, y, rounding_mode="trunc")
    return _core.div(x, y)


def mean(x, axis=None, keep_dims=False, dtype=None):
    """The mean along axes; of integers rounded towards zero, in their dtype."""
    core = core_dtype(x)
    if core in _BOUNDS and dtype is None:
        return _core.mean(Base.to(x, _core.float64), axis, keep_dims).to(core)
    return _core.mean(x, axis, keep_dims, dtype=dtype)


def deviation(function, input, axis=None, ddof=0, keepdims=False):
    """The variance or standard deviation, the sum of squares divided by the number of elements less `ddof`; of integers in Float32."""
    input = Base.to(input, _core.float32) if core_dtype(input) in _BOUNDS else input
    return function(input, axis, correction=ddof, keepdim=keepdims)


def cumsum(x, axis, dtype=None):
    """Running sums along an axis; of Bool and of integers below 64 bits in Int32."""
    narrow = core_dtype(x) == _core.bool or core_dtype(x) in _BOUNDS and core_dtype(x) not in (_core.int64, _core.uint64, _core.uint32)
    return _core.cumsum(x, axis, dtype=_core.int32 if narrow and dtype is None else dtype)


def with_int32(found):
    """Values and indices, these as Int32: MindSpore's kernels of sorting give them so."""
    return found[0], Base.to(found[1], _core.int32)


def reduced(function, input, axis, keepdims, initial, where):
    """An extreme (`amax` or `amin`) of the elements that `where` selects, and of `initial`."""
    if where is not None and where is not True:
        if initial is None:
            raise ValueError("where: initial is missing (accepted: where with initial, which stands for the other elements)")
        input = _core.where(where, input, initial)
    axes = () if axis is None else axis
    found = function(input, axes, keepdims)
    if initial is None:
        return found
    return (_core.maximum if function is _core.amax else _core.minimum)(found, _core.full_like(found, initial))


def sliced(tensor, index):
    """The tensor reversed where slices of `index` have a negative step, and the index with positive ones."""
    items = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(item, slice) and isinstance(item.step, int) and item.step < 0 for item in items):
        return tensor, index
    dim, reversed_dims, made = 0, [], []
    consumed = sum(_dims_of(item) for item in items if item is not Ellipsis)
    for item in items:
        if isinstance(item, slice) and isinstance(item.step, int) and item.step < 0:
            reversed_dims.append(dim)
            item = _reversed(item, tensor.shape[dim])
        made.append(item)
        dim += len(tensor.shape) - consumed if item is Ellipsis else _dims_of(item)
    return Base.flip(tensor, reversed_dims), tuple(made)


def indexed(tensor, index):
    """The elements at an index, whose slices may have negative steps."""
    return Base.__getitem__(*sliced(tensor, index))


def _dims_of(item) -> int:
    if item is None or item is True or item is False:
        return 0
    return item.ndim if core_dtype(item) == _core.bool else 1


def _reversed(item, size):
    positions = range(*item.indices(size))
    start = size - 1 - positions.start
    return slice(start, start + len(positions) * -positions.step, -positions.step) if positions else slice(0, 0)


# Operators of tensors.
OF_TENSORS = {
    **{f"__{name}__": comparison(getattr(Base, f"__{name}__")) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"__{name}__": addition(getattr(Base, f"__{name}__")) for name in ("add", "radd")},
    **{f"__{name}__": subtraction(getattr(Base, f"__{name}__")) for name in ("sub", "rsub")},
    "__pow__": power,
    "__abs__": absolute,
    "__invert__": logical_not,
    "__getitem__": indexed,
    "__round__": lambda input, ndigits=0: _core.round(input, decimals=ndigits or 0),
}
