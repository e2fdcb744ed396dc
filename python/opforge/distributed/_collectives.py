"""Collective calls on tensors."""

from __future__ import annotations

import math
import warnings

from .. import _core
from ._reduce_op import ReduceOp, ended, named
from ._state import get_group_rank, resolve
from ._work import Work, check_count, check_dtype, check_tensor, check_tensors, done


def member(name, group):
    """The group; a warning and None if this process is not in it."""
    found = resolve(group)
    if found is None:
        warnings.warn(f"Running {name} on a group that this process is not in: nothing is done", stacklevel=3)
    return found


def root_of(name, group, given, group_given, argument="src"):
    """A rank of the group, from its number in the world or in the group."""
    if (given is None) == (group_given is None):
        raise ValueError(f"{name}: expected one of {argument} and group_{argument}")
    if group_given is None:
        return get_group_rank(group, given)
    if not 0 <= group_given < group.size():
        raise ValueError(f"{name}: group_{argument}={group_given}, expected 0 to {group.size() - 1}")
    return group_given


def write(tensor, flat):
    """Writes a vector's elements into a tensor of any layout."""
    tensor.copy_(flat.reshape(tensor.shape))


def take(tensor, result, op=ReduceOp.SUM, size=1):
    """Writes a result that is not in the tensor's own memory, and makes it an average if it is to be one."""
    if result is not None:
        tensor.copy_(ended(op, result, size))
    else:
        ended(op, tensor.detach(), size)


def write_all(tensors, flat):
    """Writes a vector's elements into tensors, one after the other."""
    for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
        write(tensor, part)


