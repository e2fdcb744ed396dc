"""Rules of matrix products with sparse matrices.

Two functions carry them, each the other's derivative: `C[r] += v B[c]` for values `v` at rows `r` and columns `c`, and `v = A[r] · B[c]`.
"""

from __future__ import annotations

from .. import _core
from ..autograd.function import Function
from ._calls import rule
from ._coo import SparseTensor, coo, flat_places

# Products that are there at once, in elements: beyond this they are made part by part.
_AT_ONCE = 1 << 22


def _parts(count, width):
    size = max(_AT_ONCE // max(width, 1), 1)
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


class _Gathered(Function):
    """`(n, k)`: the sums, row by row, of values `(nnz)` times the rows `cols` of `dense` `(m, k)`."""

    @staticmethod
    def forward(ctx, rows, cols, values, dense, count):
        ctx.save_for_backward(rows, cols, values, dense)
        result = _core.zeros((count, dense.shape[1]), dtype=dense.dtype, device=dense.device)
        for part in _parts(len(rows), dense.shape[1]):
            result.index_add_(0, rows[part], values[part].unsqueeze(1) * dense.index_select(0, cols[part]))
        return result

    @staticmethod
    def backward(ctx, grad):
        rows, cols, values, dense = ctx.saved_tensors
        _, _, by_values, by_dense, _ = ctx.needs_input_grad
        return (
            None,
            None,
            _Sampled.apply(rows, cols, grad, dense.conj()) if by_values else None,
            _Gathered.apply(cols, rows, values.conj(), grad, len(dense)) if by_dense else None,
            None,
        )


class _Sampled(Function):
    """`(nnz)`: the products of rows `rows` of `left` `(n, k)` and rows `cols` of `right` `(m, k)`, summed over `k`."""

    @staticmethod
    def forward(ctx, rows, cols, left, right):
        ctx.save_for_backward(rows, cols, left, right)
        parts = _parts(len(rows), left.shape[1])
        found = [(left.index_select(0, rows[part]) * right.index_select(0, cols[part])).sum(1, dtype=left.dtype) for part in parts]
        return _core.cat(found) if found else left.new_empty(0)

    @staticmethod
    def backward(ctx, grad):
        rows, cols, left, right = ctx.saved_tensors
        _, _, by_left, by_right = ctx.needs_input_grad
        return (
            None,
            None,
            _Gathered.apply(rows, cols, grad, right.conj(), len(left)) if by_left else None,
            _Gathered.apply(cols, rows, grad, left.conj(), len(right)) if by_right else None,
        )


def _check_matrix(name, tensor, dims=2):
    if not isinstance(tensor, _core.Tensor):
        raise _core.DTypeError(f"{name}: tensors expected, got {type(tensor).__name__}")
    if isinstance(tensor, SparseTensor) and (tensor.sparse_dim() != dims or tensor.dim() != dims):
        raise _core.ArgumentError(
            f"{name}: a sparse tensor of {dims} sparse dimensions expected, got {tensor.sparse_dim()} sparse and {tensor.dense_dim()} dense dimensions"
        )
    if tensor.dim() != dims:
        raise _core.ArgumentError(f"{name}: a tensor of {dims} dimensions expected, got {tensor.dim()}D tensor")


def _check_sizes(name, left, right):
    if left.shape[-1] != right.shape[-2]:
        raise _core.ArgumentError(f"{name}: shapes {tuple(left.shape)} and {tuple(right.shape)} cannot be multiplied: {left.shape[-1]} != {right.shape[-2]}")
    if left.dtype != right.dtype:
        raise _core.ArgumentError(f"{name}: matrices of one dtype expected, got {left.dtype} and {right.dtype}")


@rule("mm", "smm")
def mm(input, mat2):
    """A product of matrices: dense if one of them is, sparse of two sparse ones."""
    for matrix in (input, mat2):
        _check_matrix("mm", matrix)
    _check_sizes("mm", input, mat2)
    if not isinstance(input, SparseTensor):
        return mm(mat2.t(), input.t()).t()
    if isinstance(mat2, SparseTensor):
        return _sparse_product(input, mat2)
    rows, cols = input._places
    return _Gathered.apply(rows, cols, input._elements, mat2, input._sizes[0])


def _sparse_product(left, right):
    """Each value of the left with the row of the right that its column names."""
    left, right = left.coalesce(), right.coalesce()
    (rows, cols), (inner, outer) = left._places, right._places
    lengths = inner.bincount(minlength=right._sizes[0])
    starts = lengths.cumsum(0) - lengths
    times = lengths[cols]
    which = _core.arange(left._nnz(), device=times.device).repeat_interleave(times)
    # The place of each pair within its row of the right.
    within = _core.arange(len(which), device=which.device) - (times.cumsum(0) - times)[which]
    other = starts[cols[which]] + within
    elements = left._elements[which] * right._elements[other]
    return coo(_core.stack([rows[which], outer[other]]), elements, (left._sizes[0], right._sizes[1])).coalesce()


@rule("mv")
def mv(input, vec):
    """A matrix times a vector."""
    _check_matrix("mv", vec, 1)
    return mm(input, vec.unsqueeze(1)).squeeze(1)


@rule("bmm")
def bmm(input, mat2):
    """Products of the matrices of a batch, sparse `(b, n, m)` times dense `(b, m, k)`."""
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor):
        raise _core.ArgumentError("bmm: a sparse tensor times a dense one expected")
    for batch in (input, mat2):
        _check_matrix("bmm", batch, 3)
    _check_sizes("bmm", input, mat2)
    count, height, width = input._sizes
    if mat2.shape[0] != count:
        raise _core.ArgumentError(f"bmm: batches of one size expected, got {count} and {mat2.shape[0]}")
    batch, rows, cols = input._places
    found = _Gathered.apply(
        flat_places(_core.stack([batch, rows]), (count, height)),
        flat_places(_core.stack([batch, cols]), (count, width)),
        input._elements,
        mat2.flatten(0, 1),
        count * height,
    )
    return found.unflatten(0, (count, height))


