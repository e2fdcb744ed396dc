"""`Variable`, which every tensor is: it was what carried gradients before tensors did."""

from __future__ import annotations

from .. import _core

__all__ = ["Variable", "VariableMeta"]


class VariableMeta(type):
    """Has all tensors be instances of `Variable`."""

    def __instancecheck__(cls, other):
        return isinstance(other, _core.Tensor)


class Variable(metaclass=VariableMeta):
    """A leaf over a tensor's storage; what it makes is a plain tensor. `volatile`, which was `no_grad` once, changes nothing.

    >>> Variable(opforge.ones(2), requires_grad=True).requires_grad
    True
    """

    def __new__(cls, data=None, requires_grad=False, volatile=False):
        if data is None:
            return _core.tensor([]).requires_grad_(requires_grad)
        if not isinstance(data, _core.Tensor):
            raise TypeError(f"Variable: data of type {type(data).__name__}, a Tensor expected")
        return data.detach().requires_grad_(requires_grad)
