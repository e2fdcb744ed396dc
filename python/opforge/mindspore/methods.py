"""Tensors' methods whose arguments or results are not those of opforge's; importing this module gives them to `Tensor`."""

from __future__ import annotations

import numpy as np

from .. import _core
from . import operators
from .adapters import adapted
from .dtype import to_core
from .operators import Base
from .ops.function import array_func, math_func, nn_func
from .tensor import Tensor

# Functions that are methods as they are, the tensor first.
_FUNCTIONS = """
    absolute add addcdiv addcmul argmin argsort dot equal expand_dims gather_elements gather_nd index_fill median
    not_equal norm one_hot pow prod reverse round scatter sort sub topk
""".split()
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "less", "less_equal", "greater", "greater_equal")


def _max(self, dim=None, keepdim=False, *, axis=None, keepdims=False, initial=None, where=None, return_indices=False):
    """The largest element. With `axis`: the largest along it, and their indices if `return_indices`; with `dim`, always both."""
    return _extreme(_core.max, _core.amax, self, (dim, keepdim), (axis, keepdims, initial, where), return_indices)


def _min(self, dim=None, keepdim=False, *, axis=None, keepdims=False, initial=None, where=None, return_indices=False):
    """The smallest element. With `axis`: the smallest along it, and their indices if `return_indices`; with `dim`, always both."""
    return _extreme(_core.min, _core.amin, self, (dim, keepdim), (axis, keepdims, initial, where), return_indices)


def _extreme(with_indices, alone, tensor, by_dim, by_axis, return_indices):
    axis, keepdims, initial, where = by_axis
    if by_dim[0] is not None and not isinstance(by_dim[0], (tuple, list)):
        return tuple(with_indices(tensor, *by_dim))
    if return_indices and axis is not None:
        return tuple(with_indices(tensor, axis, keepdims))
    return operators.reduced(alone, tensor, by_dim[0] if axis is None else axis, keepdims, initial, where)


def _transpose(self, *axes, axis0=None, axis1=None):
    """The dimensions in the order of `axes` (numbers, or a tuple of them); reversed if there are none.

    Two numbers for a tensor of more than two dimensions are exchanged.
    """
    axes = tuple(axes[0]) if len(axes) == 1 and not isinstance(axes[0], int) else axes
    if not axes:
        axes = range(self.ndim)[::-1]
    if len(axes) == 2 and self.ndim > 2:
        return Base.transpose(self, *axes)
    return Base.permute(self, *axes)


def _sum(self, axis=None, dtype=None, keepdims=False, initial=None, *, dim=None, keepdim=False, keep_dims=False):
    """The sum along axes (all of them at first), and of `initial`. The second argument is a dtype, or whether sizes of 1 are kept."""
    if isinstance(dtype, bool):
        dtype, keepdims = None, dtype
    found = _core.sum(self, dim if axis is None else axis, keepdims or keepdim or keep_dims, dtype=dtype)
    return found if initial is None else found + initial


def _mean(self, axis=None, keep_dims=False, *, dim=None, keepdim=False, keepdims=False, dtype=None):
    """The mean along axes (all of them at first); of integers rounded towards zero, in their dtype."""
    return operators.mean(self, dim if axis is None else axis, keep_dims or keepdim or keepdims, dtype)


def _deviation(function):
    def method(self, axis=None, ddof=0, keepdims=False, *, dim=None, unbiased=None, correction=None, keepdim=False):
        ddof = correction if correction is not None else ddof if unbiased is None else int(unbiased)
        return operators.deviation(function, self, dim if axis is None else axis, ddof, keepdims or keepdim)

    method.__doc__ = "Along `axis`, or of all elements: the sum of squares is divided by their number less `ddof`. Of integers in Float32."
    return method


def _gather(self, input_indices, axis=None, batch_dims=0, *, dim=None, index=None):
    """Slices at indices along an axis; with a number first, or `dim` and `index`, opforge's `gather` along that dimension."""
    if isinstance(input_indices, int):
        return _core.gather(self, input_indices, Base.to(axis if index is None else index, _core.int64))
    return array_func._gathered(self, input_indices, axis, batch_dims)


