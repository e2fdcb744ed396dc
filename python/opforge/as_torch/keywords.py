"""What programs of PyTorch's rely on beyond calls: types as texts, and functions that are Python's own, with attributes and defaults to be read.

They cost a call of Python's, so that they are there for `import torch` alone.
"""

from __future__ import annotations

import functools

from .. import _core
from .._tensors import typed as _typed

# Functions of `nn.functional` that PyTorch writes in Python, so that packages may give them attributes.
_WRITTEN = "celu elu hardsigmoid hardswish hardtanh leaky_relu mish relu relu6 selu sigmoid silu tanh"


def _written(function):
    """The function as one of Python's, which takes attributes."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    return call


def meshgrid(*tensors, indexing=None):
    """`opforge.meshgrid`, whose keyword packages look for in `__kwdefaults__`."""
    return _core.meshgrid(*tensors, indexing=indexing or "ij")


@functools.wraps(_core.Tensor.type)
def _type(self, dtype=None, non_blocking=False, **options):
    """The name of the tensor's type, "torch.FloatTensor", or the tensor in the dtype of a type, of its name, or itself a dtype."""
    if dtype is None:
        return _typed.type_name(self)
    dtype, device = _typed.place_of(dtype)
    return self.to(dtype) if device is None else self.to(device, dtype)


def extend_functions(place):
    """Has functions of a module's `nn.functional` take attributes."""
    for name in _WRITTEN.split():
        setattr(place.nn.functional, name, _written(getattr(place.nn.functional, name)))


def extend_tensor():
    """Has tensors name types as texts, and the class say that it is PyTorch's: packages for several libraries choose by its module."""
    _core.Tensor.__module__ = "torch"
    _core.Tensor.type = _type
