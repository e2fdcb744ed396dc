"""Matrices with the layouts `sparse_csr`: row by row, the columns and values of what is there, and `sparse_csc`: column by column, the rows.

What is computed with them is computed by the rules of `sparse_coo`, whose places these are in another form.
"""

from __future__ import annotations

from .. import _core
from . import _calls
from ._coo import SparseTensor, coo


class SparseCsrTensor(SparseTensor):
    """A sparse matrix whose row `i` has the values, and their columns, from `crow_indices[i]` to `crow_indices[i + 1]`: `_starts` and `_others`."""

    # The dimension that is compressed.
    _axis = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = _calls._name(func)
        if name.endswith("_") and not name.endswith("__") and isinstance(args[0], SparseCsrTensor):
            raise _core.UnsupportedError(f"{name}: matrices with the layout {args[0].layout} are not changed in place")
        kwargs = {key: _as_coo(value) for key, value in (kwargs or {}).items()}
        result = _calls.run(func, tuple(map(_as_coo, args)), kwargs)
        is_matrix = isinstance(result, SparseTensor) and result.sparse_dim() == result.dim() == 2
        if not is_matrix or name in _IN_COO:
            return result
        kind = next((type(arg) for arg in args if isinstance(arg, SparseCsrTensor)), SparseCsrTensor)
        return from_coo(result, _OTHER[kind] if name == "t" else kind)

    is_sparse = property(lambda self: False, doc="False: that is for the layout `sparse_coo`.")
    is_sparse_csr = property(lambda self: True, doc="True.")
    T = mT = property(lambda self: self.t(), doc="The transpose, in the other of the two layouts.")

    @property
    def layout(self):
        """`sparse_csr`."""
        from .._tensors.layouts import sparse_csr

        return sparse_csr

    @property
    def grad(self):
        """The gradient of a leaf, at the same places."""
        grad = self._elements.grad
        return None if grad is None else compressed(type(self), self._starts, self._others, grad, self._sizes, self._coalesced)

    def crow_indices(self):
        """Where each row begins, and the end: `(rows + 1)`."""
        return self._starts

    def col_indices(self):
        """The column of each value, `(nnz)`."""
        return self._others

    def values(self):
        """The values, with their history."""
        return self._elements

    def _nnz(self):
        return len(self._others)

    def sparse_dim(self):
        """The number of sparse dimensions: 2."""
        return 2

    def _no_indices(self):
        raise _core.ArgumentError(f"indices of a matrix with the layout {self.layout}: it has compressed and plain indices")

    indices = _indices = is_coalesced = coalesce = _no_indices

    def to_dense(self, dtype=None, *, masked_grad=None):
        """All elements as a strided tensor."""
        return _as_coo(self).to_dense(dtype)

    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
        """The matrix with the layout `sparse_coo`, or itself."""
        return self if layout is self.layout else _as_coo(self).to_sparse(sparse_dim, layout=layout)

    def to_sparse_coo(self):
        """The matrix with the layout `sparse_coo`."""
        return _as_coo(self)

    def to_sparse_csr(self, dense_dim=None):
        """The matrix with the layout `sparse_csr`, or itself."""
        return self if self._axis == 0 else from_coo(_as_coo(self))

    def to_sparse_csc(self, dense_dim=None):
        """The matrix with the layout `sparse_csc`, or itself."""
        return self if self._axis == 1 else from_coo(_as_coo(self), SparseCscTensor)

    def __repr__(self, *, tensor_contents=None):
        from ._text import compressed_text

        return compressed_text(self)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = from_coo(_as_coo(self).__deepcopy__({}), type(self))
        return memo[id(self)]

    def _parts(self):
        return (self._starts, self._others, self._elements.detach()), self._sizes, self._coalesced


class SparseCscTensor(SparseCsrTensor):
    """A sparse matrix whose column `j` has the values, and their rows, from `ccol_indices[j]` to `ccol_indices[j + 1]`."""

    _axis = 1
    is_sparse_csr = property(lambda self: False, doc="False.")

    @property
    def layout(self):
        """`sparse_csc`."""
        from .._tensors.layouts import sparse_csc

        return sparse_csc

    def crow_indices(self):
        """An error: columns are compressed."""
        raise _core.ArgumentError(f"crow_indices, col_indices: a matrix with the layout {self.layout} has ccol_indices and row_indices")

    col_indices = crow_indices

    def ccol_indices(self):
        """Where each column begins, and the end: `(columns + 1)`."""
        return self._starts

    def row_indices(self):
        """The row of each value, `(nnz)`."""
        return self._others


_OTHER = {SparseCsrTensor: SparseCscTensor, SparseCscTensor: SparseCsrTensor}
# Rules whose results are in coordinates.
_IN_COO = frozenset("transpose permute swapaxes swapdims to_sparse to_sparse_coo".split())


def compressed(kind, starts, others, elements, sizes, in_order=True):
    """A matrix of indices and values that fit; `in_order` if the plain indices rise within each row or column."""
    sizes = tuple(map(int, sizes))
    tensor = _core.empty(sizes, dtype=elements.dtype, device="meta").as_subclass(kind)
    tensor._starts, tensor._others, tensor._elements, tensor._sizes, tensor._coalesced = starts, others, elements, sizes, in_order
    return tensor


def from_coo(tensor, kind=SparseCsrTensor):
    """A sparse matrix of the layout `sparse_coo` in one of these."""
    if tensor.sparse_dim() != 2 or tensor.dense_dim():
        raise _core.ArgumentError(f"to_sparse_csr: a matrix expected, got {tensor.sparse_dim()} sparse and {tensor.dense_dim()} dense dimensions")
    turned = (tensor.t() if kind._axis else tensor).coalesce()
    first, second = turned._places
    return compressed(kind, _convert_indices_from_coo_to_csr(first, turned._sizes[0]), second, turned._elements, tensor._sizes)


def _convert_indices_from_coo_to_csr(input, size, *, out_int32=False):
    """Where each of `size` rows begins in the rising row numbers `input`, and the end."""
    starts = _core.zeros(size + 1, dtype=_core.int64, device=input.device)
    starts[1:] = input.bincount(minlength=size).cumsum(0)
    return starts.to(_core.int32) if out_int32 else starts


def _convert_indices_from_csr_to_coo(crow_indices, col_indices, *, out_int32=False, transpose=False):
    """The row and the column of each value, `(2, nnz)`; with `transpose` the column and the row."""
    rows = _core.arange(len(crow_indices) - 1, device=crow_indices.device).repeat_interleave(crow_indices.diff().to(_core.int64))
    places = [rows, col_indices.to(_core.int64)]
    stacked = _core.stack(places[::-1] if transpose else places)
    return stacked.to(_core.int32) if out_int32 else stacked


def _as_coo(value):
    if isinstance(value, (tuple, list)):
        return type(value)(map(_as_coo, value))
    if not isinstance(value, SparseCsrTensor):
        return value
    places = _convert_indices_from_csr_to_coo(value._starts, value._others, transpose=bool(value._axis))
    return coo(places, value._elements, value._sizes, value._coalesced and not value._axis)
