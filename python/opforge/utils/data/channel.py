"""Objects sent between a loader and its workers.

A connection carries short messages only, so that the sender does not wait for the receiver. What is longer lies in an anonymous file in memory
whose descriptor is sent: it has no name, so nothing is left behind whatever becomes of the two processes. Tensors and arrays lie there as bytes.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import tempfile
from multiprocessing.reduction import recv_handle, send_handle

from ... import _core as _C

# What is sent through the connection itself, in bytes.
_SHORT = 1024
# Where each part begins, in bytes: on a cache line.
_ALIGNMENT = 64


class _Pickler(pickle.Pickler):
    """Leaves out what memory views do not show: a small part of a large tensor is sent as a tensor of its own."""

    def reducer_override(self, obj):
        if type(obj) is not _C.Tensor or obj.is_meta or obj.untyped_storage().nbytes() <= 2 * obj.nbytes + _SHORT:
            return NotImplemented
        part = obj.detach().clone().requires_grad_(obj.requires_grad)
        return part.__reduce_ex__(pickle.HIGHEST_PROTOCOL)


class Message:
    """A pickle and its buffers, one after the other in `data`, of these sizes in bytes."""

    def __init__(self, sizes, data):
        self.sizes = sizes
        self.data = data

    def unpack(self):
        """The object."""
        view, start, parts = memoryview(self.data), 0, []
        for size in self.sizes:
            parts.append(view[start : start + size])
            start += _padded(size)
        return pickle.loads(parts[0], buffers=parts[1:])


def _padded(size) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def pack(obj):
    """The parts of a message: the pickle and its buffers."""
    stream, buffers = io.BytesIO(), []
    _Pickler(stream, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append).dump(obj)
    return [stream.getbuffer(), *(buffer.raw() for buffer in buffers)]


def send(connection, task, parts):
    """Sends a task's number and what `pack` gave."""
    sizes = [part.nbytes for part in parts]
    if sum(map(_padded, sizes)) <= _SHORT:
        connection.send((task, sizes, b"".join(bytes(part).ljust(_padded(part.nbytes), b"\0") for part in parts)))
        return
    with _anonymous_file() as file:
        for part in parts:
            file.write(part)
            file.seek(_padded(part.nbytes) - part.nbytes, os.SEEK_CUR)
        file.truncate()
        connection.send((task, sizes, None))
        send_handle(connection, file.fileno(), None)


def receive(connection):
    """A task's number, and a `Message`. Waits for it; EOFError if there will be none."""
    task, sizes, data = connection.recv()
    if data is not None:
        return task, Message(sizes, bytearray(data))
    descriptor = recv_handle(connection)
    try:
        return task, Message(sizes, mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY))
    finally:
        os.close(descriptor)


def _anonymous_file():
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("opforge-data"), "wb", buffering=0)
    return tempfile.TemporaryFile(buffering=0)
