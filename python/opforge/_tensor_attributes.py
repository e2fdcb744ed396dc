"""Attributes of tensors that say what PyTorch's could be and opforge's never are: sparse, quantized, on devices that are not there."""

from __future__ import annotations

from ._accelerators import DeviceAbsentError
from ._core import Tensor, float32

_NEVER = """
is_sparse is_sparse_csr is_quantized is_mkldnn is_nested is_mps is_xpu is_xla is_hpu is_ipu is_mtia is_maia is_vulkan is_ort _is_zerotensor
"""


def _never(name):
    return property(lambda self: False, doc=f"False: no tensor of opforge is, `{name.removeprefix('is_')}`.")


def _to_absent(name):
    def move(self, device=None, non_blocking=False, memory_format=None):
        raise DeviceAbsentError(f"Tensor.{name}(): opforge is built without it: there is no such device")

    move.__name__, move.__doc__ = name, f"The tensor on the device {name!r}, which is not there."
    return move


def _layout(self):
    """How elements are kept: `strided`, always."""
    from ._layouts import strided

    return strided


def _get_device(self):
    """The number of the tensor's device: -1, the CPU."""
    return -1


def _dim_order(self, *, ambiguity_check=False):
    """The dimensions from the one with the largest stride to that with the smallest."""
    return tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))


def _format(self, spec):
    """Its number in that format, for a tensor of no dimensions; else what `str` gives. Raises TypeError for a format where there is no one number."""
    return format(self.item(), spec) if self.dim() == 0 and type(self) is Tensor else object.__format__(self, spec)


Tensor.__format__ = _format
Tensor.layout = property(_layout)
Tensor.get_device = _get_device
Tensor.dim_order = _dim_order
Tensor.is_inference = lambda self: False
Tensor.is_conj = Tensor.is_neg = lambda self: False
Tensor.to_dense = lambda self, dtype=None, *, masked_grad=None: self if dtype is None else self.to(dtype)
Tensor.names = property(lambda self: (None,) * self.dim())
Tensor.has_names = lambda self: False
for _name in _NEVER.split():
    setattr(Tensor, _name, _never(_name))
for _name in ("cuda", "xpu", "hpu", "mps"):
    setattr(Tensor, _name, _to_absent(_name))
