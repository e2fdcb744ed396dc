"""Filling tensors with their first values, in place and without recording gradients."""

from __future__ import annotations

import functools
import math
import warnings

from .. import _core as _C
from .._calls.arguments import name_arguments as _name_arguments
from ..autograd.grad_mode import no_grad

_GAINS = {"sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
_LINEAR = "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"


def calculate_gain(nonlinearity, param=None):
    """The standard deviation that keeps the variance through `nonlinearity`; `param` is leaky_relu's negative slope."""
    if nonlinearity in _LINEAR:
        return 1.0
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor):
    """How many inputs an output has, and how many outputs an input has."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


_calculate_correct_fan = _fan  # packages have it under PyTorch's name


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Values of `U(a, b)`."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def uniform_bound_(tensor, fan_in):
    """Values of `U(-k, k)` with `k = 1 / sqrt(fan_in)`, or `k = 0` without inputs: how biases start."""
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
    return uniform_(tensor, -bound, bound)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Values of `N(mean, std²)`."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Values of `N(mean, std²)` within `[a, b]`, by the inverse of the distribution function."""

    def cdf(x):
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    with no_grad():
        tensor.uniform_(2 * cdf(a) - 1, 2 * cdf(b) - 1, generator=generator)
        return tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b)


def constant_(tensor, val):
    """The value `val` everywhere."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor):
    """The identity matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(_C.eye(*tensor.shape, dtype=tensor.dtype))


def dirac_(tensor, groups=1):
    """A convolution's weight that passes its input channels on, in each of `groups`."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out_channels, in_channels, *kernel = tensor.shape
    if out_channels % groups:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = out_channels // groups
    with no_grad():
        tensor.zero_()
        center = tensor[(slice(None), slice(None), *(k // 2 for k in kernel))]
        for group in range(groups):
            center[group * per_group : (group + 1) * per_group].copy_(_C.eye(per_group, in_channels, dtype=tensor.dtype))
    return tensor


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """`U(-a, a)` with `a = gain * sqrt(6 / (fan_in + fan_out))` (Glorot and Bengio, 2010)."""
    a = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -a, a, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """`N(0, std²)` with `std = gain * sqrt(2 / (fan_in + fan_out))` (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """`U(-b, b)` with `b = gain * sqrt(3 / fan)` (He et al., 2015); `a` is leaky_relu's negative slope."""
    if 0 in tensor.shape:
        return tensor
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / _fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """`N(0, std²)` with `std = gain / sqrt(fan)` (He et al., 2015); `a` is leaky_relu's negative slope."""
    if 0 in tensor.shape:
        return tensor
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def orthogonal_(tensor, gain=1, generator=None):
    """A (semi) orthogonal matrix, the trailing dimensions taken as one (Saxe et al., 2013)."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, cols = tensor.shape[0], tensor.numel() // tensor.shape[0]
    with no_grad():
        q = _C.empty(min(rows, cols), max(rows, cols), dtype=_C.float64).normal_(0, 1, generator=generator)
        # The factor of Cholesky has a positive diagonal, which makes the distribution uniform (Mezzadri, 2006). The second time removes
        # what the first, of a matrix far from orthogonal, left (Yamamoto et al., 2015).
        for _ in range(2):
            q = _C.linalg.solve(_C.linalg.cholesky(q.matmul(q.t())), q)
        q = q.t() if rows > cols else q
        return tensor.copy_(q.reshape(tensor.shape)).mul_(gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """`N(0, std²)` with a fraction `sparsity` of each column set to zero (Martens, 2010)."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(cols):
            tensor[_C.randperm(rows)[:zeros], column] = 0
    return tensor


# Packages have those that change a tensor without recording it under these names.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_, _no_grad_fill_, _no_grad_zero_ = uniform_, normal_, trunc_normal_, constant_, zeros_


def _without_underscore(fill):
    """A function of PyTorch's older name, `fill`'s without the underscore, which also warns there."""

    @functools.wraps(fill)
    def older(*args, **kwargs):
        warnings.warn(f"`nn.init.{fill.__name__[:-1]}` is now deprecated in favor of `nn.init.{fill.__name__}`.", FutureWarning, stacklevel=2)
        return fill(*args, **kwargs)

    return older


_name_arguments(globals())

uniform, normal, constant, eye, dirac = map(_without_underscore, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = map(_without_underscore, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_without_underscore, (kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_without_underscore, (orthogonal_, sparse_))
