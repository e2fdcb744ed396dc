"""Rules that name elements otherwise: transposes, parts, tensors put together."""

from __future__ import annotations

from numbers import Integral

from .. import _core
from .._calls.arguments import dim_from_0
from ._calls import rule
from ._coo import SparseTensor, coo


@rule("t")
def t(input):
    """The transpose of a matrix."""
    if input.dim() < 2:
        return input
    if input.dim() != 2 or input.dense_dim():
        raise _core.ArgumentError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {input.sparse_dim()} sparse and {input.dense_dim()} dense dimensions"
        )
    return transpose(input, 0, 1)


@rule("transpose", "swapaxes", "swapdims")
def transpose(input, dim0, dim1):
    """Two dimensions exchanged, both sparse or both dense."""
    order = list(range(input.dim()))
    dim0, dim1 = dim_from_0(dim0, input.dim()), dim_from_0(dim1, input.dim())
    order[dim0], order[dim1] = dim1, dim0
    return permute(input, order)


@rule("permute")
def permute(input, *dims):
    """Dimensions in another order; sparse ones stay before dense ones."""
    dims = dims[0] if len(dims) == 1 and not isinstance(dims[0], Integral) else dims
    order, sparse = [dim_from_0(d, input.dim()) for d in dims], input.sparse_dim()
    if sorted(order) != list(range(input.dim())):
        raise _core.ArgumentError(f"permute: each of {input.dim()} dimensions once expected, got {tuple(dims)}")
    if any(d >= sparse for d in order[:sparse]):
        raise _core.ArgumentError(f"permute: sparse dimensions before dense ones expected, got {tuple(dims)} of {sparse} sparse dimensions")
    places, elements = input._places[order[:sparse]], input._elements
    if order[sparse:] != list(range(sparse, input.dim())):
        elements = elements.permute(0, *(1 + d - sparse for d in order[sparse:]))
    same = order[:sparse] == list(range(sparse))
    return coo(places, elements, [input._sizes[d] for d in order], input._coalesced and same)


@rule("unsqueeze")
def unsqueeze(input, dim):
    """A dimension of size 1 more."""
    dim, sparse = dim_from_0(dim, input.dim() + 1), input.sparse_dim()
    sizes = [*input._sizes[:dim], 1, *input._sizes[dim:]]
    if dim > sparse:
        return coo(input._places, input._elements.unsqueeze(1 + dim - sparse), sizes, input._coalesced)
    zeros = _core.zeros((1, input._nnz()), dtype=_core.int64, device=input._places.device)
    return coo(_core.cat([input._places[:dim], zeros, input._places[dim:]]), input._elements, sizes, input._coalesced)


@rule("index_select")
def index_select(input, dim, index):
    """The parts at these indices of a dimension, one after the other."""
    dim, sparse = dim_from_0(dim, input.dim()), input.sparse_dim()
    index = index.reshape(-1).to(_core.int64)
    count = input._sizes[dim]
    if len(index) and not (0 <= int(index.min()) and int(index.max()) < count):
        raise _core.IndexError(f"index_select: indices from 0 to {count - 1} expected, got {int(index.min())} to {int(index.max())}")
    sizes = [*input._sizes[:dim], len(index), *input._sizes[dim + 1 :]]
    if dim >= sparse:
        return coo(input._places, input._elements.index_select(1 + dim - sparse, index), sizes, input._coalesced)
    # Values in order of the dimension's index, so that those of one index are a range.
    order = input._places[dim].argsort(stable=True)
    lengths = input._places[dim].bincount(minlength=count)
    starts, times = lengths.cumsum(0) - lengths, lengths[index]
    which = _core.arange(len(index), device=index.device).repeat_interleave(times)
    found = order[starts[index[which]] + _core.arange(len(which), device=which.device) - (times.cumsum(0) - times)[which]]
    places = input._places[:, found].clone()
    places[dim] = which
    return coo(places, input._elements.index_select(0, found), sizes, input._coalesced and dim == 0)


@rule("select")
def select(input, dim, index):
    """The part at one index of a dimension: dense if that was the only sparse one."""
    dim, sparse = dim_from_0(dim, input.dim()), input.sparse_dim()
    count = input._sizes[dim]
    if not -count <= index < count:
        raise _core.IndexError(f"select(): index {index} out of range for tensor of size {list(input._sizes)} at dimension {dim}")
    sizes = [*input._sizes[:dim], *input._sizes[dim + 1 :]]
    if dim >= sparse:
        return coo(input._places, input._elements.select(1 + dim - sparse, index), sizes, input._coalesced)
    found = (input._places[dim] == index % count).nonzero().squeeze(1)
    elements = input._elements.index_select(0, found)
    if sparse == 1:
        return elements.sum(0).to(input.dtype)
    kept = [d for d in range(sparse) if d != dim]
    return coo(input._places[kept][:, found], elements, sizes, input._coalesced)


