"""Helpers that packages take from PyTorch's internals: tensors put together from storages, and many tensors as one."""

from __future__ import annotations

import sys
import traceback

from . import _core

__all__ = ["ExceptionWrapper"]


def _rebuild_tensor(storage, storage_offset, size, stride):
    """A float32 tensor over a storage; offsets and strides count elements."""
    return _core._rebuild_tensor(_core.Tensor, storage, _core.float32, storage_offset, size, stride)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    """A tensor over a storage that knows its dtype, as PyTorch's pickles describe it."""
    dtype, storage = getattr(storage, "dtype", _core.float32), getattr(storage, "_untyped_storage", storage)
    return _core._rebuild_tensor(_core.Tensor, storage, dtype, storage_offset, size, stride).requires_grad_(requires_grad)


def _rebuild_parameter(data, requires_grad, backward_hooks):
    """A parameter, as PyTorch's pickles describe it."""
    from .nn.parameter import Parameter

    return Parameter(data, requires_grad)


def _flatten_dense_tensors(tensors):
    """The elements of tensors of one dtype, one after the other."""
    return _core.cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """Views of `flat` with the shapes of `tensors`, one after the other."""
    parts, start = [], 0
    for tensor in tensors:
        parts.append(flat.narrow(0, start, tensor.numel()).view_as(tensor))
        start += tensor.numel()
    return tuple(parts)


def _take_tensors(tensors, size_limit):
    """Lists of tensors of one type, of `size_limit` bytes each or a little more."""
    open_groups = {}
    for tensor in tensors:
        group = open_groups.setdefault(tensor.type(), [])
        group.append(tensor)
        if sum(t.nbytes for t in group) >= size_limit:
            yield open_groups.pop(tensor.type())
    yield from open_groups.values()


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a device."""
    if isinstance(device, int):
        return device
    device = _core.device(device)
    if device.type == "cpu" and not allow_cpu:
        raise ValueError(f"Expected a non cpu device, but got: {device}")
    return -1 if device.type == "cpu" else device.index


def _get_available_device_type():
    """The type of the machine's accelerators, None where there is none."""
    from . import cuda

    return "cuda" if cuda.is_available() else None


def _get_device_module(device_type):
    """The module of a device's type: `opforge.cpu`, `opforge.cuda`, .."""
    from ._settings import get_device_module

    return get_device_module(device_type)


def _get_all_device_indices():
    """The numbers of the machine's accelerators, None where there is none."""
    from . import cuda

    return list(range(cuda.device_count())) or None


class ExceptionWrapper:
    """An exception with its trace as text, to be raised in another process or thread."""

    def __init__(self, exc_info=None, where="in background"):
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type, self.where = kind, where
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))

    def reraise(self):
        """Raises an exception of the same class whose text holds the trace."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        try:
            error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class _ClassProperty:
    """A property of a class: `@classproperty`."""

    def __init__(self, function):
        self._function = function

    def __get__(self, instance, owner=None):
        return self._function(type(instance) if owner is None else owner)


classproperty = _ClassProperty
