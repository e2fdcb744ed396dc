"""MindSpore's `Tensor`: opforge's, with MindSpore's dtypes, method names and printing.

Operators are those of `operators`, methods with other arguments than opforge's those of `methods`; what is in none of the three is opforge's own, under PyTorch's
name and rules. `axis`, `keepdims` and `keep_dims` are understood everywhere.
"""

from __future__ import annotations

from functools import update_wrapper

import numpy as np

from .. import _core
from .dtype import OF_CORE, Type, to_core
from .operators import OF_TENSORS
from .printing import described, shown

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


# An argument's name in MindSpore and the one that opforge understands, besides `axis` and `keepdims`.
_RENAMED = {"keep_dims": "keepdim"}


def adopting(function):
    """`function` of opforge, with MindSpore's tensors and dtypes."""

    def wrapper(*args, **kwargs):
        if kwargs:
            kwargs = {_RENAMED.get(key, key): value.core if type(value) is Type else value for key, value in kwargs.items()}
        result = function(*args, **kwargs)
        if result.__class__ is Base:
            result.__class__ = Tensor
            return result
        return adopt(result)

    return update_wrapper(wrapper, function, ("__name__", "__doc__"), ())


class Tensor(Base):
    """An array of numbers of one dtype.

    `input_data` may be a number, nested lists, a numpy array (which is copied) or a tensor. Without a `dtype`, Python's floats are
    `Float32` and complex numbers `Complex128`. With a `shape`, a `dtype` and an `init` (of `common.initializer`) the elements are those that this makes.
    `Tensor(shape=[4, None], dtype=...)` has no elements: it declares a shape for `Cell.set_inputs`, see `DynamicTensor`. Integers beyond the dtype wrap
    around. Raises `TypeError` for data that is no array of numbers.

    >>> import numpy as np
    >>> x = Tensor(np.ones((2, 2)).astype(np.float32))
    >>> print(x + 1)
    [[2. 2.]
     [2. 2.]]
    >>> Tensor([1, 2])
    Tensor(shape=[2], dtype=Int64, value= [1, 2])
    """

    __torch_function__ = _core._disabled_torch_function_impl

    def __new__(cls, input_data=None, dtype=None, shape=None, init=None, const_arg=False, device=None):
        if input_data is None:
            return _declared(shape, dtype) if init is None else init.tensor(shape, dtype)
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

    def assign_value(self, value):
        """Replaces the elements and the shape by another tensor's; returns the tensor, whose dtype stays."""
        Base.data.__set__(self, _from_data(value, self.dtype))
        return self

    __pos__ = value

    def __iter__(self):
        return (adopt(item) for item in super().__iter__())

    def __str__(self):
        return shown(self.dtype, self.asnumpy())

    def __format__(self, spec):
        return format(self.item(), spec) if spec else str(self)

    def __repr__(self):
        return described(self.shape, self.dtype, self.asnumpy())

    def __deepcopy__(self, memo):
        return memo.setdefault(id(self), adopt(self.detach().clone()))

    def __reduce_ex__(self, protocol):
        return adopt, (Base.detach(self),)


class DynamicTensor(Tensor):
    """A declaration of a tensor's dtype and shape, for `Cell.set_inputs`: sizes of -1 are unknown; a shape of (-2,) stands for any. It has no elements.

    >>> Tensor(shape=[4, None], dtype=mindspore.float32).shape
    (4, -1)
    """

    def __new__(cls, shape, dtype):
        made = Base._make_subclass(cls, _core.zeros(0, dtype=to_core(dtype)))
        made._declared = shape
        return made

    @property
    def shape(self):
        return self._declared

    @property
    def ndim(self):
        """The number of dimensions; -1 if that is unknown."""
        return -1 if self.shape == (-2,) else len(self.shape)

    def __repr__(self):
        return described(self.shape, self.dtype, np.empty(0))

    __str__ = __repr__


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
        return _core.tensor(_wrapped(data, to_core(dtype)), dtype=to_core(dtype))
    tensor = _core.tensor(data)
    python = not isinstance(data, (np.ndarray, np.generic))
    return _core.tensor(data, dtype=_core.complex128) if python and tensor.dtype == _core.complex64 else tensor


def _wrapped(data, core):
    """Python's integers around the bounds of a dtype of integers."""
    if core.is_floating_point or core.is_complex or core == _core.bool or isinstance(data, (np.ndarray, np.generic)):
        return data
    array = np.asarray(data)
    return array.astype(OF_CORE[core].name) if array.dtype.kind in "iuO" else data


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
_OPERATORS = {
    *OF_TENSORS,
    *(f"__{name}__" for name in (*_ARITHMETIC, "eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "invert", "getitem")),
    *(f"__r{name}__" for name in _ARITHMETIC),
}
_VIEWS = ("T", "mT", "H", "mH", "data", "grad")


def _inherit():
    """Operators of `operators`, and opforge's other operators, methods and properties, giving MindSpore's tensors. `x += y` gives `x` a new tensor, as MindSpore has it."""
    for name in {*dir(Base), *OF_TENSORS}:
        if name in vars(Tensor) or name[0] == "_" and name not in _OPERATORS:
            continue
        member = OF_TENSORS.get(name) or getattr(Base, name)
        if callable(member):
            setattr(Tensor, name, adopting(member))
        elif name in _VIEWS:
            setattr(Tensor, name, property(adopting(member.__get__), getattr(member, "__set__", None), doc=member.__doc__))
    for name in _ARITHMETIC:
        setattr(Tensor, f"__i{name}__", getattr(Tensor, f"__{name}__", None))


_inherit()


def tensor_of(input_data=None, dtype=None):
    """See `Tensor`."""
    return Tensor(input_data, dtype)


def is_tensor(obj) -> bool:
    """Whether it is a tensor."""
    return isinstance(obj, Base)
