"""Tensors of which only some elements are there, the others being 0: with the layouts `sparse_coo` and, for matrices, `sparse_csr` and `sparse_csc`.

They are made by `sparse_coo_tensor`, `sparse_csr_tensor` and `Tensor.to_sparse`, and have what PyTorch's have of: copies, dtypes, transposes, parts,
concatenation; functions of elements that give 0 for 0; sums; products by numbers and tensors, of matrices with sparse and dense ones. Everything else is a
NotImplementedError that names the function. Gradients flow through values: that of `values`, and of a leaf, is as long as they are.

>>> s = opforge.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
>>> mm(s, opforge.ones(3, 1)).tolist()
[[3.0], [4.0]]
"""

from __future__ import annotations

from .. import _core
from .._absent import absent_names
from . import _conversions, _elementwise, _products, _reductions, _shapes  # noqa: F401  they have the rules of calls
from ._build import sparse_compressed_tensor, sparse_coo_tensor, sparse_csc_tensor, sparse_csr_tensor  # noqa: F401  they are names of `opforge`
from ._coo import SparseTensor, coo as _coo
from ._csr import SparseCsrTensor, _as_coo, _convert_indices_from_coo_to_csr, _convert_indices_from_csr_to_coo, from_coo  # noqa: F401
from ._invariants import check_sparse_tensor_invariants
from ._typed import TYPES as _TYPES

__all__ = [
    "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "spsolve", "sum",
]  # fmt: skip

globals().update(_TYPES)
globals().update(
    absent_names(
        __name__,
        "there are the layouts sparse_coo, sparse_csr and sparse_csc, and what is documented of them",
        functions="as_sparse_gradcheck spsolve to_sparse_semi_structured",
        classes="SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS",
    )
)


def _like(result, tensor):
    """The result in the layout of the tensor, which is that of a call's argument."""
    return from_coo(result, type(tensor)) if isinstance(tensor, SparseCsrTensor) and isinstance(result, SparseTensor) else result


def _check_sparse(name, tensor):
    if not isinstance(tensor, SparseTensor):
        raise _core.ArgumentError(f"sparse.{name}: a sparse tensor expected, got {type(tensor).__name__} with the layout {getattr(tensor, 'layout', None)}")
    return _as_coo(tensor)


def mm(mat1, mat2, reduce="sum"):
    """The product of two matrices, one of them sparse at least; sparse if both are. `reduce` "mean", "amax" (or "max") or "amin" ("min") takes that of a
    row's products instead of their sum, of a sparse and a dense matrix."""
    if reduce != "sum":
        return _products.reduced(_check_sparse("mm", mat1), mat2, reduce)
    return _core.Tensor.mm(mat1, mat2)


# Names of `torch` itself for products of a sparse matrix and a dense one.
dsmm = spmm = _core.Tensor.mm


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """`beta mat + alpha mat1 mat2` with a sparse `mat1`."""
    _check_sparse("addmm", mat1)
    return _like(_products.addmm(_as_coo(mat), _as_coo(mat1), _as_coo(mat2), beta=beta, alpha=alpha), mat1)


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """`beta input + alpha mat1 mat2` at the places of a sparse matrix, from dense ones; whatever else their product has is never computed."""
    if out is not None:
        raise _core.UnsupportedError("sampled_addmm: out is not supported")
    tensor = _check_sparse("sampled_addmm", input)
    if tuple(tensor.shape) != (mat1.shape[0], mat2.shape[1]) or mat1.shape[1] != mat2.shape[0]:
        shapes = tuple(mat1.shape), tuple(mat2.shape)
        raise _core.ArgumentError(f"sampled_addmm: matrices whose product has the shape {tuple(tensor.shape)} expected, got {shapes[0]} and {shapes[1]}")
    return _like(_coo(tensor._places, _products.sampled(tensor, mat1, mat2, beta, alpha), tensor._sizes, tensor._coalesced), input)


def sum(input, dim=None, dtype=None):
    """The sum of all elements, or over dimensions: sparse as long as a sparse dimension is left, else dense."""
    return _reductions.sum_(_check_sparse("sum", input), dim, dtype=dtype)


def softmax(input, dim, *, dtype=None):
    """Softmax along `dim` of the elements that are there; the others count as minus infinity."""
    return _like(_reductions.softmax(_check_sparse("softmax", input), dim, dtype), input)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of `softmax`, at the same places."""
    return _like(_reductions.softmax(_check_sparse("log_softmax", input), dim, dtype, log=True), input)


def spdiags(diagonals, offsets, shape, layout=None):
    """The matrix of this shape whose diagonals `offsets` (0 is the main one, above it are positive ones) are the rows of `diagonals`: the element in column
    `j` is the row's `j`-th.

    >>> spdiags(opforge.tensor([[1.0, 2.0, 3.0]]), opforge.tensor([1]), (3, 3)).to_dense().tolist()
    [[0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]
    """
    rows, offsets = _core.atleast_2d(diagonals), _core.atleast_1d(offsets)
    if len(rows) != len(offsets) or len(set(offsets.tolist())) != len(offsets):
        raise _core.ArgumentError(f"spdiags: as many different offsets as diagonals expected, got {offsets.tolist()} for {len(rows)}")
    places, elements = [], []
    for row, offset in zip(rows.unbind(), offsets.tolist()):
        first, end = (max(offset, 0), min(len(row), shape[1], shape[0] + offset)) if offset < min(len(row), shape[1]) else (0, 0)
        cols = _core.arange(first, end, device=row.device)
        places.append(_core.stack([cols - offset, cols]))
        elements.append(row[cols])
    tensor = _coo(_core.cat(places, 1), _core.cat(elements), shape)
    return tensor if layout is None else tensor.to_sparse(layout=layout)
