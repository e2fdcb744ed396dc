"""Tensors that a [`Module`](modules/module.py) registers when they are assigned to it."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.layouts import is_dense


class Parameter(_C.Tensor):
    """A tensor that is trained: a leaf that shares `data`'s memory and requires a gradient unless told otherwise.

    >>> layer = opforge.nn.Module()
    >>> layer.weight = opforge.nn.Parameter(opforge.ones(2, 3))
    >>> [name for name, _ in layer.named_parameters()]
    ['weight']
    """

    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data=None, requires_grad=True):
        data = _C.empty(0) if data is None else data
        if not isinstance(data, _C.Tensor):
            raise TypeError(f"Parameter: data must be a Tensor, not {type(data).__name__}")
        _check_dense("Parameter", data)
        return _C.Tensor._make_subclass(cls, data.detach(), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return _rebuild_parameter, (type(self), _C.Tensor._make_subclass(_C.Tensor, self.detach(), False), self.requires_grad)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


def _check_dense(name, data):
    if not is_dense(data):
        raise _C.UnsupportedError(f"{name}: data must be a dense tensor, got a {type(data).__name__}; a parameter may be its values, register_buffer takes it")


class UninitializedTensorMixin:
    """Before a class of tensors: those without elements, which become objects of `cls_to_become` when their shape is known.

    >>> weight = opforge.nn.parameter.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, weight.shape
    ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become: type

    def materialize(self, shape, device=None, dtype=None):
        """Becomes a plain tensor of that shape, whose elements are not set; on its own device and in its own dtype unless others are given."""
        data = _C.empty(shape, device=self.device if device is None else device, dtype=self.dtype if dtype is None else dtype)
        self.data = data
        self.__class__ = self.cls_to_become

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, self.device, self.dtype)

    def __repr__(self):
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter of a lazy module, without elements until its shape is known."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return Parameter.__new__(cls, _C.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, _C.Tensor):
    """A buffer of a lazy module, without elements until its shape is known."""

    cls_to_become = _C.Tensor
    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        buffer = _C.Tensor._make_subclass(cls, _C.empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        return buffer


def is_lazy(tensor):
    """Whether the shape of a parameter or buffer is not known yet."""
    return isinstance(tensor, UninitializedTensorMixin)


def _rebuild_parameter(cls, data, requires_grad):
    return cls(data, requires_grad)


class Buffer(_C.Tensor):
    """A tensor that belongs to a module's state without being trained, such as a running mean.

    A buffer that is not `persistent` is left out of the `state_dict`.
    """

    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data=None, *, persistent=True):
        data = _C.empty(0) if data is None else data
        _check_dense("Buffer", data)
        buffer = _C.Tensor._make_subclass(cls, data.detach(), data.requires_grad)
        buffer.persistent = persistent
        return buffer

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), persistent=self.persistent)
        return memo[id(self)]
