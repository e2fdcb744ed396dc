"""Keywords that PyTorch's functions and methods have and opforge's do not: `layout`, `pin_memory`, `names`, `memory_format`; and types as texts.

They cost a call of Python's, so that they are there for `import torch` alone.
"""

from __future__ import annotations

import functools

from .. import _core
from ..autograd.grad_mode import no_grad
from .._tensors import layouts as _layouts, typed as _typed

_CREATING = """
arange bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye from_file full full_like hamming_window hann_window kaiser_window
linspace logspace ones ones_like rand rand_like randint randint_like randn randn_like randperm range scalar_tensor tril_indices triu_indices zeros zeros_like
"""
_RANDOM = ("rand", "randn", "rand_like", "randn_like")
_PARTS = {_core.complex64: _core.float32, _core.complex128: _core.float64}
_FREQUENCIES = "fftfreq rfftfreq"
# Functions of `nn.functional` that PyTorch writes in Python, so that packages may give them attributes.
_WRITTEN = "celu elu hardsigmoid hardswish hardtanh leaky_relu mish relu relu6 selu sigmoid silu tanh"
_NEW = "new_empty new_full new_ones new_zeros new_tensor"
_CONVERTING = "bfloat16 bool byte char double float half int long short cpu to"


def _creates(function):
    """A function that makes a tensor, which takes PyTorch's keywords too."""

    @functools.wraps(function)
    def create(*args, layout=None, pin_memory=False, memory_format=None, names=None, **options):
        made = _made(function, args, options)
        return _layouts.laid_as(made, True, layout=layout, memory_format=memory_format, names=names, pin_memory=pin_memory)

    return create


def _made(function, args, options):
    """What the function gives; of complex random numbers, of parts that are random. Normal ones have a variance of 1 in all."""
    part = _PARTS.get(options.get("dtype"))
    if part is None or function.__name__ not in _RANDOM:
        return function(*args, **options)
    leaf = options.pop("requires_grad", False)
    parts = [function(*args, **{**options, "dtype": part}) for _ in range(2)]
    scale = 0.5**0.5 if function.__name__.startswith("randn") else 1
    return _core.view_as_complex(_core.stack(parts, -1) * scale).requires_grad_(leaf)


def _converts(method):
    """A method that gives the tensor in another dtype or on another device, and in the order of a memory format."""

    @functools.wraps(method)
    def convert(self, *args, memory_format=None, **options):
        made = method(self, *args, **options) if args or options or method is not _core.Tensor.to else self
        return made if memory_format is None else _layouts.laid_in(made, memory_format)

    return convert


def _written(function):
    """The function as one of Python's, which takes attributes."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    return call


def _meshgrid(*tensors, indexing=None):
    """`opforge.meshgrid`, whose keyword packages look for in `__kwdefaults__`."""
    return _core.meshgrid(*tensors, indexing=indexing or "ij")


@functools.wraps(_core.Tensor.normal_)
def _normal_(self, mean=0, std=1, *, generator=None):
    if not self.is_complex():
        return _of_tensor.normal_(self, mean, std, generator=generator)
    with no_grad():
        parts = _of_tensor.normal_(_core.view_as_real(self.detach()).clone(), 0, std * 0.5**0.5, generator=generator)
        return self.copy_(_core.view_as_complex(parts) + mean)


@functools.wraps(_core.Tensor.contiguous)
def _contiguous(self, memory_format=None):
    return _of_tensor.contiguous(self) if memory_format is None else _layouts.laid_in(self, memory_format)


@functools.wraps(_core.Tensor.clone)
def _clone(self, *, memory_format=None):
    copy = _of_tensor.clone(self)
    return copy if memory_format is None else _layouts.laid_in(copy, memory_format)


@functools.wraps(_core.Tensor.type)
def _type(self, dtype=None, non_blocking=False, **options):
    """The name of the tensor's type, "torch.FloatTensor", or the tensor in the dtype of a type, of its name, or itself a dtype."""
    if dtype is None:
        return _typed.type_name(self)
    dtype, device = _typed.place_of(dtype)
    return self.to(dtype) if device is None else self.to(device, dtype)


class _of_tensor:
    """The methods as they are without `import torch`."""

    contiguous, clone, normal_ = _core.Tensor.contiguous, _core.Tensor.clone, _core.Tensor.normal_


def functions(place):
    """The functions that take more keywords in a module's place, by their names."""
    created = {name: _creates(getattr(place, name)) for name in _CREATING.split()}
    return created | {"clone": lambda input, **options: _clone(input, **options), "meshgrid": _meshgrid}


def extend_modules(place):
    """Has functions of a module's submodules take more keywords, or attributes."""
    for name in _FREQUENCIES.split():
        setattr(place.fft, name, _creates(getattr(place.fft, name)))
    for name in _WRITTEN.split():
        setattr(place.nn.functional, name, _written(getattr(place.nn.functional, name)))


def extend_tensor():
    """Has methods of tensors take more keywords, and the class say that it is PyTorch's: packages for several libraries choose by its module."""
    _core.Tensor.__module__ = "torch"
    for names, extend in (_NEW, _creates), (_CONVERTING, _converts):
        for name in names.split():
            setattr(_core.Tensor, name, extend(getattr(_core.Tensor, name)))
    _core.Tensor.normal_ = _normal_
    _core.Tensor.contiguous, _core.Tensor.clone, _core.Tensor.type = _contiguous, _clone, _type
