"""Rules of reductions and softmax."""

from __future__ import annotations

from .. import _core
from .._calls.arguments import dim_from_0
from ._calls import rule
from ._coo import coo, flat_places, like, summed


def _dims(tensor, dim):
    """Dimensions from 0, each once."""
    dims = range(tensor.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = list(dims) or range(tensor.dim())
    found = {dim_from_0(d, tensor.dim()) for d in dims}
    if len(found) != len(dims):
        raise _core.ArgumentError(f"sum: each dimension once expected, got {dim}")
    return found


@rule("sum")
def sum_(input, dim=None, keepdim=False, *, dtype=None):
    """Sums: sparse as long as a sparse dimension is left, else dense."""
    dims, sparse = _dims(input, dim), input.sparse_dim()
    if dtype is None:
        dtype = input.dtype if input.is_floating_point() or input.is_complex() else _core.int64
    elements = input._elements.to(dtype)
    within = [1 + d - sparse for d in sorted(dims) if d >= sparse]
    if within:
        elements = elements.sum(within, keepdim=keepdim)
    kept = [d for d in range(sparse) if d not in dims]
    sizes = [1 if d in dims else size for d, size in enumerate(input._sizes) if keepdim or d not in dims]
    if not kept:
        total = elements.sum(0)
        return total.reshape(sizes) if not keepdim else to_sparse_of_one(total, sizes, sparse)
    places = input._places[kept]
    result = coo(places, elements, [input._sizes[d] for d in kept] + list(elements.shape[1:]), input._coalesced and len(kept) == sparse).coalesce()
    if keepdim:
        rows = iter(result._places.unbind())
        zeros = _core.zeros(result._nnz(), dtype=_core.int64, device=places.device)
        places = _core.stack([zeros if d in dims else next(rows) for d in range(sparse)])
        result = coo(places, result._elements, sizes, True)
    return result


def to_sparse_of_one(total, sizes, sparse):
    """The sum over all sparse dimensions, with these kept."""
    return coo(_core.zeros((sparse, 1), dtype=_core.int64, device=total.device), total.unsqueeze(0), sizes, True)


@rule("any")
def any_(input):
    """Whether any element is not 0."""
    return input.coalesce()._elements.any()


@rule("norm")
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The Euclidean norm of all elements, or the p-norm."""
    if dim is not None or keepdim:
        raise _core.UnsupportedError("norm: of a sparse tensor over all dimensions only")
    return input.coalesce()._elements.norm(2 if p == "fro" else p, dtype=dtype)


def softmax(input, dim, dtype=None, log=False):
    """`softmax` or `log_softmax` along `dim` of what is there; what is not there counts as minus infinity."""
    tensor = input.coalesce() if dtype is None else input.coalesce().to(dtype)
    (dim,), sparse = _dims(tensor, dim), tensor.sparse_dim()
    if dim >= sparse:
        function = _core.Tensor.log_softmax if log else _core.Tensor.softmax
        return like(tensor, function(tensor._elements, 1 + dim - sparse))
    others = [d for d in range(sparse) if d != dim]
    keys = flat_places(tensor._places[others], [tensor._sizes[d] for d in others])
    groups, group = keys.unique(return_inverse=True)
    elements = tensor._elements
    # The largest of each group, which cancels, keeps powers finite.
    places = group.reshape(-1, *[1] * (elements.dim() - 1)).expand_as(elements)
    largest = elements.new_full((len(groups), *elements.shape[1:]), -float("inf")).scatter_reduce(0, places, elements.detach(), "amax")
    shifted = elements - largest[group]
    powers = shifted.exp()
    totals = summed(powers, group, len(groups))[group]
    return like(tensor, shifted - totals.log() if log else powers / totals)