@rule("__getitem__")
def getitem(input, index):
    """Indexing by integers, one for each of the first dimensions."""
    for i in index if isinstance(index, tuple) else (index,):
        if not isinstance(i, Integral) or isinstance(i, bool):
            raise _core.UnsupportedError(f"indexing of a sparse tensor: integers expected, got {type(i).__name__}; index_select() and to_dense() do more")
        input = input.select(0, int(i))
    return input


@rule("narrow_copy", "narrow")
def narrow_copy(input, dim, start, length):
    """A range of a dimension."""
    dim, start = dim_from_0(dim, input.dim()), int(start)
    count = input._sizes[dim]
    start = start + count if start < 0 else start
    if not 0 <= start <= start + length <= count:
        raise _core.IndexError(f"narrow: a range within 0 to {count} expected, got start {start} and length {length}")
    sizes, sparse = [*input._sizes[:dim], length, *input._sizes[dim + 1 :]], input.sparse_dim()
    if dim >= sparse:
        return coo(input._places, input._elements.narrow(1 + dim - sparse, start, length).clone(), sizes, input._coalesced)
    row = input._places[dim]
    found = ((row >= start) & (row < start + length)).nonzero().squeeze(1)
    places = input._places[:, found].clone()
    places[dim] -= start
    return coo(places, input._elements.index_select(0, found), sizes, input._coalesced)


@rule("unbind")
def unbind(input, dim=0):
    """The parts at each index of a dimension."""
    return tuple(select(input, dim, i) for i in range(input.size(dim)))


def _all_sparse(tensors):
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, SparseTensor):
            raise _core.ArgumentError(f"Concatenating sparse tensors, but a dense tensor was found at position {place}.")
    return tensors


@rule("cat", "concat", "concatenate")
def cat(tensors, dim=0):
    """Sparse tensors one after the other along a dimension."""
    first, *others = _all_sparse(list(tensors))
    dim, sparse = dim_from_0(dim, first.dim()), first.sparse_dim()
    for other in others:
        if other.sparse_dim() != sparse or other._sizes[:dim] + other._sizes[dim + 1 :] != first._sizes[:dim] + first._sizes[dim + 1 :]:
            raise _core.ArgumentError(f"cat: sparse tensors that are alike but for dimension {dim} expected, got {first._sizes} and {other._sizes}")
    if dim >= sparse:
        return _cat_dense([first, *others], 1 + dim - sparse, dim)
    dtype, places, start = first.dtype, [], 0
    for tensor in (first, *others):
        dtype = _core.promote_types(dtype, tensor.dtype)
        shifts = _core.zeros((sparse, 1), dtype=_core.int64, device=tensor._places.device)
        shifts[dim] = start
        places.append(tensor._places + shifts)
        start += tensor._sizes[dim]
    elements = _core.cat([tensor._elements.to(dtype) for tensor in (first, *others)])
    in_order = dim == 0 and all(tensor._coalesced for tensor in (first, *others))
    return coo(_core.cat(places, 1), elements, [*first._sizes[:dim], start, *first._sizes[dim + 1 :]], in_order)


def _cat_dense(tensors, at, dim):
    """Along a dense dimension: each one's values, with zeros in the place of the others', all together."""
    total, start, parts = sum(tensor._sizes[dim] for tensor in tensors), 0, []
    for tensor in tensors:
        size = tensor._sizes[dim]
        shape = list(tensor._elements.shape)
        sides = [tensor._elements.new_zeros([*shape[:at], count, *shape[at + 1 :]]) for count in (start, total - start - size)]
        elements = _core.cat([sides[0], tensor._elements, sides[1]], at)
        parts.append(coo(tensor._places, elements, [*tensor._sizes[:dim], total, *tensor._sizes[dim + 1 :]]))
        start += size
    places, elements = _core.cat([part._places for part in parts], 1), _core.cat([part._elements for part in parts])
    return coo(places, elements, parts[0]._sizes)


@rule("stack")
def stack(tensors, dim=0):
    """Sparse tensors of one shape along a new dimension."""
    return cat([unsqueeze(tensor, dim) for tensor in _all_sparse(list(tensors))], dim)
