"""Collective calls on Python objects, which travel pickled: the processes of a program trust each other."""

from __future__ import annotations

import io
import pickle

from .. import _core
from ._collectives import all_gather, broadcast, gather, member, root_of, scatter
from ._messages import recv, send


def _packed(obj):
    return _core.frombuffer(bytearray(pickle.dumps(obj)), dtype=_core.uint8)


def _unpacked(data):
    return pickle.loads(data.contiguous().numpy().tobytes())  # noqa: S301  what the program's own processes send


def _lengths(found, data):
    """How many bytes each process has."""
    lengths = _core.zeros([found.size()], dtype=_core.int64)
    all_gather(list(lengths.unbind()), _core.tensor(data.numel()), found)
    return lengths.tolist()


def _padded(data, length):
    return _core.cat([data, _core.zeros([length - data.numel()], dtype=_core.uint8)])


def all_gather_object(object_list, obj, group=None):
    """Gathers an object of each process into a list. Raises ValueError for lists of another length."""
    if (found := member("all_gather_object", group)) is None:
        return
    if len(object_list) != found.size():
        raise ValueError(f"all_gather_object: object_list has {len(object_list)} elements, expected {found.size()}")
    data = _packed(obj)
    lengths = _lengths(found, data)
    parts = [_core.empty([length], dtype=_core.uint8) for length in lengths]
    all_gather(parts, data, found)
    object_list[:] = map(_unpacked, parts)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Gathers an object of each process into a list in process `dst` (0 by default); others give no list. Raises ValueError for lists that do not
    fit."""
    if (found := member("gather_object", group)) is None:
        return
    root = root_of("gather_object", found, 0 if dst is None and group_dst is None else dst, group_dst, "dst")
    is_root = found.rank() == root
    if is_root != bool(object_gather_list):
        raise ValueError(f"gather_object: object_gather_list must {'' if is_root else 'not '}be specified on this rank")
    if is_root and len(object_gather_list) != found.size():
        raise ValueError(f"gather_object: object_gather_list has {len(object_gather_list)} elements, expected {found.size()}")
    data = _packed(obj)
    lengths = _lengths(found, data)
    parts = [_core.empty([max(lengths)], dtype=_core.uint8) for _ in lengths] if is_root else None
    gather(_padded(data, max(lengths)), parts, group=found, group_dst=root)
    if is_root:
        object_gather_list[:] = [_unpacked(part[:length]) for part, length in zip(parts, lengths, strict=True)]


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Gives all processes the objects of a list that process `src` (0 by default) has; lists have equally many. Raises ValueError for an empty one."""
    if (found := member("broadcast_object_list", group)) is None:
        return
    root = root_of("broadcast_object_list", found, 0 if src is None and group_src is None else src, group_src)
    if not isinstance(object_list, list) or not object_list:
        raise ValueError("broadcast_object_list: expected a list of objects, with at least one")
    is_root = found.rank() == root
    parts = [_packed(obj) for obj in object_list] if is_root else []
    lengths = _core.tensor([part.numel() for part in parts]) if is_root else _core.zeros([len(object_list)], dtype=_core.int64)
    broadcast(lengths, group=found, group_src=root)
    data = _core.cat(parts) if is_root else _core.empty([int(lengths.sum())], dtype=_core.uint8)
    broadcast(data, group=found, group_src=root)
    if not is_root:
        object_list[:] = map(_unpacked, data.split(lengths.tolist()))


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    """Gives each process its object of a list that process `src` (0 by default) has, as the first of `scatter_object_output_list`. Raises ValueError
    for lists that do not fit."""
    if (found := member("scatter_object_list", group)) is None:
        return
    root = root_of("scatter_object_list", found, 0 if src is None and group_src is None else src, group_src)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("scatter_object_list: scatter_object_output_list must be a list with at least one element")
    is_root = found.rank() == root
    if is_root and len(scatter_object_input_list or []) != found.size():
        raise ValueError(f"scatter_object_list: scatter_object_input_list must have {found.size()} objects on the root")
    parts = [_packed(obj) for obj in scatter_object_input_list] if is_root else None
    lengths = _core.tensor([part.numel() for part in parts]) if is_root else _core.zeros([found.size()], dtype=_core.int64)
    broadcast(lengths, group=found, group_src=root)
    length = int(lengths.max())
    mine = _core.empty([length], dtype=_core.uint8)
    scatter(mine, [_padded(part, length) for part in parts] if is_root else None, group=found, group_src=root)
    scatter_object_output_list[0] = _unpacked(mine[: int(lengths[found.rank()])])


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False, weights_only=False):
    """Sends the objects of a list to process `dst`, its number in the world, which calls `recv_object_list` with as many. With `weights_only` they travel as
    `save` writes them, on both sides. Raises ValueError for an empty list."""
    _check_list("send_object_list", object_list)
    if member("send_object_list", group) is None:
        return
    parts = [_written(obj) if weights_only else _packed(obj) for obj in object_list]
    send(_core.tensor([part.numel() for part in parts]), dst, group, group_dst=group_dst)
    send(_core.cat(parts), dst, group, group_dst=group_dst)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False, weights_only=False) -> int:
    """Receives the objects that process `src` sends by `send_object_list`, in the place of those of a list of as many; its number in the world, -1 if this
    process is not in the group. With `weights_only` only what `load` takes for safe is made. Raises ValueError for an empty list, NotImplementedError
    without `src`, DistError for lists of different lengths."""
    _check_list("recv_object_list", object_list)
    if member("recv_object_list", group) is None:
        return -1
    lengths = _core.zeros([len(object_list)], dtype=_core.int64)
    recv(lengths, src, group, group_src=group_src)
    data = _core.empty([int(lengths.sum())], dtype=_core.uint8)
    source = recv(data, src, group, group_src=group_src)
    object_list[:] = map(_read if weights_only else _unpacked, data.split(lengths.tolist()))
    return source


def _check_list(name, object_list):
    if not isinstance(object_list, list) or not object_list:
        raise ValueError(f"{name}: expected a list of objects, with at least one")


def _written(obj):
    from ..serialization import save

    buffer = io.BytesIO()
    save(obj, buffer)
    return _core.frombuffer(bytearray(buffer.getvalue()), dtype=_core.uint8)


def _read(data):
    from ..serialization import load

    return load(io.BytesIO(data.contiguous().numpy().tobytes()), weights_only=True)
