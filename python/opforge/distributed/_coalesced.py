"""Calls on many tensors at once: those of one dtype travel as one."""

from __future__ import annotations

from .. import _core

# Tensors are joined up to so many bytes: small ones save calls, large ones copies.
_BYTES = 16 << 20


def broadcast(tensors, root, group):
    """Gives all ranks the elements that rank `root` of the group has, in place; all have tensors of the same dtypes and sizes."""
    _end([_begin(part, root, group) for part in parts(tensors)])


def broadcast_each(owned, group):
    """As `broadcast` of each rank's tensors: a list of tensors for each rank, which all ranks know."""
    _end([_begin(part, root, group) for root, tensors in enumerate(owned) for part in parts(tensors)])


def parts(tensors):
    """Lists of tensors of one dtype, in the order in which they are full; larger tensors are alone."""
    open_parts, closed = {}, []
    for tensor in tensors:
        part = open_parts.setdefault(tensor.dtype, [])
        if part and sum(item.nbytes for item in part) + tensor.nbytes > _BYTES:
            closed.append(open_parts.pop(tensor.dtype))
            part = open_parts.setdefault(tensor.dtype, [])
        part.append(tensor)
    return closed + list(open_parts.values())


def _begin(tensors, root, group):
    is_root = group.rank() == root
    flat = _core.cat([tensor.reshape(-1) for tensor in tensors]) if is_root else _core.empty(sum(t.numel() for t in tensors), dtype=tensors[0].dtype)
    request = group._core.broadcast(flat, root, True)
    request.release()
    return request, None if is_root else tensors, flat


def _end(calls):
    for request, tensors, flat in calls:
        result = request.wait()
        if tensors is not None:
            received = flat if result is None else result
            for tensor, part in zip(tensors, received.split([tensor.numel() for tensor in tensors])):
                tensor.copy_(part.view(tensor.shape))