@rule("matmul", "__matmul__", "__rmatmul__")
def matmul(input, other):
    """`mm`, `mv` or `bmm`, by the numbers of dimensions."""
    for operand in (input, other):
        if not isinstance(operand, _core.Tensor):
            raise _core.DTypeError(f"matmul: tensors expected, got {type(operand).__name__}")
    dims = input.dim(), other.dim()
    if dims == (2, 1):
        return mv(input, other)
    if dims == (1, 2):
        return mv(other.t(), input)
    if dims == (3, 3):
        return bmm(input, other)
    return mm(input, other)


@rule("addmm")
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """`beta input + alpha mat1 mat2`."""
    product = mm(mat1, mat2)
    return (input if beta == 1 else input * beta) + (product if alpha == 1 else product * alpha)


@rule("addmv")
def addmv(input, mat, vec, *, beta=1, alpha=1):
    """`beta input + alpha mat vec`."""
    product = mv(mat, vec)
    return (input if beta == 1 else input * beta) + (product if alpha == 1 else product * alpha)


@rule("linear")
def linear(input, weight, bias=None):
    """`input weightᵀ + bias` of a matrix or vector and a sparse weight, or of a sparse matrix."""
    product = matmul(input, weight.t())
    return product if bias is None else product + bias


def reduced(input, mat2, reduce):
    """As `mm`, with the products of each row reduced by "sum", "mean", "amax" or "amin"; 0 for rows without values."""
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce == "sum":
        return mm(input, mat2)
    if reduce not in ("mean", "amax", "amin"):
        raise _core.ArgumentError(f"sparse.mm: reduce is one of 'sum', 'mean', 'amax', 'amin', got {reduce!r}")
    for matrix in (input, mat2):
        _check_matrix("sparse.mm", matrix)
    _check_sizes("sparse.mm", input, mat2)
    rows, cols = input._places
    if reduce == "mean":
        counts = rows.bincount(minlength=input._sizes[0]).clamp(min=1)
        return mm(input, mat2) / counts.unsqueeze(1)
    products = input._elements.unsqueeze(1) * mat2.index_select(0, cols)
    zeros = products.new_zeros((input._sizes[0], mat2.shape[1]))
    return zeros.scatter_reduce(0, rows.unsqueeze(1).expand_as(products), products, reduce, include_self=False)


def sampled(input, mat1, mat2, beta, alpha):
    """`beta input + alpha mat1 mat2` at the places of a sparse matrix."""
    rows, cols = input._places
    return input._elements * beta + _Sampled.apply(rows, cols, mat1, mat2.t()) * alpha
