"""Functions of sliding windows that are made of other poolings."""

from __future__ import annotations

import functools
import math

from .. import _core as _C
from .._calls.arguments import name_arguments
from .._calls.intercept import shown

_nn = _C.nn


def _tuple(value, dims):
    return (value,) * dims if isinstance(value, int) else tuple(value)


def _lp_pool(dims, input, norm_type, kernel_size, stride, ceil_mode):
    """The root of the windows' sums of powers, a sum being the average times the count; at the ends of p, the greatest or least magnitude."""
    if norm_type == 0:
        raise ValueError(f"lp_pool{dims}d: norm_type=0, expected another number: there is no 0th root")
    if norm_type in (math.inf, -math.inf):
        sign = math.copysign(1.0, norm_type)
        greatest = getattr(_nn, f"max_pool{dims}d")
        return sign * greatest(sign * input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    pool = getattr(_nn, f"avg_pool{dims}d")
    average = pool(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    count = math.prod(_tuple(kernel_size, dims))
    return (average.sign() * average.abs().relu() * count).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """`(Σ x^p)^(1/p)` of each window of `(N, C, L)` or `(C, L)`, `p` being `norm_type`: `max |x|` for inf, `min |x|` for -inf."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """[`lp_pool1d`] of `(N, C, H, W)` or `(C, H, W)`."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """[`lp_pool1d`] of `(N, C, D, H, W)` or `(C, D, H, W)`."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _unpooled_size(lengths, kernel_size, stride, padding, output_size):
    """The lengths before pooling: those asked for, which must be within a stride of the usual ones."""
    usual = [(n - 1) * s - 2 * p + k for n, k, s, p in zip(lengths, kernel_size, stride, padding)]
    if output_size is None:
        return usual
    output_size = list(output_size)
    if len(output_size) not in (len(usual), len(usual) + 1, len(usual) + 2):
        raise ValueError(f"output_size should have {len(usual)} or {len(usual) + 2} elements, but it has {len(output_size)}")
    output_size = output_size[-len(usual):]
    for d, (length, wanted, s) in enumerate(zip(usual, output_size, stride)):
        if not length - s < wanted < length + s:
            raise ValueError(f"invalid output_size {output_size} (dim {d} must be between {length - s} and {length + s})")
    return output_size


def _max_unpool(dims, input, indices, kernel_size, stride, padding, output_size):
    """Each value at its index among the elements of its channel, zeros elsewhere."""
    kernel_size, padding = _tuple(kernel_size, dims), _tuple(padding, dims)
    stride = kernel_size if stride is None else _tuple(stride, dims)
    size = _unpooled_size(input.shape[-dims:], kernel_size, stride, padding, output_size)
    flat = _C.zeros((*input.shape[:-dims], math.prod(size)), dtype=input.dtype, device=input.device)
    flat = flat.scatter(-1, indices.flatten(-dims), input.flatten(-dims))
    return flat.reshape(*input.shape[:-dims], *size)


@shown
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Undoes `max_pool1d`: puts maxima back where their `indices` say, zeros elsewhere."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


@shown
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Undoes `max_pool2d`: puts maxima back where their `indices` say, zeros elsewhere."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


@shown
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Undoes `max_pool3d`: puts maxima back where their `indices` say, zeros elsewhere."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


def _adaptive(name):
    """The core's pooling of that name; None as a size keeps the length, which the core calls -1."""
    pool = getattr(_nn, name)

    @functools.wraps(pool)
    def adaptive(input, output_size, *args, **kwargs):
        if isinstance(output_size, (tuple, list)):
            output_size = [-1 if size is None else size for size in output_size]
        return pool(input, output_size, *args, **kwargs)

    return adaptive


adaptive_avg_pool2d = _adaptive("adaptive_avg_pool2d")
adaptive_avg_pool3d = _adaptive("adaptive_avg_pool3d")
adaptive_max_pool2d = _adaptive("adaptive_max_pool2d")
adaptive_max_pool3d = _adaptive("adaptive_max_pool3d")


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """`x / (k + alpha * mean(x²))^beta`, the mean over `size` neighbouring channels (Krizhevsky et al., 2012)."""
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    channels_last = (input * input).movedim(1, -1)
    squares = channels_last.reshape(-1, 1, input.size(1))
    mean = _nn.avg_pool1d(_nn.pad(squares, (size // 2, (size - 1) // 2)), size, 1)
    return input / (mean.reshape(channels_last.shape).movedim(-1, 1) * alpha + k).pow(beta)


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
):
    """`(N, C, *)` to the spatial `size`, or to `scale_factor` times it.

    `mode` is nearest, nearest-exact, linear, bilinear, bicubic, trilinear, or area, which is adaptive averaging. `align_corners` puts the
    corner elements' centers, rather than their outer edges, on top of each other.
    """
    if mode != "area":
        return _nn.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    dims = input.dim() - 2
    if align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    if (size is None) == (scale_factor is None):
        raise ValueError("either size or scale_factor should be defined, and not both")
    if size is None:
        factors = _tuple(scale_factor, dims) if isinstance(scale_factor, (int, tuple, list)) else (scale_factor,) * dims
        size = [math.floor(length * factor) for length, factor in zip(input.shape[2:], factors)]
    return getattr(_nn, f"adaptive_avg_pool{dims}d")(input, _tuple(size, dims))


upsample = interpolate


def upsample_nearest(input, size=None, scale_factor=None):
    """[`interpolate`] by the nearest element."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input, size=None, scale_factor=None):
    """[`interpolate`] bilinearly with aligned corners."""
    return interpolate(input, size, scale_factor, "bilinear", True)


name_arguments(globals())
