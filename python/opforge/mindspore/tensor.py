"""MindSpore's `Tensor`: opforge's, with MindSpore's dtypes, method names and printing.

A method that is not defined here is opforge's own, under PyTorch's name and rules; `axis` and `keepdims` are understood everywhere.
"""

from __future__ import annotations

from functools import update_wrapper

import numpy as np

from .. import _core
from .dtype import OF_CORE, Type, to_core

Base = _core.Tensor


def adopt(result):
    """Makes the new tensors that opforge returned MindSpore's, also those in tuples and lists.

    An object's class is exchanged, which takes a tenth of the time of a new object.
    """
    if result.__class__ is Base:
        result.__class__ = Tensor
    elif isinstance(result, (tuple, list)):
        for item in result:
            adopt(item)
    return result


def adopting(function):
    """`function` of opforge, with MindSpore's tensors and dtypes."""

    def wrapper(*args, **kwargs):
        if kwargs:
            kwargs = {key: value.core if type(value) is Type else value for key, value in kwargs.items()}
        result = function(*args, **kwargs)
        if result.__class__ is Base:
            result.__class__ = Tensor
            return result
        return adopt(result)

    return update_wrapper(wrapper, function, ("__name__", "__doc__"), ())


class Tensor(Base):
    """An array of numbers of one dtype.

    `input_data` may be a number, nested lists, a numpy array (which is copied) or a tensor. Without a `dtype`, Python's floats are
    `Float32` and complex numbers `Complex128`. `Tensor(shape=[4, None], dtype=...)` has no elements: it declares a shape for
    `Cell.set_inputs`, see `DynamicTensor`. Raises `TypeError` for data that is no array of numbers.

    >>> import numpy as np
    >>> x = Tensor(np.ones((2, 2)).astype(np.float32))
    >>> print(x + 1)
    [[2. 2.]
     [2. 2.]]
    >>> Tensor([1, 2])
    Tensor(shape=[2], dtype=Int64, value= [1, 2])
    """

    __torch_function__ = _core._disabled_torch_function_impl

    def __new__(cls, input_data=None, dtype=None, shape=None):
        if input_data is None:
            return _declared(shape, dtype)
        return Base._make_subclass(cls, _from_data(input_data, dtype))

    @staticmethod
    def from_numpy(array):
        """A tensor that shares the array's memory."""
        return adopt(_core.from_numpy(array))

    @property
    def shape(self):
        return tuple(Base.shape.__get__(self))

    @property
    def dtype(self):
        return OF_CORE[Base.dtype.__get__(self)]

    @property
    def size(self):
        """The number of elements."""
        return self.numel()

    @property
    def strides(self):
        """The bytes from an element to the next one, in each dimension."""
        return tuple(step * self.itemsize for step in self.stride())

    has_init = False

    def asnumpy(self):
        """A numpy array that shares the tensor's memory. `BFloat16`, which numpy lacks, is converted to `float32`."""
        data = Base.detach(self)
        return (data.float() if data.dtype == _core.bfloat16 else data).numpy()

    numpy = asnumpy

    def astype(self, dtype, copy=True):
        """The elements as `dtype`, one of MindSpore's or its name; a copy, unless `copy` is False and nothing changes."""
        return adopt(Base.to(self, to_core(dtype), copy=copy))

    def to(self, dtype, copy=False):
        """The elements as `dtype`; the tensor itself if it has that dtype."""
        return adopt(Base.to(self, to_core(dtype), copy=copy))

    def type(self, dtype=None):
        """The dtype's name, or, given a dtype, the elements as that."""
        return str(self.dtype) if dtype is None else self.to(dtype)

    def copy(self):
        """A tensor with memory of its own."""
        return self.clone()

    def value(self):
        """The tensor itself."""
        return self

    def fill(self, value):
        """A tensor of this shape and dtype, all `value`."""
        return adopt(_core.full_like(self, value))

    def assign_value(self, value):
        """Replaces the elements and the shape by another tensor's; returns the tensor, whose dtype stays."""
        Base.data.__set__(self, _from_data(value, self.dtype))
        return self

    def expand_dims(self, axis):
        """A dimension of size 1 is inserted at `axis`."""
        return self.unsqueeze(axis)

    def transpose(self, *axes):
        """The dimensions in the order of `axes` (numbers, or a tuple of them); reversed if there are none.

        Two numbers for a tensor of more than two dimensions are exchanged.
        """
        axes = axes[0] if len(axes) == 1 else axes
        if not axes:
            axes = range(self.ndim)[::-1]
        if len(axes) == 2 and self.ndim > 2:
            return adopt(Base.transpose(self, *axes))
        return self.permute(*axes)

    def max(self, dim=None, keepdim=False, *, axis=None, keepdims=False, return_indices=False):
        """The largest element. With `axis`: the largest along it, and their indices if `return_indices`; with `dim`, always both."""
        return _extreme(Base.max, self, (dim, keepdim), (axis, keepdims), return_indices)

    def min(self, dim=None, keepdim=False, *, axis=None, keepdims=False, return_indices=False):
        """The smallest element. With `axis`: the smallest along it, and their indices if `return_indices`; with `dim`, always both."""
        return _extreme(Base.min, self, (dim, keepdim), (axis, keepdims), return_indices)

    def var(self, axis=None, ddof=0, keepdims=False):
        """The variance along `axis`, or of all elements; the sum of squares is divided by their number less `ddof`."""
        return adopt(Base.var(self, axis, correction=ddof, keepdim=keepdims))

    def std(self, axis=None, ddof=0, keepdims=False):
        """The standard deviation: the square root of `var`."""
        return self.var(axis, ddof, keepdims).sqrt()

    __pos__ = value

    def __iter__(self):
        return (adopt(item) for item in super().__iter__())

    def __str__(self):
        return str(self.asnumpy())

    def __format__(self, spec):
        return format(self.item(), spec) if spec else str(self)

    def __repr__(self):
        return described(self.shape, self.dtype, self.asnumpy())

    def __deepcopy__(self, memo):
        return memo.setdefault(id(self), adopt(self.detach().clone()))

    def __reduce_ex__(self, protocol):
        return adopt, (Base.detach(self),)


