"""The extension `linalg`: decompositions, inverses and norms of matrices."""

from __future__ import annotations

import math
from typing import NamedTuple

from opforge import _core
from opforge._core import is_complex
from opforge._core import linalg as _linalg

from ._operands import place, places, promoted
from .linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import broadcast_shapes
from .statistics import sum as _sum
from .statistics import widened

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
    "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


class EigResult(NamedTuple):
    eigenvalues: _core.Tensor
    eigenvectors: _core.Tensor


class QRResult(NamedTuple):
    Q: _core.Tensor
    R: _core.Tensor


class SlogdetResult(NamedTuple):
    sign: _core.Tensor
    logabsdet: _core.Tensor


class SVDResult(NamedTuple):
    U: _core.Tensor
    S: _core.Tensor
    Vh: _core.Tensor


def cholesky(x, /, *, upper=False):
    """The triangular factor of a positive definite matrix: `x = L L^H`, or `U^H U` with `upper=True`."""
    return _linalg.cholesky(x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """The products of vectors of three elements that are orthogonal to both, along an axis of each, and of the result; the others broadcast."""
    x1, x2 = (_core.movedim(x, place("cross", axis, x.ndim), -1) for x in promoted("cross", x1, x2))
    lengths = [x.shape[-1] for x in (x1, x2)]
    if lengths != [3, 3]:
        raise ValueError(f"cross: x1 and x2 of lengths {lengths[0]} and {lengths[1]} along axis {axis}, expected 3")
    shape = broadcast_shapes(x1.shape, x2.shape)
    return _core.movedim(_linalg.cross(x1.expand(shape), x2.expand(shape), dim=-1), -1, axis)


def det(x, /):
    """The determinant."""
    return _linalg.det(x)


def diagonal(x, /, *, offset=0):
    """A view of the diagonals, which lie along the last axis of the result."""
    return _linalg.diagonal(x, offset=offset)


def eig(x, /):
    """The eigenvalues and eigenvectors, as complex numbers."""
    return EigResult(*_linalg.eig(x))


def eigh(x, /):
    """The eigenvalues and eigenvectors of a symmetric or Hermitian matrix."""
    return EigResult(*_linalg.eigh(x))


def eigvals(x, /):
    """The eigenvalues, as complex numbers."""
    return _linalg.eigvals(x)


def eigvalsh(x, /):
    """The eigenvalues of a symmetric or Hermitian matrix."""
    return _linalg.eigvalsh(x)


def inv(x, /):
    """The inverse."""
    return _linalg.inv(x)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """A norm of matrices: `'fro'`, `'nuc'`, 1, -1, 2, -2, inf or -inf. Those of no elements are 0, but for negative ones."""
    if 0 in x.shape[-2:] and ord in (1, 2, math.inf):
        ord = "fro"
    return _linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x, n, /):
    """The product of `n` times the matrix; of its inverse for negative `n`."""
    return _linalg.matrix_power(inv(x), -n) if n < 0 else _linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are above `rtol` times the largest."""
    return _linalg.matrix_rank(x, rtol=rtol)


def outer(x1, x2, /):
    """The products of all pairs of two vectors' elements."""
    return _core.outer(*promoted("outer", x1, x2))


def pinv(x, /, *, rtol=None):
    """The pseudo-inverse, for which singular values up to `rtol` times the largest are 0."""
    return _linalg.pinv(x, rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """`Q` with orthonormal columns and the triangular `R` whose product is `x`; square `Q` with `mode='complete'`."""
    return QRResult(*_linalg.qr(x, mode))


def slogdet(x, /):
    """The sign of the determinant and the logarithm of its absolute value."""
    return SlogdetResult(*_linalg.slogdet(x))


def solve(x1, x2, /):
    """The solution of `x1 @ solution = x2`. `x2` is a vector, or matrices whose columns are; nothing with more axes is vectors."""
    x1, x2 = promoted("solve", x1, x2)
    if x2.ndim == 1:
        return solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    stacks = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return _linalg.solve(x1.expand(*stacks, *x1.shape[-2:]), x2.expand(*stacks, *x2.shape[-2:]))


def svd(x, /, *, full_matrices=True):
    """`U`, the singular values `S` in descending order, and `Vh`, whose product is `x`."""
    return SVDResult(*_linalg.svd(x, full_matrices))


def svdvals(x, /):
    """The singular values, in descending order."""
    return _linalg.svdvals(x)


def trace(x, /, *, offset=0, dtype=None):
    """The sums along diagonals: in int64 or uint64 of integers."""
    diagonals = widened("trace", diagonal(x, offset=offset), dtype)
    return _sum(diagonals, axis=-1, dtype=diagonals.dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norm of vectors along axes, or of all elements: `(sum |x|^ord)^(1/ord)`, the largest `|x|` for inf (0 of none), the smallest
    for -inf, and how many are not 0 for 0."""
    axes = places("vector_norm", axis, x.ndim)
    x = abs(x) if is_complex(x) or not axes else x
    if not axes:
        return x if ord else (x != 0).to(x.dtype)
    if ord == math.inf and any(x.shape[one] == 0 for one in axes):
        ord = 1
    return _linalg.vector_norm(x, float(ord), axes, keepdims)
