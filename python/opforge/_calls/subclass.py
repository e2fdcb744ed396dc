"""What subclasses of `Tensor` have of it: results of their class, and a say in the calls that they are arguments of."""

from __future__ import annotations

from .. import _core

_Tensor = _core.Tensor
# What it gives is a plain tensor.
_GRADIENT = _Tensor.grad.__get__


def _torch_function(cls, func, types, args=(), kwargs=None):
    """Runs the call as for plain tensors; resulting tensors are of this class. Subclasses change what calls with them do by a class method of this name:

    `func` is the function or method that is called, `types` the arguments' classes that have such a method. NotImplemented leaves the call to the
    next of them.
    """
    if not all(issubclass(cls, other) for other in types):
        return NotImplemented
    result = _core._disabled_torch_function_impl(func, types, args, kwargs)
    return result if func == _GRADIENT else _adopt(result, cls)


def _adopt(result, cls):
    if isinstance(result, _Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        adopted = (_adopt(item, cls) for item in result)
        return type(result)(*adopted) if hasattr(result, "_fields") else type(result)(adopted)
    return result


def _init_subclass(cls, **kwargs):
    super(_Tensor, cls).__init_subclass__(**kwargs)
    if cls.__torch_function__ is not _core._disabled_torch_function_impl:
        from ..overrides import _show_methods

        _show_methods(cls)


_Tensor.__torch_function__ = classmethod(_torch_function)
_Tensor.__init_subclass__ = classmethod(_init_subclass)
