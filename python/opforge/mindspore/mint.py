"""MindSpore's functions with PyTorch's arguments: opforge's own, giving MindSpore's tensors. What opforge does not have is a function that says so."""

from .. import _core
from .absent import absent_module
from .tensor import adopting

_missing = absent_module("mindspore.mint", "opforge has no function of that name")


def __getattr__(name):
    found = getattr(_core, name, None)
    return adopting(found) if name[0] != "_" and callable(found) and not isinstance(found, type) else _missing(name)