def _flatten(self, order="C", *, start_dim=0, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim` as one, the elements in rows, or with "F" in columns."""
    if isinstance(order, int):
        return Base.flatten(self, order, end_dim)
    return array_func._flat(self, order, start_dim, end_dim) if self.ndim else self.reshape((1,))


def _cumsum(self, axis=None, dtype=None, *, dim=None):
    """Running sums along an axis, or of all elements; of Bool and of integers below 64 bits in Int32."""
    axis = dim if axis is None else axis
    return operators.cumsum(self.reshape(-1), 0, dtype) if axis is None else operators.cumsum(self, axis, dtype)


def _itemset(self, *args):
    """Writes a number: the only element, or the one at an index; returns the tensor."""
    index = args[:-1][0] if len(args) == 2 else args[:-1]
    flat = isinstance(index, int) and self.ndim != 1
    place = tuple(map(int, np.unravel_index(index, self.shape))) if flat else index if index != () else Ellipsis
    self[place] = args[-1]
    return self


def _scattered(self, indices, updates, reduce):
    """Writes at the places that the last axis of `indices` says, and combines what is there with the updates."""
    places = tuple(index.reshape(-1) for index in array_func._places(indices))
    made = Base.clone(self)
    rest = self.shape[len(places) :]
    for place, update in zip(zip(*(place.tolist() for place in places)), updates.reshape((-1, *rest)).unbind(0)):
        made[place] = reduce(made[place], update)
    return made


def _resize(self, *new_shape):
    """The elements in another shape: those at the end are left out, or zeros added."""
    shape = tuple(new_shape[0]) if len(new_shape) == 1 and not isinstance(new_shape[0], int) else new_shape
    count, flat = int(np.prod(shape)), Base.reshape(self, -1)
    missing = count - flat.numel()
    return (_core.cat([flat, _core.zeros(missing, dtype=flat.dtype)]) if missing > 0 else flat[:count]).reshape(shape)


def _tuple_of_sizes(method, name):
    def call(self, *sizes, **named):
        sizes = sizes or (named.pop(name),)
        return method(self, *sizes, **named)

    call.__doc__ = method.__doc__
    return call


_METHODS = {
    **{name: (array_func.FUNCTIONS | math_func.FUNCTIONS)[name] for name in _FUNCTIONS},
    **{name: math_func.FUNCTIONS[name] for name in _COMPARISONS},
    "abs": operators.absolute,
    "all": lambda self, axis=None, keep_dims=False, *, dim=None, keepdim=False: _core.all(self, dim if axis is None else axis, keep_dims or keepdim),
    "any": lambda self, axis=None, keep_dims=False, *, dim=None, keepdim=False: _core.any(self, dim if axis is None else axis, keep_dims or keepdim),
    "argmax_with_value": lambda self, axis=0, keep_dims=False: tuple(_core.max(self, axis, keep_dims)),
    "argmin_with_value": lambda self, axis=0, keep_dims=False: tuple(_core.min(self, axis, keep_dims)),
    "broadcast_to": lambda self, *shape: array_func.FUNCTIONS["broadcast_to"](self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape),
    "cumsum": _cumsum,
    "fill": lambda self, value: _core.full_like(self, value),
    "fills": lambda self, value: _core.full_like(self, value),
    "flatten": _flatten,
    "gather": _gather,
    "imag": lambda self: _core.imag(self),
    "init_data": lambda self, slice_index=None, shape=None, opt_shard_group=None: self,
    "inv": lambda self: _core.reciprocal(self),
    "invert": lambda self: _core.bitwise_not(self),
    "itemset": _itemset,
    "max": _max,
    "mean": _mean,
    "min": _min,
    "permute": _tuple_of_sizes(Base.permute, "axis"),
    "ptp": lambda self, axis=None, keepdims=False: _core.amax(self, axis or (), keepdims) - _core.amin(self, axis or (), keepdims),
    "real": lambda self: _core.real(self),
    "resize": _resize,
    "scatter_div": lambda self, indices, updates: _scattered(self, indices, updates, _core.div),
    "scatter_max": lambda self, indices, updates: _scattered(self, indices, updates, _core.maximum),
    "scatter_min": lambda self, indices, updates: _scattered(self, indices, updates, _core.minimum),
    "scatter_mul": lambda self, indices, updates: _scattered(self, indices, updates, _core.mul),
    "scatter_sub": lambda self, indices, updates: _scattered(self, indices, updates, _core.sub),
    "softmax": lambda self, axis=-1, dtype=None, *, dim=None: nn_func.FUNCTIONS["softmax"](self, axis if dim is None else dim, dtype=dtype),
    "std": _deviation(_core.std),
    "sum": _sum,
    "transpose": _transpose,
    "var": _deviation(_core.var),
}


def _set_dtype(self, dtype):
    """Converts the tensor itself to a dtype, which is returned."""
    Base.data.__set__(self, Base.to(Base.detach(self), to_core(dtype)))
    return dtype


for _name, _method in adapted(_METHODS, Base).items():
    setattr(Tensor, _name, _method)
Tensor.set_dtype = _set_dtype
