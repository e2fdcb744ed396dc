"""Collective calls that give new tensors, which are there when the call returns. Gradients flow through all of them.

`group` is a ProcessGroup, its name, a DeviceMesh of one dimension, one with a dimension, or the ranks of a group that was made.
"""

from __future__ import annotations

from .. import _core
from .._absent import absent_names
from . import _REASON, _state
from . import _differentiable as _calls
from ._reduce_op import ReduceOp
from .device_mesh import DeviceMesh

globals().update(absent_names(__name__, _REASON, classes="AsyncCollectiveTensor"))


def _group(given):
    """The process group that an argument stands for."""
    if isinstance(given, DeviceMesh):
        return given.get_group()
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], DeviceMesh):
        return given[0].get_group(given[1])
    if given is None or isinstance(given, _state.ProcessGroup):
        return given
    groups = _state.known_groups()
    for group in groups:
        if given == group.group_name or isinstance(given, (list, tuple)) and list(given) == _state.get_process_group_ranks(group):
            return group
    names = [group.group_name for group in groups]
    raise ValueError(f"group={given!r}: expected a ProcessGroup, a DeviceMesh, or the name or the ranks of a group that was made: {', '.join(names)}")


def _op(given):
    """A reduction, by its name too. Raises ValueError for another name."""
    if isinstance(given, str):
        if given.upper() not in ReduceOp.__members__:
            raise ValueError(f"reduceOp={given!r}, expected sum, avg, product, min or max")
        return ReduceOp[given.upper()]
    return given


def wait_tensor(tensor):
    """The tensor: results are there when calls return."""
    return tensor


def broadcast(self, src, group, tag=""):
    """The tensor of the group's rank `src`, on all."""
    return _calls.broadcast(self, group=_group(group), group_src=src)


def all_reduce(self, reduceOp, group, tag=""):
    """A reduction over all ranks, on all: `"sum"`, `"avg"`, `"product"`, `"min"`, `"max"`; the first two have gradients."""
    return _calls.all_reduce(self, _op(reduceOp), _group(group))


def all_gather_tensor(self, gather_dim, group, tag=""):
    """The tensors of all ranks, which have one shape, joined along a dimension."""
    if gather_dim in (0, -self.dim()):
        return _calls.all_gather_joined(self, _group(group))
    return _core.cat(_calls.all_gather(self, _group(group)), gather_dim)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """The rank's part along a dimension of a reduction over all ranks, which share its length evenly."""
    moved = self.movedim(scatter_dim, 0) if self.dim() else self
    part = _calls.reduce_scatter_joined(moved, _op(reduceOp), _group(group))
    return part.movedim(0, scatter_dim).contiguous()


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """Parts along dimension 0 to each rank for those of each, joined; parts are equal without sizes."""
    length = sum(output_split_sizes) if output_split_sizes else self.shape[0]
    return _calls.all_to_all_single(self, length, output_split_sizes, input_split_sizes, _group(group))


def permute_tensor(self, src_dst, group, tag=""):
    """The tensor of the rank `r` with `src_dst[r]` this one. Each rank is there once."""
    found = _state.resolve(_group(group))
    if found is None or sorted(src_dst) != list(range(found.size())):
        raise ValueError(f"permute_tensor: src_dst={src_dst}, expected each rank of the group once, and this process in it")
    rank, length = found.rank(), self.shape[0]
    given = [length if dst == src_dst[rank] else 0 for dst in range(found.size())]
    taken = [length if dst == rank else 0 for dst in src_dst]
    return all_to_all_single(self, taken, given, found)


def all_reduce_coalesced(self, reduceOp, group, tag=""):
    """`all_reduce` of each tensor of a list."""
    return [all_reduce(tensor, reduceOp, group) for tensor in self]


def all_gather_into_tensor_coalesced(self, group, tag=""):
    """`all_gather_tensor` of each tensor of a list along dimension 0."""
    return [all_gather_tensor(tensor, 0, group) for tensor in self]


def reduce_scatter_tensor_coalesced(inputs, reduceOp, scatter_dim, group, tag=""):
    """`reduce_scatter_tensor` of each tensor of a list along its dimension."""
    return [reduce_scatter_tensor(tensor, reduceOp, dim, group) for tensor, dim in zip(inputs, scatter_dim, strict=True)]


# The calls with gradients, which the others have too.
all_gather_tensor_autograd, reduce_scatter_tensor_autograd, all_to_all_single_autograd = all_gather_tensor, reduce_scatter_tensor, all_to_all_single