def _extreme(function, tensor, by_dim, by_axis, return_indices):
    if by_dim[0] is not None:
        return adopt(function(tensor, *by_dim))
    if by_axis[0] is None:
        return adopt(function(tensor))
    found = adopt(tuple(function(tensor, *by_axis)))
    return found if return_indices else found[0]


class DynamicTensor:
    """A declaration of a tensor's dtype and shape, for `Cell.set_inputs`: sizes of -1 are unknown; a shape of (-2,) stands for any.

    >>> Tensor(shape=[4, None], dtype=mindspore.float32).shape
    (4, -1)
    """

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype

    @property
    def ndim(self):
        """The number of dimensions; -1 if that is unknown."""
        return -1 if self.shape == (-2,) else len(self.shape)

    def __repr__(self):
        return described(self.shape, self.dtype, np.empty(0))


def described(shape, dtype, array) -> str:
    """A tensor as `repr` writes it."""
    gap = "\n" if len(shape) > 1 else " "
    return f"Tensor(shape={list(shape)}, dtype={dtype}, value={gap}{_elements(array, dtype)})"


def _elements(array, dtype) -> str:
    if array.size == 0:
        return ""
    if array.ndim == 0:
        return f"{array:g}" if array.dtype.kind == "f" else str(array).strip("()")
    digits = 4 if array.dtype.itemsize == 2 else 8
    floats = {"float_kind": f"{{: .{digits}e}}".format} if array.dtype.kind == "f" and dtype.name != "bfloat16" else None
    return np.array2string(array, separator=", ", formatter=floats, max_line_width=1 << 30)


def _declared(shape, dtype):
    """The tensor of zeros, or of unknown shape, that `Tensor(shape=.., dtype=..)` is."""
    if dtype is None:
        raise TypeError("Tensor: input_data must be a number, a list, an array or a tensor (or a shape and a dtype given), not None")
    core = to_core(dtype)
    if shape is None:
        return DynamicTensor((-2,), dtype)
    sizes = (shape,) if isinstance(shape, int) else tuple(-1 if size is None else size for size in shape)
    return DynamicTensor(sizes, dtype) if any(size < 0 for size in sizes) else adopt(_core.zeros(sizes, dtype=core))


def _from_data(data, dtype):
    """A new tensor of opforge's that holds a copy of `data`."""
    if isinstance(data, Base):
        return Base.detach(data).to(Base.dtype.__get__(data) if dtype is None else to_core(dtype), copy=True)
    if dtype is not None:
        return _core.tensor(data, dtype=to_core(dtype))
    tensor = _core.tensor(data)
    python = not isinstance(data, (np.ndarray, np.generic))
    return _core.tensor(data, dtype=_core.complex128) if python and tensor.dtype == _core.complex64 else tensor


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
_OPERATORS = {
    *(f"__{name}__" for name in (*_ARITHMETIC, "eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "invert", "getitem")),
    *(f"__r{name}__" for name in _ARITHMETIC),
}
_VIEWS = ("T", "mT", "H", "mH", "real", "imag", "data", "grad")


def _inherit():
    """opforge's operators, methods and properties, giving MindSpore's tensors. `x += y` gives `x` a new tensor, as MindSpore has it."""
    for name in dir(Base):
        if name in vars(Tensor) or name[0] == "_" and name not in _OPERATORS:
            continue
        member = getattr(Base, name)
        if callable(member):
            setattr(Tensor, name, adopting(member))
        elif name in _VIEWS:
            setattr(Tensor, name, property(adopting(member.__get__), getattr(member, "__set__", None), doc=member.__doc__))
    for name in _ARITHMETIC:
        setattr(Tensor, f"__i{name}__", getattr(Tensor, f"__{name}__", None))


_inherit()
