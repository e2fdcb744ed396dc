"""The name of MindSpore's `numpy`, whose functions are not there: a call says so."""

from .absent import absent_module

__getattr__ = absent_module("mindspore.numpy", "functions with numpy's arguments are not there; see mindspore.ops, or numpy itself and Tensor.from_numpy")
