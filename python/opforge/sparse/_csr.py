"""Matrices with the layout `sparse_csr`: row by row, the columns and values of what is there.

What is computed with them is computed by the rules of `sparse_coo`, whose places these are in another form.
"""

from __future__ import annotations

from .. import _core
from . import _calls
from ._coo import SparseTensor, coo


class SparseCsrTensor(SparseTensor):
    """A sparse matrix whose row `i` has the values, and their columns, from `crow_indices[i]` to `crow_indices[i + 1]`."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = _calls._name(func)
        if name.endswith("_") and not name.endswith("__") and isinstance(args[0], SparseCsrTensor):
            raise _core.UnsupportedError(f"{name}: matrices with the layout sparse_csr are not changed in place")
        kwargs = {key: _as_coo(value) for key, value in (kwargs or {}).items()}
        result = _calls.run(func, tuple(map(_as_coo, args)), kwargs)
        is_matrix = isinstance(result, SparseTensor) and result.sparse_dim() == result.dim() == 2
        return from_coo(result) if is_matrix and name not in _IN_COO else result

    is_sparse = property(lambda self: False, doc="False: that is for the layout `sparse_coo`.")
    is_sparse_csr = property(lambda self: True, doc="True.")
    T = mT = property(lambda self: self.t(), doc="The transpose, with the layout `sparse_coo`.")

    @property
    def layout(self):
        """`sparse_csr`."""
        from .._layouts import sparse_csr

        return sparse_csr

    @property
    def grad(self):
        """The gradient of a leaf, at the same places."""
        grad = self._elements.grad
        return None if grad is None else csr(self._crow, self._col, grad, self._sizes, self._coalesced)

    def crow_indices(self):
        """Where each row begins, and the end: `(rows + 1)`."""
        return self._crow

    def col_indices(self):
        """The column of each value, `(nnz)`."""
        return self._col

    def values(self):
        """The values, with their history."""
        return self._elements

    def _nnz(self):
        return len(self._col)

    def sparse_dim(self):
        """2."""
        return 2

    def _no_indices(self):
        raise _core.ArgumentError(f"indices of a matrix with the layout {self.layout}: crow_indices() and col_indices() are there")

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
        """The matrix itself."""
        return self

    def __repr__(self, *, tensor_contents=None):
        from ._text import csr_text

        return csr_text(self)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = from_coo(_as_coo(self).__deepcopy__({}))
        return memo[id(self)]

    def _parts(self):
        return (self._crow, self._col, self._elements.detach()), self._sizes, self._coalesced


# Rules whose results PyTorch gives in other layouts too.
_IN_COO = frozenset("t transpose permute swapaxes swapdims to_sparse to_sparse_coo".split())


def csr(crow, col, elements, sizes, in_order=True):
    """A matrix of indices and values that fit; `in_order` if the columns rise within each row."""
    sizes = tuple(map(int, sizes))
    tensor = _core.empty(sizes, dtype=elements.dtype, device="meta").as_subclass(SparseCsrTensor)
    tensor._crow, tensor._col, tensor._elements, tensor._sizes, tensor._coalesced = crow, col, elements, sizes, in_order
    return tensor


def from_coo(tensor):
    """A sparse matrix of the layout `sparse_coo` in this one."""
    if tensor.sparse_dim() != 2 or tensor.dense_dim():
        raise _core.ArgumentError(f"to_sparse_csr: a matrix expected, got {tensor.sparse_dim()} sparse and {tensor.dense_dim()} dense dimensions")
    tensor = tensor.coalesce()
    rows, cols = tensor._places
    starts = _convert_indices_from_coo_to_csr(rows, tensor._sizes[0])
    return csr(starts, cols, tensor._elements, tensor._sizes)


def _convert_indices_from_coo_to_csr(input, size, *, out_int32=False):
    """Where each of `size` rows begins in the rising row numbers `input`, and the end."""
    starts = _core.zeros(size + 1, dtype=_core.int64)
    starts[1:] = input.bincount(minlength=size).cumsum(0)
    return starts.to(_core.int32) if out_int32 else starts


def _convert_indices_from_csr_to_coo(crow_indices, col_indices, *, out_int32=False, transpose=False):
    """The row and the column of each value, `(2, nnz)`; with `transpose` the column and the row."""
    rows = _core.arange(len(crow_indices) - 1).repeat_interleave(crow_indices.diff().to(_core.int64))
    places = [rows, col_indices.to(_core.int64)]
    stacked = _core.stack(places[::-1] if transpose else places)
    return stacked.to(_core.int32) if out_int32 else stacked


def _as_coo(value):
    if isinstance(value, (tuple, list)):
        return type(value)(map(_as_coo, value))
    if not isinstance(value, SparseCsrTensor):
        return value
    return coo(_convert_indices_from_csr_to_coo(value._crow, value._col), value._elements, value._sizes, value._coalesced)