def flat(tensors):
    """All elements of tensors, as a vector."""
    return _core.cat([tensor.detach().reshape(-1) for tensor in tensors])


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduces a tensor over all processes, in place; all get the same bits. What a contiguous tensor holds after an error is undefined.

    Raises DTypeError for dtypes that the reduction does not take, NotImplementedError for BAND, BOR, BXOR; DistError if ranks differ or do not come.

    >>> import opforge as torch, opforge.distributed as dist
    >>> dist.init_process_group(world_size=1, rank=0)
    >>> x = torch.ones(2)
    >>> dist.all_reduce(x)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if (found := member("all_reduce", group)) is None:
        return None
    check_tensor("all_reduce", "tensor", tensor, is_result=True)
    request = found._core.all_reduce(tensor, named("all_reduce", op, tensor), not async_op)
    return done(Work(request, lambda result: take(tensor, result, op, found.size()), results=[tensor]), async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Gives all processes the elements of process `src` (its number in the world), in place. Tensors have equally many elements. What a
    contiguous tensor holds after an error is undefined."""
    if (found := member("broadcast", group)) is None:
        return None
    root = root_of("broadcast", found, src, group_src)
    check_tensor("broadcast", "tensor", tensor, is_result=found.rank() != root)
    request = found._core.broadcast(tensor, root, not async_op)
    return done(Work(request, None if found.rank() == root else lambda result: take(tensor, result), results=[tensor]), async_op)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Reduces a tensor over all processes, in place in process `dst`; the tensors of others stay as they are. Errors as in `all_reduce`."""
    if (found := member("reduce", group)) is None:
        return None
    root = root_of("reduce", found, dst, group_dst, "dst")
    is_root = found.rank() == root
    check_tensor("reduce", "tensor", tensor, is_result=is_root)
    counts = [tensor.numel() if rank == root else 0 for rank in range(found.size())]
    request = found._core.reduce_scatter(tensor, named("reduce", op, tensor), counts)
    return done(Work(request, (lambda result: write(tensor, ended(op, result, found.size()))) if is_root else None), async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Gathers the tensors of all processes into a list of tensors, which have as many elements as those. Raises ShapeError or DTypeError for others."""
    if (found := member("all_gather", group)) is None:
        return None
    check_tensor("all_gather", "tensor", tensor)
    check_tensors("all_gather", "tensor_list", tensor_list, is_result=True)
    check_count("all_gather", "tensor_list", f"{len(tensor_list)} tensors", f"{found.size()} tensors")
    check_dtype("all_gather", "tensor_list", tensor_list[0], tensor)
    counts = [item.numel() for item in tensor_list]
    check_count("all_gather", f"tensor_list[{found.rank()}]", f"{counts[found.rank()]} elements", f"{tensor.numel()} elements")
    return done(Work(found._core.all_gather(tensor, counts), lambda result: write_all(tensor_list, result)), async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Gathers the tensors of all processes into one, concatenated or stacked. Raises ShapeError or DTypeError for one that does not fit."""
    if (found := member("all_gather_into_tensor", group)) is None:
        return None
    check_tensor("all_gather_into_tensor", "input_tensor", input_tensor)
    check_tensor("all_gather_into_tensor", "output_tensor", output_tensor, is_result=True)
    check_dtype("all_gather_into_tensor", "output_tensor", output_tensor, input_tensor)
    count, size = input_tensor.numel(), found.size()
    check_count("all_gather_into_tensor", "output_tensor", f"{output_tensor.numel()} elements", f"{count * size} elements")
    request = found._core.all_gather(input_tensor, [count] * size)
    return done(Work(request, lambda result: write(output_tensor, result)), async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduces a list of tensors, one for each process, and gives each process its own. Errors as in `all_reduce`, and ShapeError."""
    if (found := member("reduce_scatter", group)) is None:
        return None
    check_tensor("reduce_scatter", "output", output, is_result=True)
    check_tensors("reduce_scatter", "input_list", input_list)
    check_count("reduce_scatter", "input_list", f"{len(input_list)} tensors", f"{found.size()} tensors")
    counts = [item.numel() for item in input_list]
    return _reduce_scatter("reduce_scatter", found, output, flat(input_list), op, counts, async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduces a tensor that concatenates or stacks a part for each process, and gives each its part. Errors as in `all_reduce`, and ShapeError."""
    if (found := member("reduce_scatter_tensor", group)) is None:
        return None
    check_tensor("reduce_scatter_tensor", "output", output, is_result=True)
    check_tensor("reduce_scatter_tensor", "input", input)
    count, size = output.numel(), found.size()
    check_count("reduce_scatter_tensor", "input", f"{input.numel()} elements", f"{count * size} elements")
    return _reduce_scatter("reduce_scatter_tensor", found, output, input, op, [count] * size, async_op)


def _reduce_scatter(name, found, output, input, op, counts, async_op):
    check_dtype(name, "output", output, input)
    check_count(name, "output", f"{output.numel()} elements", f"{counts[found.rank()]} elements")
    request = found._core.reduce_scatter(input, named(name, op, input), counts)
    return done(Work(request, lambda result: write(output, ended(op, result, found.size()))), async_op)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Gathers the tensors of all processes into a list in process `dst` (0 by default); others give no list. Raises ValueError, ShapeError or
    DTypeError for lists that do not fit."""
    if (found := member("gather", group)) is None:
        return None
    root = root_of("gather", found, 0 if dst is None and group_dst is None else dst, group_dst, "dst")
    is_root, size = found.rank() == root, found.size()
    check_tensor("gather", "tensor", tensor)
    _check_root_list("gather", "gather_list", gather_list, is_root, found, tensor, is_result=True)
    send = [tensor.numel() if rank == root else 0 for rank in range(size)]
    recv = [tensor.numel() if is_root else 0] * size
    request = found._core.all_to_all(tensor, send, recv, list(tensor.shape))
    return done(Work(request, (lambda result: write_all(gather_list, result)) if is_root else None), async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Gives each process its tensor of a list that process `src` (0 by default) has; others give no list. Raises ValueError, ShapeError or DTypeError
    for lists that do not fit."""
    if (found := member("scatter", group)) is None:
        return None
    root = root_of("scatter", found, 0 if src is None and group_src is None else src, group_src)
    is_root, size = found.rank() == root, found.size()
    check_tensor("scatter", "tensor", tensor, is_result=True)
    _check_root_list("scatter", "scatter_list", scatter_list, is_root, found, tensor)
    send = [tensor.numel() if is_root else 0] * size
    recv = [tensor.numel() if rank == root else 0 for rank in range(size)]
    sent = flat(scatter_list) if is_root else _core.empty([0], dtype=tensor.dtype)
    request = found._core.all_to_all(sent, send, recv, list(tensor.shape))
    return done(Work(request, lambda result: write(tensor, result)), async_op)


def _check_root_list(name, argument, tensors, is_root, found, like, is_result=False):
    if not is_root:
        if tensors:
            raise ValueError(f"{name}: {argument} must not be specified on ranks other than the root")
        return
    if not tensors:
        raise ValueError(f"{name}: {argument} must be specified on the root")
    check_tensors(name, argument, tensors, is_result=is_result)
    check_dtype(name, argument, tensors[0], like)
    check_count(name, argument, f"{len(tensors)} tensors", f"{found.size()} tensors")
    for item in tensors:
        check_count(name, argument, f"a tensor of {item.numel()} elements", f"a tensor of {like.numel()} elements")


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Sends a tensor of a list to each process, and receives one from each. Raises ShapeError or DTypeError for lists that do not fit."""
    if (found := member("all_to_all", group)) is None:
        return None
    for argument, tensors in (("input_tensor_list", input_tensor_list), ("output_tensor_list", output_tensor_list)):
        check_tensors("all_to_all", argument, tensors, is_result=tensors is output_tensor_list)
        check_count("all_to_all", argument, f"{len(tensors)} tensors", f"{found.size()} tensors")
    check_dtype("all_to_all", "output_tensor_list", output_tensor_list[0], input_tensor_list[0])
    send, recv = ([item.numel() for item in tensors] for tensors in (input_tensor_list, output_tensor_list))
    request = found._core.all_to_all(flat(input_tensor_list), send, recv, [])
    return done(Work(request, lambda result: write_all(output_tensor_list, result)), async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Splits a tensor along dimension 0, sends a part to each process and concatenates what comes; parts are equal unless sizes are given. Raises
    ShapeError for sizes that do not fit."""
    if (found := member("all_to_all_single", group)) is None:
        return None
    check_tensor("all_to_all_single", "output", output, is_result=True)
    check_tensor("all_to_all_single", "input", input)
    check_dtype("all_to_all_single", "output", output, input)
    send = _split(found, "input_split_sizes", input, input_split_sizes)
    recv = _split(found, "output_split_sizes", output, output_split_sizes)
    request = found._core.all_to_all(input, send, recv, list(input.shape[1:]))
    return done(Work(request, lambda result: write(output, result)), async_op)


def _split(found, argument, tensor, sizes):
    """Numbers of elements by rank, from lengths along dimension 0."""
    length = tensor.shape[0] if tensor.dim() else 0
    if not sizes:
        if tensor.dim() == 0 or length % found.size():
            raise _core.ShapeError(f"all_to_all_single: {argument}: length {length}, expected a multiple of {found.size()}, or sizes")
        sizes = [length // found.size()] * found.size()
    check_count("all_to_all_single", argument, f"{len(sizes)} sizes", f"{found.size()} sizes")
    if any(size < 0 for size in sizes) or sum(sizes) != length:
        raise _core.ShapeError(f"all_to_all_single: {argument}={list(sizes)}, expected sizes with the sum {length}")
    return [size * math.prod(tensor.shape[1:]) for size in sizes]


def barrier(group=None, async_op=False, device_ids=None):
    """Waits until all processes have come. Raises DistError if some do not."""
    if (found := member("barrier", group)) is None:
        return None
    return done(Work(found._core.barrier()), async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """As `barrier`, within `timeout`, a datetime.timedelta. The error names all ranks that did not come, whatever `wait_all_ranks` is."""
    if (found := member("monitored_barrier", group)) is not None:
        Work(found._core.barrier()).wait(timeout)
