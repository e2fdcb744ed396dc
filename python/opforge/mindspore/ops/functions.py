"""Functions of tensors: opforge's, with MindSpore's dtypes and, where they differ, its names and arguments."""

from __future__ import annotations

from ... import _core
from ...autograd import no_grad
from ..dtype import to_core
from ..tensor import Base, adopt, adopting

# What has the same name, arguments and meaning in both.
_SAME = """
    abs acos acosh add all any arange argmax argmin asin asinh atan atan2 atanh bmm broadcast_to cat ceil chunk clamp cos cosh cumprod
    cumsum div dot eq erf erfc exp expm1 eye flip floor floor_divide fmod full_like ge gt isfinite isinf isnan le log log10 log1p log2
    logical_and logical_not logical_or logical_xor lt matmul maximum mean minimum mul ne neg ones_like permute pow prod reciprocal
    remainder round rsqrt sigmoid sign sin sinh split sqrt square squeeze stack sub sum swapaxes tan tanh tile tril triu trunc unbind
    unsqueeze where zeros_like
"""
_OF_NETWORKS = "cross_entropy elu gelu l1_loss leaky_relu mse_loss nll_loss relu relu6 silu softplus"
_OWN = """
    absolute assign cast clip_by_value concat equal expand_dims flatten full greater greater_equal less less_equal log_softmax max min
    negative not_equal ones reduce_max reduce_mean reduce_min reduce_sum reshape select softmax stop_gradient tensor_pow transpose zeros
"""


def _take(names, source):
    """Functions of a module, under their names here."""
    for name in names.split():
        globals()[name] = adopting(getattr(source, name))


_take(_SAME, _core)
_take(_OF_NETWORKS, _core.nn)
__all__ = f"{_SAME} {_OF_NETWORKS} {_OWN}".split()

absolute = abs  # noqa: F821
concat = cat  # noqa: F821
expand_dims = unsqueeze  # noqa: F821
equal, greater, greater_equal, less, less_equal, not_equal = eq, gt, ge, lt, le, ne  # noqa: F821
negative = neg  # noqa: F821
select = where  # noqa: F821
tensor_pow = pow  # noqa: F821


def cast(input, dtype):
    """The elements of a tensor, or a number, as `dtype`.

    >>> cast(Tensor([1.5, 2.5]), mindspore.int32)
    Tensor(shape=[2], dtype=Int32, value= [1, 2])
    """
    core = to_core(dtype)
    return adopt(Base.to(input, core) if isinstance(input, Base) else _core.tensor(input, dtype=core))


def reshape(input, shape):
    """The elements in another shape, a tuple or list; one of its sizes may be -1."""
    return adopt(_core.reshape(input, tuple(shape)))


def transpose(input, input_perm):
    """The dimensions in another order, a tuple that names each once."""
    return adopt(_core.permute(input, tuple(input_perm)))


def flatten(input, order="C", *, start_dim=1, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim` as one."""
    if order != "C":
        raise ValueError(f"flatten: order must be 'C', not {order!r}")
    return adopt(_core.flatten(input, start_dim if input.ndim > 1 else 0, end_dim))


def zeros(size, dtype=None):
    """A tensor of zeros, `Float32` unless told otherwise."""
    return _filled(_core.zeros, size, dtype)


def ones(size, dtype=None):
    """A tensor of ones, `Float32` unless told otherwise."""
    return _filled(_core.ones, size, dtype)


def full(size, fill_value, *, dtype=None):
    """A tensor of one number, whose dtype follows from it unless told otherwise."""
    return _filled(_core.full, size, dtype, fill_value)


def _filled(function, size, dtype, *value):
    size = (size,) if isinstance(size, int) else tuple(size)
    return adopt(function(size, *value, dtype=None if dtype is None else to_core(dtype)))


def softmax(input, axis=-1, *, dtype=None):
    """Exponentials along `axis`, divided by their sum."""
    return adopt(_core.nn.softmax(input if dtype is None else cast(input, dtype), axis))


def log_softmax(logits, axis=-1):
    """The logarithm of `softmax`."""
    return adopt(_core.nn.log_softmax(logits, axis))


def clip_by_value(x, clip_value_min=None, clip_value_max=None):
    """The elements, none less than the one bound and none greater than the other."""
    return adopt(_core.clamp(x, clip_value_min, clip_value_max))


def stop_gradient(value):
    """The same elements, as a constant."""
    return adopt(value.detach())


def assign(variable, value):
    """Writes the elements of `value`, of the same shape, into a parameter; returns the parameter."""
    if tuple(variable.shape) != tuple(value.shape):
        raise ValueError(f"assign: value has shape {tuple(value.shape)} (accepted: {tuple(variable.shape)}, the variable's)")
    with no_grad():
        variable.copy_(value)
    return variable


def reduce_sum(x, axis=None, keep_dims=False):
    """The sum along axes (a number or several; all of them at first), in the dtype of `x`."""
    return _reduced(_core.sum, x, axis, keep_dims, dtype=Base.dtype.__get__(x))


def reduce_mean(x, axis=None, keep_dims=False):
    """The mean along axes (a number or several; all of them at first)."""
    return _reduced(_core.mean, x, axis, keep_dims)


def reduce_max(x, axis=None, keep_dims=False):
    """The largest element along axes (a number or several; all of them at first)."""
    return _reduced(_core.amax, x, axis, keep_dims)


def reduce_min(x, axis=None, keep_dims=False):
    """The smallest element along axes (a number or several; all of them at first)."""
    return _reduced(_core.amin, x, axis, keep_dims)


def _reduced(function, x, axis, keep_dims, **options):
    axes = range(x.ndim) if axis is None or axis == () else axis
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    return adopt(function(x, axes, keep_dims, **options))


def max(input, axis=None, keepdims=False):
    """The largest elements along `axis` and their indices; without an axis, the largest of all, and 0."""
    return _with_index(_core.max, input, axis, keepdims)


def min(input, axis=None, keepdims=False):
    """The smallest elements along `axis` and their indices; without an axis, the smallest of all, and 0."""
    return _with_index(_core.min, input, axis, keepdims)


def _with_index(function, input, axis, keepdims):
    found = (function(input), _core.tensor(0)) if axis is None else tuple(function(input, axis, keepdims))
    return adopt(found)
