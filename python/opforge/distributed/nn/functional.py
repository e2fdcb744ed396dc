"""Collective calls that give new tensors, through which gradients flow: backward through them is a call of all ranks, too."""

from __future__ import annotations

from ..._core import ShapeError
from ...autograd.grad_mode import no_grad
from .. import ReduceOp, group
from .. import _differentiable as _calls

__all__ = ["ReduceOp", "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "group", "reduce", "reduce_scatter", "scatter"]


def broadcast(tensor, src, group=None):
    """The tensor of process `src`, its number in the world, on all: its gradient is the sum of all processes'."""
    return _calls.broadcast(tensor, src, group)


def gather(tensor, dst=0, group=None):
    """The tensors of all processes, as a tuple, on process `dst`; zeros on others."""
    return _calls.gather(tensor, dst, group)


def scatter(tensors, src=0, group=None):
    """The process's tensor of the list that process `src` has; others give lists of the same shapes."""
    return _calls.scatter(tensors, src, group)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """A reduction over all processes on process `dst`; a copy of the tensor on others. SUM and AVG have gradients."""
    return _calls.reduce(tensor, dst, op, group)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """A reduction of lists with a tensor for each process, of which each gets its own. It is written to `output`, too."""
    return _filled(output, _calls.reduce_scatter(input_list, op, group))


def all_gather(tensor, group=None):
    """The tensors of all processes, as a tuple, on all: the gradient is the sum of those that the processes have for it."""
    return _calls.all_gather(tensor, group)


def _all_gather_base(output_tensor, input_tensor, group=None):
    """As `all_gather`, joined along dimension 0. It is written to `output_tensor`, too."""
    return _filled(output_tensor, _calls.all_gather_joined(input_tensor, group))


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """A tensor of each process for one to each, as a tuple. They are written to `output_tensor_list`, too."""
    results = _calls.all_to_all(input_tensor_list, [output.shape for output in output_tensor_list], group)
    return tuple(_filled(output, result) for output, result in zip(output_tensor_list, results, strict=True))


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """Parts along dimension 0 to each process for those of each, joined. They are written to `output`, too."""
    return _filled(output, _calls.all_to_all_single(input, output.shape[0], output_split_sizes, input_split_sizes, group))


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """A reduction over all processes, on all. SUM and AVG have gradients.

    >>> import opforge as torch, opforge.distributed as dist
    >>> dist.init_process_group(world_size=1, rank=0)
    >>> x = torch.ones(2, requires_grad=True)
    >>> all_reduce(x * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    return _calls.all_reduce(tensor, op, group)


def _filled(output, result):
    """The result in its place; the result, which has the gradient."""
    if output.numel() != result.numel():
        raise ShapeError(f"output has the shape {list(output.shape)}, expected {list(result.shape)}")
    with no_grad():
        output.copy_(result.reshape(output.shape))
    return result.reshape(output.shape)
