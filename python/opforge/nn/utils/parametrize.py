"""Parametrizations: a module's tensor computed from others whenever it is asked for, as a symmetric matrix from a triangle.

A module whose tensor `weight` is parametrized has a class of its own, `ParametrizedLinear` of `Linear`, and a module `parametrizations.weight`:
the list of parametrizations, with the tensors that are trained, `original`, or `original0`, `original1`, .. where the first takes several.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager

from ... import _core as _C
from ...autograd.grad_mode import no_grad
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

# What parametrized tensors are within `cached()`, by module and name.
_cache: dict = {}
_caching = 0


@contextmanager
def cached():
    """Within the block a parametrized tensor is computed once, when it is first asked for."""
    global _caching
    _caching += 1
    try:
        yield
    finally:
        _caching -= 1
        if not _caching:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of a tensor, one after the other, and the tensors that the first takes; made by [`register_parametrization`].

    The originals are what `right_inverse` of the last parametrization to the first makes of `original`.
    """

    def __init__(self, modules, original, unsafe=False):
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            source = _inverted(self, original)
        self.is_tensor = isinstance(source, _C.Tensor)
        self.ntensors = 1 if self.is_tensor else len(source)
        if self.is_tensor:
            _check_dtype("right_inverse", source.dtype, original.dtype)
            original.data = source  # the parameter that an optimizer may hold already
            _register(self, "original", original)
        else:
            for i, tensor in enumerate(source):
                made = Parameter(tensor) if isinstance(original, Parameter) else tensor
                _register(self, f"original{i}", made.requires_grad_(original.requires_grad))
        if not unsafe:
            with no_grad():
                _check_kept("The parametrization", self(), original.dtype, original.shape if self.is_tensor else None)

    @property
    def _originals(self):
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Has the originals stand for `value`; every parametrization needs a `right_inverse`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            sources = [value] if self.is_tensor else value
            if not isinstance(sources, (list, tuple)) or len(sources) != self.ntensors:
                raise ValueError(f"right_inverse must return a sequence of {self.ntensors} tensors, as when it was registered")
            for tensor, given in zip(self._originals, sources):
                if not isinstance(given, _C.Tensor):
                    raise ValueError(f"right_inverse should return a tensor, not {type(given).__name__}")
                _check_dtype("right_inverse", given.dtype, tensor.dtype)
            for tensor, given in zip(self._originals, sources):
                tensor.data = given.detach().clone()

    def forward(self):
        """The parametrized tensor."""
        first, *rest = self
        value = first(*self._originals)
        for module in rest:
            value = module(value)
        return value


def _inverted(modules, value):
    """What the parametrizations take for them to give `value`: that of one without a `right_inverse` is what it gives."""
    for module in reversed(list(modules)):
        if hasattr(module, "right_inverse"):
            try:
                value = module.right_inverse(value)
            except NotImplementedError:
                pass
    if not isinstance(value, _C.Tensor) and not (isinstance(value, (list, tuple)) and all(isinstance(v, _C.Tensor) for v in value)):
        raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors, got {type(value).__name__}")
    return value


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_dtype(what, given, expected):
    if given != expected:
        raise ValueError(f"{what} must not change the dtype of the tensor unless unsafe=True: {given}, expected {expected}")


def _check_kept(what, value, dtype, shape=None):
    """Raises ValueError unless `value` is a tensor of this dtype and, if there is one, this shape."""
    if not isinstance(value, _C.Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type(value).__name__}")
    _check_dtype(what, value.dtype, dtype)
    if shape is not None and value.shape != shape:
        raise ValueError(f"{what} must not change the shape of the tensor unless unsafe=True: {tuple(value.shape)}, expected {tuple(shape)}")


class _Parametrized:
    """What the class of a parametrized module has before its own: attributes that are computed."""

    def __getattr__(self, name):
        modules = self.__dict__.get("_modules", {})
        # An entry of the name itself, as functional_call makes, comes first.
        if name not in modules.get("parametrizations", ()) or name in self._parameters:
            return super().__getattr__(name)
        if not _caching:
            return modules["parametrizations"][name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = modules["parametrizations"][name]()
        return _cache[key]

    def __setattr__(self, name, value):
        if is_parametrized(self, name):
            self.parametrizations[name].right_inverse(value)
            _cache.pop((id(self), name), None)
        else:
            super().__setattr__(name, value)

    def __dir__(self):
        return sorted({*super().__dir__(), *self.parametrizations.keys()})

    def __reduce_ex__(self, protocol):
        return _restored, (type_before_parametrizations(self), self.__getstate__())


@functools.cache
def _parametrized_class(cls):
    return type(f"Parametrized{cls.__name__}", (_Parametrized, cls), {"__module__": cls.__module__, "__doc__": cls.__doc__})


def _restored(cls, state):
    """A copy of a parametrized module."""
    module = cls.__new__(cls)
    module.__class__ = _parametrized_class(cls)
    module.__setstate__(state)
    return module


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Has `module.tensor_name` be what the module `parametrization` makes of what it was; returns the module.

    Several on one tensor are applied in the order of their registration. A parametrization's `right_inverse`, if it has one, gives the tensor, or a
    tuple of them, that it takes for a value: when it is registered, and when a value is assigned to the parametrized tensor. Unless `unsafe`,
    shape and dtype must stay: ValueError otherwise, and where there is no such parameter or buffer.

    >>> class Symmetric(opforge.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = register_parametrization(opforge.nn.Linear(3, 3), "weight", Symmetric())
    >>> opforge.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        parametrizations = module.parametrizations[tensor_name]
        if not unsafe:
            _check_another(getattr(module, tensor_name), parametrization)
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = _parametrized_class(type(module))
            module.parametrizations = ModuleDict()
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def _check_another(value, parametrization):
    """Raises ValueError unless a parametrization that comes after others keeps shape and dtype, in both directions."""
    with no_grad():
        image = parametrization(value)
        _check_kept("A parametrization", image, value.dtype, value.shape)
        if hasattr(parametrization, "right_inverse"):
            _check_kept("right_inverse", parametrization.right_inverse(image), value.dtype, value.shape)


def is_parametrized(module, tensor_name=None):
    """Whether any tensor of the module, or this one, is parametrized."""
    parametrizations = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(parametrizations, ModuleDict) or not isinstance(module, _Parametrized):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Takes the parametrizations of a tensor away; it becomes what they gave, or, without `leave_parametrized`, the one tensor they took. Returns
    the module. ValueError for a tensor that is not parametrized, and where they took several tensors."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {type(module).__name__} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if not leave_parametrized and not parametrizations.is_tensor:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors.")
    original = parametrizations._originals[0]
    if leave_parametrized:
        with no_grad():
            value = parametrizations()
        if parametrizations.is_tensor:
            _check_dtype("A parametrization that is removed", value.dtype, original.dtype)
            original.data = value
        else:
            original = Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        module.__class__ = type_before_parametrizations(module)
        del module.parametrizations
    _register(module, tensor_name, original)
    return module


def type_before_parametrizations(module):
    """The class that a module has without its parametrizations."""
    return type(module).__bases__[1] if isinstance(module, _Parametrized) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Gives `to_module` the parametrizations, and the tensors they take, of one tensor or of all of `from_module`; returns it. What is transferred is
    shared by both."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations.keys()) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            with no_grad():
                value = source().clone()
            _register(to_module, name, Parameter(value) if isinstance(source._originals[0], Parameter) else value)
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        names = ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]
        for original in names:
            setattr(to_module.parametrizations[name], original, getattr(source, original))
    return to_module
