"""Collective calls that gradients flow through. Backward is a collective call too, which all ranks make: that of what each rank's results add to the sum of
all ranks' losses. It is made of these calls, so that it can be differentiated again."""

from __future__ import annotations

from .. import _core
from .._tensors.layouts import contiguous_format
from ..autograd.function import Function
from . import _collectives as _calls
from ._collectives import root_of
from ._reduce_op import ReduceOp
from ._state import resolve


class _Collective(Function):
    """`call` of tensors; `adjoint` of the results' gradients gives theirs."""

    @staticmethod
    def forward(ctx, call, adjoint, *tensors):
        ctx.adjoint = adjoint
        return call(*(tensor.detach() for tensor in tensors))

    @staticmethod
    def backward(ctx, *grads):
        given = ctx.adjoint(*grads)
        return None, None, *(given if isinstance(given, (tuple, list)) else [given])


def _member(name, group):
    """The group. Raises ValueError if this process is not in it."""
    if (found := resolve(group)) is None:
        raise ValueError(f"{name}: this process is not in the group")
    return found


def _shares(name, op, group, grads):
    """What each rank's part has of a reduction's gradients."""
    if op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise NotImplementedError(f"backward of {name}: op={getattr(op, 'name', op)}, expected SUM or AVG")
    return [grad / group.size() for grad in grads] if op == ReduceOp.AVG else list(grads)


def _empty(tensor, shape=None):
    return _core.empty(tensor.shape if shape is None else shape, dtype=tensor.dtype)


def _nothing_of(grad):
    """Zeros that depend on a gradient, so that all ranks make the calls of its own backward."""
    return grad.masked_fill(_core.ones_like(grad, dtype=_core.bool), 0)


def _copied(tensor):
    return tensor.clone(memory_format=contiguous_format)


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """A reduction over all ranks, on each."""
    found = _member("all_reduce", group)

    def call(tensor):
        result = _copied(tensor)
        _calls.all_reduce(result, op, found)
        return result

    return _Collective.apply(call, lambda grad: _shares("all_reduce", op, found, [all_reduce(grad, group=found)]), tensor)


def broadcast(tensor, src=None, group=None, group_src=None):
    """The tensor of rank `src`, on each."""
    found = _member("broadcast", group)
    root = root_of("broadcast", found, src, group_src)

    def call(tensor):
        result = _copied(tensor)
        _calls.broadcast(result, group=found, group_src=root)
        return result

    def adjoint(grad):
        grad = reduce(grad, group=found, group_dst=root)
        return grad if found.rank() == root else _nothing_of(grad)

    return _Collective.apply(call, adjoint, tensor)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, group_dst=None):
    """A reduction over all ranks, on rank `dst`; a copy of the tensor on others."""
    found = _member("reduce", group)
    root = root_of("reduce", found, dst, group_dst, "dst")

    def call(tensor):
        result = _copied(tensor)
        _calls.reduce(result, op=op, group=found, group_dst=root)
        return result

    return _Collective.apply(call, lambda grad: _shares("reduce", op, found, [broadcast(grad, group=found, group_src=root)]), tensor)


def all_gather(tensor, group=None):
    """The tensors of all ranks, which have one shape, as a tuple, on each."""
    found = _member("all_gather", group)

    def call(tensor):
        results = [_empty(tensor) for _ in range(found.size())]
        _calls.all_gather(results, tensor, found)
        return tuple(results)

    return _Collective.apply(call, lambda *grads: reduce_scatter(grads, group=found), tensor)


def reduce_scatter(tensors, op=ReduceOp.SUM, group=None):
    """A reduction of lists with a tensor for each rank; each gets its own."""
    found = _member("reduce_scatter", group)

    def call(*tensors):
        result = _empty(tensors[found.rank()])
        _calls.reduce_scatter(result, list(tensors), op, found)
        return result

    shapes = [tensor.shape for tensor in tensors]

    def adjoint(grad):
        return _shares("reduce_scatter", op, found, _gathered(grad, shapes, found))

    return _Collective.apply(call, adjoint, *tensors)


