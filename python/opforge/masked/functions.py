"""Reductions and normalizations of the elements that a mask of bools says are there.

Masked out elements are replaced by what changes no result, such as 0 in a sum. `mask` broadcasts to the input; without one all elements are there.
Where none are, a sum is 0, a product 1, a maximum the least number, a mean, variance or softmax NaN, and the place of an extreme is 0.
"""

from __future__ import annotations

import math

from .. import _core as _C
from .._calls.arguments import dim_from_0, name_arguments


def _with_dtype(input, dtype):
    return input if dtype is None else input.to(dtype)


def _there(input, mask):
    """The mask in the input's shape."""
    if mask is None:
        return _C.ones(input.shape, dtype=_C.bool, device=input.device)
    if mask.dtype != _C.bool:
        raise TypeError(f"mask of dtype {mask.dtype}, expected bool")
    if mask.dim() > input.dim():
        raise IndexError(f"mask of {mask.dim()} dimensions, expected at most the {input.dim()} of the input")
    return mask.expand(input.shape)


def _filled(input, mask, value):
    return input if mask is None else input.masked_fill(~_there(input, mask), value)


def _dims(input, dim):
    dims = range(input.dim()) if dim is None or dim == () else [dim] if isinstance(dim, int) else dim
    dims = [dim_from_0(d, max(input.dim(), 1)) for d in dims]
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"dim={dim}, expected each dimension once")
    return [] if input.dim() == 0 else dims


def _lowest(dtype):
    return -math.inf if dtype.is_floating_point else _C.iinfo(dtype).min


def _greatest(dtype):
    return math.inf if dtype.is_floating_point else _C.iinfo(dtype).max


def _wide(dtype):
    """The dtype in which numbers of this one are added and multiplied."""
    return dtype if dtype.is_floating_point or dtype.is_complex else _C.int64


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum along `dim`, or of all."""
    input = _filled(input.to(dtype or _wide(input.dtype)), mask, 0)
    return input.sum(_dims(input, dim), keepdim) if input.dim() else input


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product along `dim`, or of all."""
    input = _filled(input.to(dtype or _wide(input.dtype)), mask, 1)
    for d in sorted(_dims(input, dim), reverse=True):
        input = input.prod(d, keepdim)
    return input


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The greatest element along `dim`, or of all."""
    input = _with_dtype(input, dtype)
    return _filled(input, mask, _lowest(input.dtype)).amax(_dims(input, dim), keepdim)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The least element along `dim`, or of all."""
    input = _with_dtype(input, dtype)
    return _filled(input, mask, _greatest(input.dtype)).amin(_dims(input, dim), keepdim)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the greatest element along `dim`, or among all."""
    input = _with_dtype(input, dtype)
    return _filled(input, mask, _lowest(input.dtype)).argmax(dim, keepdim)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the least element along `dim`, or among all."""
    input = _with_dtype(input, dtype)
    return _filled(input, mask, _greatest(input.dtype)).argmin(dim, keepdim)


def _count(input, dim, keepdim, mask):
    return sum(_there(input, mask).to(_C.int64), dim, keepdim=keepdim)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean along `dim`, or of all; NaN of none."""
    dtype = dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"mean: dtype {dtype}, expected a floating point or complex one")
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, keepdim, mask)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance along `dim`, or of all: squares over their number less `correction`, which is 1 unless given, or 0 if not `unbiased`."""
    if unbiased is not None and correction is not None:
        raise RuntimeError("var: only one of unbiased and correction may be given")
    correction = (1 if unbiased is None else int(unbiased)) if correction is None else correction
    dtype = dtype or (input.dtype if input.is_floating_point() or input.is_complex() else _C.get_default_dtype())
    input = input.to(dtype)
    distance = input - mean(input, dim, keepdim=True, mask=mask)
    squares = (distance * distance.conj()).real if input.is_complex() else distance * distance
    count = _count(input, dim, keepdim, mask) - correction
    return sum(squares, dim, keepdim=keepdim, mask=mask) / count.clamp(min=0)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The root of [`var`]."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The middle one of the elements along `dim`, the lower of two; NaN of none."""
    input = _with_dtype(input, dtype)
    if mask is None:
        return input.median(dim, keepdim).values
    if not input.is_floating_point():
        raise ValueError(f"median: dtype {input.dtype}, expected a floating point one beside a mask, as none is NaN")
    if input.isnan().any().item():
        raise ValueError("median: input with NaN, expected none beside a mask")
    return _filled(input, mask, math.nan).nanmedian(dim, keepdim).values


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of order `ord` along `dim`, or of all."""
    input = _filled(_with_dtype(input, dtype), mask, math.inf if ord == -math.inf else 0)
    return _C.linalg.vector_norm(input, ord, _dims(input, dim), keepdim)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """`log(Σ exp(x))` along `dim`, or of all; minus infinity of none."""
    input = _with_dtype(input, dtype)
    return _filled(input, mask, _lowest(input.dtype)).logsumexp(_dims(input, dim), keepdim)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """`log(exp(input) + exp(other))`, of those that are there."""
    input, other = _with_dtype(input, dtype), _with_dtype(other, dtype)
    return _C.logaddexp(_filled(input, input_mask, -math.inf), _filled(other, other_mask, -math.inf))


def softmax(input, dim, *, dtype=None, mask=None):
    """`exp(x) / Σ exp(x)` along `dim`; 0 where nothing is there beside something that is."""
    return _filled(_with_dtype(input, dtype), mask, -math.inf).softmax(dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of [`softmax`]."""
    return _filled(_with_dtype(input, dtype), mask, -math.inf).log_softmax(dim)


def softmin(input, dim, *, dtype=None, mask=None):
    """[`softmax`] of `-x`."""
    return softmax(-input, dim, dtype=dtype, mask=mask)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """Elements over their norm along `dim`, which is at least `eps`; 0 where nothing is there."""
    input = _filled(_with_dtype(input, dtype), mask, 0)
    return input / norm(input, ord, dim, keepdim=True, mask=mask).clamp(min=eps)


def cumsum(input, dim, *, dtype=None, mask=None):
    """Running sums along `dim`."""
    return _filled(_with_dtype(input, dtype), mask, 0).cumsum(dim)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Running products along `dim`."""
    return _filled(_with_dtype(input, dtype), mask, 1).cumprod(dim)


name_arguments(globals())
