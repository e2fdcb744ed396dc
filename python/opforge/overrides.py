"""What libraries of tensor-like classes ask. `__torch_function__` is not looked for: opforge's functions take tensors, and instances of subclasses as such."""

from __future__ import annotations

from ._core import Tensor

__all__ = [
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "wrap_torch_function",
]  # fmt: skip


def _disabled_torch_function_impl(cls, func, types, args=(), kwargs=None):
    """A class's `__torch_function__` that has none: the call as it is."""
    return func(*args, **(kwargs or {}))


def _overrides(value):
    method = getattr(type(value), "__torch_function__", None)
    return method is not None and getattr(method, "__func__", method) is not _disabled_torch_function_impl and type(value) is not Tensor


def has_torch_function(relevant_args):
    """Whether an argument's class has a `__torch_function__` of its own, which a function that is written in Python then calls."""
    return any(map(_overrides, relevant_args))


def has_torch_function_unary(relevant_arg):
    """`has_torch_function` of one argument."""
    return _overrides(relevant_arg)


def has_torch_function_variadic(*relevant_args):
    """`has_torch_function` of the arguments."""
    return has_torch_function(relevant_args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """The result of the first `__torch_function__` that does not return NotImplemented; those of subclasses come before those of their bases.

    Raises TypeError if all do.
    """
    overloaded = []
    for value in filter(_overrides, relevant_args):
        kind = type(value)
        if all(type(other) is not kind for other in overloaded):
            place = next((i for i, other in enumerate(overloaded) if issubclass(kind, type(other))), len(overloaded))
            overloaded.insert(place, value)
    types = tuple(map(type, overloaded))
    for value in overloaded:
        result = type(value).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(kind.__name__ for kind in types)
    raise TypeError(f"no implementation found for '{public_api.__name__}' on types that implement __torch_function__: [{names}]")


def wrap_torch_function(dispatcher):
    """Has a function look for `__torch_function__` of what `dispatcher` picks of its arguments."""

    def decorate(func):
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        wrapped.__name__ = func.__name__
        return wrapped

    return decorate


def is_tensor_like(inp):
    """Whether it is a tensor, or its class has a `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func):
    """Whether it is a method or property of tensors."""
    return getattr(func, "__name__", None) in dir(Tensor) and getattr(Tensor, func.__name__) is func or func in vars(Tensor).values()


class _Mode:
    """A context of which nothing follows, since no call looks for `__torch_function__`: entering it is an error, so that nobody waits for it."""

    def __enter__(self):
        raise NotImplementedError(f"{type(self).__name__}: opforge's functions do not call __torch_function__ of modes")

    def __exit__(self, *error):
        return None


class TorchFunctionMode(_Mode):
    """The base class of contexts that see every call."""


BaseTorchFunctionMode = TorchFunctionMode
