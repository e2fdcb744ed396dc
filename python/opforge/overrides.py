"""`__torch_function__`: classes and modes that decide what functions do with their arguments.

A class with a class method `__torch_function__(cls, func, types, args=(), kwargs=None)`, a subclass of `Tensor` or not, decides calls of opforge's
functions that it is an argument of; a `TorchFunctionMode` decides all calls in its block. Shown are functions, methods and operators that are declared
(docs/functions.md lists them); of a subclass's instance also what is written by hand, such as `detach`, indexing and the properties. Functions that are
composed in Python, as those of many modules, show what they are made of instead of themselves.
"""

from __future__ import annotations

import functools
import importlib
import types

from . import _core
from ._calls.intercept import ask, asks, modes, thread

_Tensor = _core.Tensor


def _is_torch_function_mode_enabled():
    """Whether a mode of functions sees calls."""
    return bool(thread.modes)


def has_torch_function(relevant_args):
    """Whether a class among the arguments', or a mode, is to decide a call with them: the caller then returns what `handle_torch_function` gives."""
    return bool(thread.modes) or _core._watching()[1] and any(map(asks, relevant_args))


def has_torch_function_unary(tensor):
    """`has_torch_function` of one argument."""
    return has_torch_function((tensor,))


def has_torch_function_variadic(*tensors):
    """`has_torch_function` of several arguments."""
    return has_torch_function(tensors)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What modes and the classes of the relevant arguments make of `public_api(*args, **kwargs)`. TypeError if none takes the call.

    >>> def scale(x, factor):
    ...     if has_torch_function((x,)):
    ...         return handle_torch_function(scale, (x,), x, factor)
    ...     return x * factor
    """
    result = ask(public_api, relevant_args, args, kwargs)
    if result is NotImplemented:
        kinds = ", ".join(type(value).__name__ for value in relevant_args)
        name = getattr(public_api, "__qualname__", public_api)
        raise TypeError(f"{name}(): no __torch_function__ of the arguments' classes takes it; they are {kinds}")
    return result


def wrap_torch_function(dispatcher):
    """Decorates a function so that the arguments that `dispatcher(*args, **kwargs)` names may decide its calls."""

    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp):
    """Whether a value is a tensor, or of a class with a `__torch_function__`."""
    return type(inp) is _Tensor or hasattr(inp, "__torch_function__")


class TorchFunctionMode:
    """A block in which `__torch_function__(self, func, types, args=(), kwargs=None)` of this object decides each call of this thread. While it does,
    the modes around it see calls, not this one.

    >>> class Names(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     y = opforge.ones(2).exp()
    ones
    exp
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """What becomes of a call. Subclasses write it."""
        raise NotImplementedError(f"{type(self).__name__}.__torch_function__: a mode needs one")

    def __enter__(self):
        block = modes((*thread.modes, self))
        block.__enter__()
        self.__dict__.setdefault("_blocks", []).append(block)
        return self

    def __exit__(self, *exception):
        self._blocks.pop().__exit__(None, None, None)

    @classmethod
    def push(cls, *args, **kwargs):
        """The mode made of these arguments."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class _Disabled:
    """A block in which calls are not shown to the classes of their arguments, nor to modes if `_modes` is true."""

    _modes = False

    def __enter__(self):
        self._before = modes(() if self._modes else thread.modes), _core._watching()[1]
        self._before[0].__enter__()
        _core._watch(_core._watching()[0], False)
        return self

    def __exit__(self, *exception):
        block, classes = self._before
        _core._watch(_core._watching()[0], classes)
        block.__exit__(None, None, None)


class DisableTorchFunctionSubclass(_Disabled):
    """A block in which subclasses of `Tensor` are taken as plain tensors."""


class DisableTorchFunction(_Disabled):
    """A block in which neither modes nor the classes of arguments decide calls."""

    _modes = True


def _namespaces():
    """The modules and the class whose functions calls are shown of, by the names that PyTorch's programs know them under."""
    for name in ("", ".nn.functional", ".fft", ".linalg", ".special"):
        yield f"torch{name}", importlib.import_module(f"opforge{name}")
    yield "torch.Tensor", _Tensor


def _is_shown(value):
    if isinstance(value, types.FunctionType):
        return getattr(value, "is_shown", False)
    if isinstance(value, types.BuiltinFunctionType):
        home = getattr(value, "__module__", None) or ""
        return home.startswith("opforge._core") and value.__name__ in _declared_functions()
    return isinstance(value, (types.MethodDescriptorType, types.GetSetDescriptorType))


@functools.cache
def _declared_functions():
    return {function["name"] for function in _core.catalogue()}


@functools.cache
def get_overridable_functions():
    """The functions, methods and properties that calls are shown of, by the module or class that has them."""
    found = {}
    for _, space in _namespaces():
        values = (value for name, value in vars(space).items() if not name.startswith("_"))
        found[space] = [value.__get__ if isinstance(value, types.GetSetDescriptorType) else value for value in values if _is_shown(value)]
    return found


@functools.cache
def get_ignored_functions():
    """Public functions of the package that calls are not shown of: what is written by hand, and some that are composed in Python."""
    shown = {value for values in get_overridable_functions().values() for value in values}
    spaces = [space for _, space in _namespaces() if space is not _Tensor]
    public = (value for space in spaces for name, value in vars(space).items() if not name.startswith("_"))
    return {value for value in public if isinstance(value, (types.BuiltinFunctionType, types.FunctionType)) and value not in shown}


def get_default_nowrap_functions():
    """The functions whose results are plain tensors whatever the class of their argument."""
    return {_Tensor.grad.__get__}


@functools.cache
def _names():
    names = {}
    for prefix, space in _namespaces():
        for name, value in vars(space).items():
            if isinstance(value, types.GetSetDescriptorType):
                names.setdefault(value.__get__, f"{prefix}.{name}.__get__")
            elif callable(value) and getattr(value, "__hash__", None):
                names.setdefault(value, f"{prefix}.{name}")
    return names


def resolve_name(f):
    """The name of a function, as PyTorch's programs know it, such as `torch.Tensor.add`; None for what is none of its functions."""
    if isinstance(f, str):
        return f
    return _names().get(f)


def is_tensor_method_or_property(func):
    """Whether a function that calls are shown of is a method or a property of `Tensor`."""
    name = resolve_name(func) or ""
    return name.startswith("torch.Tensor.")


# What classes are free to have as Python's own classes do, and what makes objects of a class.
_KEPT = frozenset(
    "__class__ __new__ __init__ __init_subclass__ __subclasshook__ __hash__ __repr__ __str__ __dir__ __doc__ __dict__ __weakref__ __module__ "
    "__getattribute__ __setattr__ __delattr__ __sizeof__ __reduce__ __reduce_ex__ __deepcopy__ __setstate__ __getstate__ __torch_function__ "
    "__buffer__ __release_buffer__ __class_getitem__ as_subclass _make_subclass".split()
)
# Operators, which the binding shows itself.
_OPERATORS = frozenset(
    f"__{prefix}{name}__"
    for name in "add sub mul truediv floordiv mod matmul and or xor lshift rshift pow eq ne lt le gt ge neg pos abs invert".split()
    for prefix in ("", "r", "i")
)


@functools.cache
def _handwritten():
    """What `Tensor` has besides methods that the binding shows, ready for a class that is to see it."""
    found = {}
    for name, value in vars(_Tensor).items():
        is_declared = name in _core._declared_methods and isinstance(value, types.MethodDescriptorType)
        if is_declared or name in _KEPT | _OPERATORS:
            continue
        if isinstance(value, (types.GetSetDescriptorType, property)):
            found[name] = _shown_property(value)
        elif isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType, types.FunctionType)):
            found[name] = _shown_method(value)
    found["__iter__"] = lambda self: iter(self.unbind())
    return found


def _shown_method(method):
    @functools.wraps(method)
    def shown(self, *args, **kwargs):
        if not _core._watching()[1]:
            return method(self, *args, **kwargs)
        return handle_torch_function(method, (self,), self, *args, **kwargs)

    return shown


def _shown_property(descriptor):
    def get(self):
        if not _core._watching()[1]:
            return descriptor.__get__(self)
        return handle_torch_function(descriptor.__get__, (self,), self)

    def set_value(self, value):
        if not _core._watching()[1]:
            return descriptor.__set__(self, value)
        return handle_torch_function(descriptor.__set__, (self,), self, value)

    def delete(self):
        if not _core._watching()[1]:
            return descriptor.__delete__(self)
        return handle_torch_function(descriptor.__delete__, (self,), self)

    return property(get, set_value, delete, descriptor.__doc__)


def _show_methods(cls):
    """Has a subclass of `Tensor` see the calls that it is an argument of, those of methods that are written by hand too."""
    _core._watch_classes()
    for name, value in _handwritten().items():
        if getattr(cls, name, None) is vars(_Tensor)[name]:
            setattr(cls, name, value)
