"""The class `Tensor` under the name of the file that PyTorch has it in."""

from __future__ import annotations

from ._core import Tensor
from ._utils import _rebuild_tensor_v2

__all__ = ["Tensor"]


def _rebuild_from_type_v2(func, new_type, args, state):
    """A tensor of a subclass with attributes, as pickles hold it."""
    tensor = func(*args)
    if type(tensor) is not new_type:
        tensor = tensor.as_subclass(new_type)
    if hasattr(tensor, "__setstate__") and state:
        tensor.__setstate__(state)
    elif state:
        tensor.__dict__.update(state)
    return tensor
