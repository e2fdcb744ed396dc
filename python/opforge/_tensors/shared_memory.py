"""Tensors in memory that other processes see: `share_memory_`.

The memory is a file without a name (memfd). Processes that are forked have it already; others are sent its descriptor when `multiprocessing` pickles a
tensor. It is gone when the last process has dropped its tensors.
"""

from __future__ import annotations

import mmap
import os
import weakref
from multiprocessing.reduction import DupFd, ForkingPickler

from .. import _core
from ..nn.parameter import Parameter

# Shared memories of this process, by their addresses.
_memories: weakref.WeakValueDictionary[int, _Memory] = weakref.WeakValueDictionary()


class _Memory(mmap.mmap):
    """A shared memory and its descriptor, which is closed with it."""

    descriptor: int


def _mapped(descriptor, nbytes):
    """The bytes of a descriptor's memory as a tensor."""
    memory = _Memory(descriptor, nbytes)
    memory.descriptor = descriptor
    weakref.finalize(memory, os.close, descriptor)
    bytes_ = _core.frombuffer(memory, dtype=_core.uint8)
    _memories[bytes_.data_ptr()] = memory
    return bytes_


def _memory(tensor):
    """The shared memory that a tensor's elements lie in, or None."""
    return None if tensor.is_meta else _memories.get(tensor.untyped_storage().data_ptr())


def is_shared(tensor) -> bool:
    """Whether other processes see the tensor's elements."""
    return _memory(tensor) is not None


def share(tensor):
    """Moves a tensor's elements to shared memory; views of it that there are already stay where they were."""
    if is_shared(tensor) or tensor.is_meta or tensor.numel() == 0:
        return tensor
    if tensor.grad_fn is not None:
        raise RuntimeError("share_memory_(): the tensor is a result that gradients flow through; share its detach()")
    nbytes = tensor.numel() * tensor.itemsize
    descriptor = os.memfd_create("opforge", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, nbytes)
    moved = _mapped(descriptor, nbytes).view(tensor.dtype).view(tensor.shape)
    tensor.data = moved.copy_(tensor.detach())
    return tensor


def _reduce(tensor):
    """What `multiprocessing` sends of a tensor: its memory's descriptor and its layout if it is shared, else its elements."""
    memory = _memory(tensor)
    if memory is None:
        return tensor.__reduce_ex__(2)
    layout = tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
    return _received, (type(tensor), DupFd(memory.descriptor), len(memory), layout, tensor.requires_grad)


def _received(kind, descriptor, nbytes, layout, requires_grad):
    storage = _mapped(descriptor.detach(), nbytes).untyped_storage()
    tensor = _core._rebuild_tensor(_core.Tensor, storage, *layout)
    return tensor.requires_grad_(requires_grad) if kind is _core.Tensor else kind(tensor, requires_grad)


ForkingPickler.register(_core.Tensor, _reduce)
ForkingPickler.register(Parameter, _reduce)
