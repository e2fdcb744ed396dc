"""What distributions share: broadcasting of parameters, probabilities and their logits, lazy properties, triangles as vectors."""

from __future__ import annotations

from functools import update_wrapper
from math import isqrt
from numbers import Number

from .. import _core as _C
from .._calls.functions import broadcast_shapes
from ..autograd.grad_mode import enable_grad
from ..graph import is_compiling

__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """The values as tensors of one shape. Numbers take dtype and device of the first tensor, or the default ones if there is none.

    Raises ValueError for values that are neither numbers nor tensors.
    """
    if wrong := [type(value).__name__ for value in values if not isinstance(value, (Number, _C.Tensor))]:
        raise ValueError(f"broadcast_all: an argument is {wrong[0]}, expected numbers and tensors")
    tensors = [value for value in values if isinstance(value, _C.Tensor)]
    like = {"dtype": tensors[0].dtype, "device": tensors[0].device} if tensors else {"dtype": _C.get_default_dtype()}
    return tuple(_C.broadcast_tensors(*(v if isinstance(v, _C.Tensor) else _C.tensor(v, **like) for v in values)))


def common_batch(*parameters):
    """Expands tensors, each given with the number of its event dimensions, to the batch shape that they broadcast to."""
    batch = broadcast_shapes(*(p.shape[: p.dim() - event] for p, event in parameters))
    return [p.expand(batch + p.shape[p.dim() - event :]) for p, event in parameters]


def _standard_normal(shape, dtype, device):
    return _C.randn(shape, dtype=dtype, device=device)


def open_uniform(shape, dtype, device):
    """Uniform random numbers that are never 0, nor 1: logarithms of them, and of their distance from 1, are finite."""
    info = _C.finfo(dtype)
    return _C.rand(shape, dtype=dtype, device=device).clamp(info.tiny, 1 - info.eps / 2)


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    return value.sum(tuple(range(-dim, 0))) if dim else value


def clamp_probs(probs):
    """Probabilities kept a rounding step away from 0 and 1, where their logits would be infinite."""
    eps = _C.finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def logits_to_probs(logits, is_binary=False):
    """Probabilities from log-odds, if binary, else from unnormalised log-probabilities along the last dimension."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs, is_binary=False):
    """The inverse of [`logits_to_probs`]; probabilities of 0 and 1 are taken as [`clamp_probs`] has them."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:
    """A property that is computed when it is first read and kept in the instance's dictionary from then on. Gradients are recorded whatever the
    mode, since the value outlives the block that asked for it; what a trace computes does not outlive it and is not kept."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        if not is_compiling():
            setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat, diag=0):
    """The lower triangles of matrices as vectors, row by row; `diag` is the last diagonal that belongs to them."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"tril_matrix_to_vec: diag={diag}, expected {-n} to {n - 1}")
    rows, columns = _C.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec, diag=0):
    """The inverse of [`tril_matrix_to_vec`]: square matrices with these lower triangles, zero elsewhere."""
    length, b = vec.shape[-1], 1 + 2 * diag
    # The length is (n² + b n - |diag| (diag + 1)) / 2, solved for n.
    root = isqrt(b * b + 8 * length + 4 * abs(diag) * (diag + 1))
    n = (root - b) // 2
    if n * n + b * n - abs(diag) * (diag + 1) != 2 * length:
        raise ValueError(f"vec_to_tril_matrix: {length} elements, which no square matrix has up to the diagonal {diag}")
    rows, columns = _C.tril_indices(n, n, diag)
    flat = vec.new_zeros(vec.shape[:-1] + (n * n,))
    places = (rows * n + columns).expand(vec.shape)
    return flat.scatter(-1, places, vec).reshape(vec.shape[:-1] + (n, n))