def _gathered(tensor, shapes, group):
    """The tensors of all ranks, of these shapes."""

    def call(tensor):
        results = [_empty(tensor, shape) for shape in shapes]
        _calls.all_gather(results, tensor, group)
        return tuple(results)

    return _Collective.apply(call, lambda *grads: reduce_scatter(grads, group=group), tensor)


def gather(tensor, dst=None, group=None, group_dst=None):
    """The tensors of all ranks, which have one shape, as a tuple, on rank `dst`; zeros on others."""
    found = _member("gather", group)
    root = root_of("gather", found, dst, group_dst, "dst")

    def call(tensor):
        results = [_core.zeros_like(tensor) for _ in range(found.size())]
        _calls.gather(tensor, results if found.rank() == root else None, group=found, group_dst=root)
        return tuple(results)

    return _Collective.apply(call, lambda *grads: scatter(grads, group=found, group_src=root), tensor)


def scatter(tensors, src=None, group=None, group_src=None):
    """The rank's tensor of the list that rank `src` has; others give tensors of the same shapes."""
    found = _member("scatter", group)
    root = root_of("scatter", found, src, group_src)

    def call(*tensors):
        result = _empty(tensors[found.rank()])
        _calls.scatter(result, list(tensors) if found.rank() == root else None, group=found, group_src=root)
        return result

    return _Collective.apply(call, lambda grad: gather(grad, group=found, group_dst=root), *tensors)


def all_to_all(tensors, shapes, group=None):
    """A tensor of each rank, which have these shapes, for a tensor to each, as a tuple."""
    found = _member("all_to_all", group)
    given = [tensor.shape for tensor in tensors]

    def call(*tensors):
        results = [_empty(tensors[0], shape) for shape in shapes]
        _calls.all_to_all(results, list(tensors), found)
        return tuple(results)

    return _Collective.apply(call, lambda *grads: all_to_all(grads, given, found), *tensors)


def all_to_all_single(tensor, length, output_split_sizes=None, input_split_sizes=None, group=None):
    """Parts along dimension 0 of a tensor to each rank for those of each, `length` together."""
    found = _member("all_to_all_single", group)

    def call(tensor):
        result = _empty(tensor, (length, *tensor.shape[1:]))
        _calls.all_to_all_single(result, tensor, output_split_sizes, input_split_sizes, found)
        return result

    given = tensor.shape[0] if tensor.dim() else 0
    return _Collective.apply(call, lambda grad: all_to_all_single(grad, given, input_split_sizes, output_split_sizes, found), tensor)


def all_gather_joined(tensor, group=None):
    """The tensors of all ranks, which have one shape, joined along dimension 0."""
    found = _member("all_gather_tensor", group)

    def call(tensor):
        result = _empty(tensor, (tensor.shape[0] * found.size(), *tensor.shape[1:]))
        _calls.all_gather_into_tensor(result, tensor, found)
        return result

    return _Collective.apply(call, lambda grad: reduce_scatter_joined(grad, group=found), tensor)


def reduce_scatter_joined(tensor, op=ReduceOp.SUM, group=None):
    """The rank's part along dimension 0 of a reduction over all ranks."""
    found = _member("reduce_scatter_tensor", group)
    if tensor.dim() == 0 or tensor.shape[0] % found.size():
        raise _core.ShapeError(f"reduce_scatter_tensor: a tensor of shape {list(tensor.shape)}, expected a length that {found.size()} ranks can share")

    def call(tensor):
        result = _empty(tensor, (tensor.shape[0] // found.size(), *tensor.shape[1:]))
        _calls.reduce_scatter_tensor(result, tensor, op, found)
        return result

    return _Collective.apply(call, lambda grad: _shares("reduce_scatter_tensor", op, found, [all_gather_joined(grad, found)]), tensor)

