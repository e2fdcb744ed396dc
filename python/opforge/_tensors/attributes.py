"""Attributes of tensors that say what PyTorch's could be and opforge's never are: sparse, quantized, on devices that are not there; and of storages."""

from __future__ import annotations

import sys as _sys

from .._absent.accelerators import DeviceAbsentError
from .._calls.arguments import name_arguments
from .._core import Tensor, UntypedStorage, _rebuild_tensor, device as _device, uint8
from .layouts import memory_format

_NEVER = """
is_sparse is_sparse_csr is_quantized is_mkldnn is_nested is_mps is_xpu is_xla is_hpu is_ipu is_mtia is_maia is_vulkan is_ort _is_zerotensor
"""


def _never(name):
    return property(lambda self: False, doc=f"False: no tensor of opforge is, `{name.removeprefix('is_')}`.")


def _to_absent(name):
    def move(self, device=None, non_blocking=False, memory_format=None):
        raise DeviceAbsentError(f"Tensor.{name}(): there is no such device")

    move.__name__, move.__doc__ = name, f"The tensor on the device {name!r}, which is not there."
    return move


def _to_cuda(self, device=None, non_blocking=False, memory_format=None):
    """The tensor on a CUDA device, the current one by default. Copies are waited for, whatever `non_blocking` says."""
    from ..cuda.devices import number

    return self.to(_device("cuda", number(device)))


def _to_mps(self, non_blocking=False, memory_format=None):
    """The tensor on Apple's GPU: DeviceError where there is none. Copies are waited for, whatever `non_blocking` says."""
    return self.to("mps")


def _layout(self):
    """How elements are kept: `strided`, but for sparse tensors."""
    from .layouts import strided

    return strided


def get_device(input):
    """The number of the tensor's device; -1 on the CPU."""
    index = input.device.index
    return -1 if index is None else index


def is_conj(input):
    """False: conjugates are computed."""
    return False


def is_neg(input):
    """False: negatives are computed."""
    return False


def is_inference(input):
    """False: tensors made in `inference_mode` are like others."""
    return False


def is_distributed(input):
    """False: a tensor that is spread over processes says so by `is_global`."""
    return False


def is_signed(input):
    """Whether the dtype has negative numbers."""
    return input.is_signed()


def _dim_order(self, *, ambiguity_check=False):
    """The dimensions from the one with the largest stride to that with the smallest.

    Dimensions of one element or of equal strides could stand elsewhere: with `ambiguity_check` that is a RuntimeError, unless the check is a list of
    memory formats and the tensor lies in exactly one of them. Other checks are a TypeError.
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or any(not isinstance(one, memory_format) for one in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = self.stride()
    is_ambiguous = 1 in self.shape or len(set(strides)) < len(strides)
    if ambiguity_check is not False and is_ambiguous and sum(self.is_contiguous(memory_format=one) for one in formats) != 1:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    return tuple(sorted(range(self.dim()), key=lambda d: -strides[d]))


def _reversed(self):
    """The tensor with its first dimension in the other order."""
    return self.flip(0) if self.dim() else self


Tensor.__reversed__ = _reversed
Tensor.layout = property(_layout)
Tensor.get_device = get_device
Tensor.dim_order = _dim_order
Tensor.is_inference, Tensor.is_distributed, Tensor.is_conj, Tensor.is_neg = is_inference, is_distributed, is_conj, is_neg
Tensor.to_dense = lambda self, dtype=None, *, masked_grad=None: self if dtype is None else self.to(dtype)
# In PyTorch an address, by which packages tell whether two names are one tensor.
Tensor._cdata = property(id, doc="A number that no other tensor has while this one is there.")
Tensor.names = property(lambda self: (None,) * self.dim())
Tensor.has_names = lambda self: False
for _name in _NEVER.split():
    setattr(Tensor, _name, _never(_name))
Tensor.cuda = _to_cuda
Tensor.mps = _to_mps
for _name in ("xpu", "hpu"):
    setattr(Tensor, _name, _to_absent(_name))


def _from_file(filename, shared=False, nbytes=0):
    """The first bytes of a file as memory: `shared`, changes go to the file; else they stay in memory."""
    from .._calls.functions import from_file

    return from_file(filename, shared, nbytes, dtype=uint8).untyped_storage()


def _vector_of(storage):
    """The tensor of all bytes, of the same memory."""
    return _rebuild_tensor(Tensor, storage, uint8, 0, (storage.nbytes(),), (1,))


def _bytes(self, index):
    """A byte's number; for a slice the tensor of the bytes, of the same memory."""
    found = _vector_of(self)[index]
    return found if isinstance(index, slice) else found.item()


UntypedStorage.from_file = staticmethod(_from_file)
UntypedStorage.__getitem__ = _bytes
UntypedStorage.tolist = lambda self: _vector_of(self).tolist()
UntypedStorage.untyped = lambda self: self
UntypedStorage.cpu = lambda self: _vector_of(self).cpu().untyped_storage()
UntypedStorage.cuda = lambda self, device=None, non_blocking=False: _vector_of(self).cuda(device).untyped_storage()


def _share_memory(self):
    """Moves the elements to memory that other processes see, once it is sent to them or they are forked; views that there are stay where they were."""
    from .shared_memory import share

    return share(self)


def _is_shared(self):
    """Whether other processes see the elements."""
    shared = _sys.modules.get("opforge._tensors.shared_memory")
    return shared is not None and shared.is_shared(self)


Tensor.share_memory_, Tensor.is_shared = _share_memory, _is_shared

# The functions, not the methods: they may be given what is no tensor.
name_arguments(globals())
