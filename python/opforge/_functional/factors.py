"""Factorisations as LAPACK gives them: products with the reflections of QR, and `L D Lᵀ` of symmetric matrices.

Each column of LDL is a step made of operators; matrices of a batch, which choose their own pivots, take them one by one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .. import _core as _C
from .._calls.arguments import name_arguments
from .._calls.functions import broadcast_shapes
from .._calls.intercept import shown
from .._calls.outputs import takes_out
from ..autograd.grad_mode import no_grad


class _LdlFactor(NamedTuple):
    LD: _C.Tensor
    pivots: _C.Tensor


class _LdlFactorEx(NamedTuple):
    LD: _C.Tensor
    pivots: _C.Tensor
    info: _C.Tensor


def _check_matrices(name, tensor):
    if tensor.dim() < 2:
        raise RuntimeError(f"{name}: input of {tensor.dim()} dimensions, expected at least 2: matrices")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError(f"{name}: input of dtype {tensor.dtype}, expected floating point or complex numbers")


def _check_square(name, tensor):
    _check_matrices(name, tensor)
    if tensor.shape[-1] != tensor.shape[-2]:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {tensor.shape[-2]} by {tensor.shape[-1]} matrices")


@shown
@takes_out
def ormqr(input, tau, other, left=True, transpose=False):
    """`Q @ other`, or `other @ Q` if not `left`, for the square `Q` of the reflections that `geqrf` gives; with `transpose` `Qᴴ` stands for `Q`."""
    _check_matrices("ormqr", input)
    rows, count = input.shape[-2:]
    side = -2 if left else -1
    if other.dim() < 2 or other.shape[side] != rows:
        raise RuntimeError(f"ormqr: other.shape[{side}] must be equal to input.shape[-2] = {rows}, got other of shape {tuple(other.shape)}")
    if tau.shape[-1] > count:
        raise RuntimeError(f"ormqr: tau.shape[-1] = {tau.shape[-1]}, expected at most input.shape[-1] = {count}")
    count = tau.shape[-1]
    batch = tuple(input.shape[:-2])
    vectors = _C.cat([input[..., :count], input.new_zeros([*batch, rows, rows - count])], -1)
    factors = _C.cat([tau, tau.new_zeros([*batch, rows - count])], -1)
    Q = _C.linalg.householder_product(vectors, factors)
    Q = Q.mH if transpose else Q
    return Q @ other if left else other @ Q


@takes_out
def ldl_factor(A, *, hermitian=False):
    """[`ldl_factor_ex`], with a RuntimeError where a block of `D` is 0."""
    LD, pivots, info = ldl_factor_ex(A, hermitian=hermitian)
    if (info > 0).any().item():
        raise RuntimeError("linalg.ldl_factor: the factorization has been completed, but the block diagonal matrix D is exactly singular")
    return _LdlFactor(LD, pivots)


@takes_out
def ldl_factor_ex(A, *, hermitian=False, check_errors=False):
    """`A = L D Lᵀ`, or `L D Lᴴ` if `hermitian`, of symmetric or Hermitian matrices, whose lower triangles are read (Bunch and Kaufman, 1977).

    `LD` holds `L`, without its diagonal of ones, and the blocks of 1 or 2 rows of `D`. `pivots`, from 1, say which row each was exchanged with; they are
    negative for the two rows of a block. `info` is 0, or the place of the first block that is 0. There is no gradient.
    """
    if check_errors:
        return _LdlFactorEx(*ldl_factor(A, hermitian=hermitian), _C.zeros(A.shape[:-2], dtype=_C.int32, device=A.device))
    _check_square("linalg.ldl_factor_ex", A)
    n = A.shape[-1]
    parts = [_bunch_kaufman(matrix, hermitian) for matrix in A.detach().reshape(-1, n, n).unbind(0)] if n else []
    LD = _C.stack([part[0] for part in parts]).reshape(A.shape) if parts else A.detach().clone()
    pivots = _C.tensor([part[1] for part in parts], dtype=_C.int32, device=A.device).reshape(A.shape[:-1])
    info = _C.tensor([part[2] for part in parts] if n else [0] * math.prod(A.shape[:-2]), dtype=_C.int32, device=A.device).reshape(A.shape[:-2])
    return _LdlFactorEx(LD, pivots, info)


def _bunch_kaufman(matrix, hermitian):
    """`LD`, pivots and info of one matrix."""
    lower = matrix.tril()
    rest = lower + (lower.tril(-1).mH if hermitian else lower.tril(-1).mT)
    factors, pivots, info, k, n = _C.zeros_like(lower), [], 0, 0, len(matrix)
    while k < n:
        size, other = _pivot(rest)
        block = size - 1
        if other != block:
            order = list(range(len(rest)))
            order[block], order[other] = other, block
            rest = rest[order][:, order]
        D, below = rest[:size, :size], rest[size:, :size]
        if size == 1 and D.abs().item() == 0:
            info = info or k + 1
            L = below
        else:
            L = _C.linalg.solve(D.mT, below.mT).mT if len(below) else below
        factors[k : k + size, k : k + size] = D.tril()
        factors[k + size :, k : k + size] = L
        if len(below):
            rest = rest[size:, size:] - L @ (below.mH if hermitian else below.mT)
        pivots += [k + other + 1] if size == 1 else [-(k + other + 1)] * 2
        k += size
    return factors, pivots, info


def _pivot(rest):
    """How many rows the next block of `D` has, and the row that comes into its last place."""
    sizes = (rest.real.abs() + rest.imag.abs() if rest.is_complex() else rest.abs()).tolist()
    threshold, first = (1 + math.sqrt(17)) / 8, sizes[0][0]
    if len(sizes) == 1:
        return 1, 0
    column, best = max((sizes[i][0], -i) for i in range(1, len(sizes)))
    best = -best
    if max(first, column) == 0 or first >= threshold * column:
        return 1, 0
    row = max(size for i, size in enumerate(sizes[best]) if i != best)
    if first >= threshold * column * (column / row):
        return 1, 0
    return (1, best) if sizes[best][best] >= threshold * row else (2, best)


@takes_out
def ldl_solve(LD, pivots, B, *, hermitian=False):
    """`X` with `A X = B`, from what [`ldl_factor`] gives for `A`; batches broadcast. There is no gradient."""
    _check_square("linalg.ldl_solve", LD)
    if B.dim() < 2 or B.shape[-2] != LD.shape[-1]:
        raise RuntimeError(f"linalg.ldl_solve: B of shape {tuple(B.shape)}, expected {LD.shape[-1]} rows")
    n, columns = B.shape[-2:]
    batch = tuple(broadcast_shapes(LD.shape[:-2], B.shape[:-2]))
    if 0 in (*batch, n, columns):
        return B.new_empty([*batch, n, columns])
    matrices = LD.detach().expand([*batch, n, n]).reshape(-1, n, n).unbind(0)
    exchanges = pivots.expand([*batch, n]).reshape(-1, n).tolist()
    right = B.detach().expand([*batch, n, columns]).reshape(-1, n, columns).unbind(0)
    with no_grad():
        solved = [_substituted(*parts, hermitian) for parts in zip(matrices, exchanges, right)]
    return _C.stack(solved).reshape([*batch, n, columns])


def _substituted(LD, pivots, B, hermitian):
    """The solution for one matrix: through `L`, `D` and `Lᵀ`, with the exchange of rows that belongs to each block."""
    X, blocks, k, n = B.clone(), [], 0, len(LD)
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        blocks.append((k, size, k + size - 1, abs(pivots[k]) - 1))
        k += size
    for k, size, place, other in blocks:
        X = _exchanged(X, place, other)
        X[k + size :] -= LD[k + size :, k : k + size] @ X[k : k + size]
    for k, size, *_ in blocks:
        lower = LD[k : k + size, k : k + size].tril()
        D = lower + (lower.tril(-1).mH if hermitian else lower.tril(-1).mT)
        X[k : k + size] = _C.linalg.solve(D, X[k : k + size])
    for k, size, place, other in reversed(blocks):
        L = LD[k + size :, k : k + size]
        X[k : k + size] -= (L.mH if hermitian else L.mT) @ X[k + size :]
        X = _exchanged(X, place, other)
    return X


def _exchanged(X, i, j):
    if i == j:
        return X
    order = list(range(len(X)))
    order[i], order[j] = j, i
    return X[order]


name_arguments(globals())
