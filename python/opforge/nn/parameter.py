"""Tensors that a [`Module`](modules/module.py) registers when they are assigned to it."""

from __future__ import annotations

import types

from .. import _core as _C
from .._tensors.layouts import is_dense


class _ParameterMeta(type(_C.Tensor)):
    """Has parameters of other classes of tensors be instances of [`Parameter`] itself."""

    def __instancecheck__(cls, instance):
        return super().__instancecheck__(instance) or (cls is Parameter and isinstance(instance, _C.Tensor) and getattr(instance, "_is_param", False))


class Parameter(_C.Tensor, metaclass=_ParameterMeta):
    """A tensor that is trained: a leaf that shares `data`'s memory and requires a gradient unless told otherwise.

    Data of a class of tensors that sees calls by `__torch_function__` gives a tensor of that class, which `isinstance` says is a parameter too. Its
    `detach` must keep the class: RuntimeError.

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
        if not _is_plain(type(data)):
            return _parameter_of_its_class(data, requires_grad)
        return _C.Tensor._make_subclass(cls, data.detach(), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return _rebuild_parameter, (type(self), _C.Tensor._make_subclass(_C.Tensor, self.detach(), False), self.requires_grad)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


def _is_plain(kind):
    """Whether functions give tensors of no class of their own for arguments of this one."""
    return kind is _C.Tensor or kind.__torch_function__ is _C._disabled_torch_function_impl


def _parameter_of_its_class(data, requires_grad):
    parameter = data.detach()
    if type(parameter) is not type(data):
        raise RuntimeError(f"Parameter: data is a {type(data).__name__}, whose detach() gives a {type(parameter).__name__}, expected one of the same class")
    parameter._is_param = True
    return parameter.requires_grad_(requires_grad)


def _check_dense(name, data):
    if not is_dense(data):
        raise _C.UnsupportedError(f"{name}: data must be a dense tensor, got a {type(data).__name__}; a parameter may be its values, register_buffer takes it")


class UninitializedTensorMixin:
    """Before a class of tensors: those without elements, which become objects of `cls_to_become` when their shape is known.

    Until then they may be moved and converted; `shape` is a RuntimeError, other methods are ValueErrors.

    >>> weight = opforge.nn.parameter.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, weight.shape
    ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become: type

    @property
    def shape(self):
        raise RuntimeError(f"shape: an {type(self).__name__} has none yet; the first forward of its module, or materialize, gives it one")

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


# What tensors without elements answer: PyTorch's list; and `requires_grad_`, with which lazy modules are frozen, and what files need.
_ANSWERED = frozenset(
    "size copy_ is_complex is_floating_point half float bfloat16 double char short int long cuda cpu to get_device requires_grad_ as_subclass".split()
)


def _refused(name):
    def method(self, *args, **kwargs):
        raise ValueError(f"{name}: an {type(self).__name__} has no elements yet; the first forward of its module, or materialize, gives it some")

    method.__name__ = method.__qualname__ = name
    return method


def _is_refused(name, value):
    is_method = isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType, types.FunctionType))
    is_private = name.startswith("_") and not name.endswith("__") or hasattr(UninitializedTensorMixin, name)
    return is_method and not is_private and name not in _ANSWERED


# Methods, not a `__torch_function__`: with one, every call of every function would look for such arguments.
for _name, _value in list(vars(_C.Tensor).items()):
    if _is_refused(_name, _value):
        setattr(UninitializedTensorMixin, _name, _refused(_name))


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


def was_lazy(saved):
    """Whether the shape of a tensor in a `state_dict` was not known: files keep those as vectors of no elements."""
    return is_lazy(saved) or tuple(saved.shape) == (0,)


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
