"""Methods of dense tensors that lead to sparse ones."""

from __future__ import annotations

from .. import _core
from .._calls.arguments import names_arguments
from .._tensors.layouts import layout as _layout
from .._tensors.layouts import sparse_coo, sparse_csc, sparse_csr
from ._coo import SparseTensor, coo, like
from ._elementwise import taken


def in_layout(tensor, layout):
    """A sparse tensor in the layout, which may be None for `sparse_coo`."""
    if layout is sparse_csr:
        return tensor.to_sparse_csr()
    if layout is sparse_csc:
        return tensor.to_sparse_csc()
    if isinstance(layout, _layout) and layout is not sparse_coo:
        raise _core.UnsupportedError(f"to_sparse: the layouts sparse_coo, sparse_csr and sparse_csc are there, not {layout}")
    return tensor


def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The elements that are not 0 as a coalesced tensor with the layout `sparse_coo`, whose first `sparse_dim` dimensions, all of them unless given, are
    sparse; a matrix may have the `layout` `sparse_csr` or `sparse_csc`."""
    if isinstance(sparse_dim, _layout):
        sparse_dim, layout = None, sparse_dim
    count = self.dim() if sparse_dim is None else sparse_dim
    if not 0 <= count <= self.dim():
        raise _core.ArgumentError(f"to_sparse: sparse_dim from 0 to {self.dim()} expected, got {sparse_dim}")
    there = self.detach() != 0
    if count < self.dim():
        there = there.flatten(count).any(-1)
    places = there.nonzero().t().contiguous()
    elements = self[tuple(places.unbind())] if count else self.unsqueeze(0)[: places.shape[1]].clone()
    return in_layout(coo(places, elements, self.shape, True), layout)


def to_sparse_coo(self):
    """`to_sparse()`."""
    return to_sparse(self)


def to_sparse_csr(self, dense_dim=None):
    """The elements of a matrix that are not 0, with the layout `sparse_csr`."""
    return to_sparse(self, layout=sparse_csr)


def to_sparse_csc(self, dense_dim=None):
    """The elements of a matrix that are not 0, with the layout `sparse_csc`."""
    return to_sparse(self, layout=sparse_csc)


@names_arguments
def sparse_mask(self, mask):
    """The elements at the places of a sparse tensor of the same shape."""
    if not isinstance(mask, SparseTensor) or tuple(mask.shape) != tuple(self.shape):
        raise _core.ArgumentError(f"sparse_mask: mask: a sparse tensor of shape {tuple(self.shape)} expected, got {type(mask).__name__}")
    return like(mask, taken(self, mask))
