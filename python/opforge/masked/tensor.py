"""Tensors with a mask: elements that are there and elements that are not."""

from __future__ import annotations

import operator

from .. import _core as _C
from .._calls.arguments import names_arguments
from . import functions

_UNARY = """
abs acos asin atan ceil cos cosh exp expm1 floor log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc relu
clone detach
"""
_BINARY = "add sub mul div true_divide floor_divide pow maximum minimum atan2 fmod remainder eq ne lt le gt ge"
_REDUCTIONS = "sum mean prod amin amax std var argmin argmax norm"
_OPERATORS = "add sub mul truediv floordiv pow mod eq ne lt le gt ge"


class MaskedTensor:
    """A tensor and a mask of its shape, which is True where elements are there.

    Functions of elements keep the mask; of two masked tensors the masks must be the same, numbers and plain tensors go with any. Reductions leave out
    what is not there. Only the methods here have masks: `get_data` and `to_tensor` lead to plain tensors.

    >>> x = opforge.masked.masked_tensor(opforge.tensor([1.0, 2.0, 3.0]), opforge.tensor([True, False, True]))
    >>> (x * 2).sum().get_data().item()
    8.0
    """

    def __init__(self, data, mask, requires_grad=False):
        if not isinstance(data, _C.Tensor) or not isinstance(mask, _C.Tensor):
            raise TypeError("data and mask must be Tensors")
        if mask.dtype != _C.bool:
            raise TypeError(f"mask must have dtype bool, not {mask.dtype}")
        if data.shape != mask.shape:
            raise ValueError(f"data and mask must have the same shape: {tuple(data.shape)} and {tuple(mask.shape)}")
        self._data = data.requires_grad_() if requires_grad and not data.requires_grad else data
        self._mask = mask

    def get_data(self):
        """All elements, also those that are not there."""
        return self._data

    def get_mask(self):
        """Which elements are there."""
        return self._mask

    def to_tensor(self, value):
        """A plain tensor with `value` in the place of what is not there."""
        return self._data.masked_fill(~self._mask, value)

    @property
    def shape(self):
        """The shape of data and mask."""
        return self._data.shape

    @property
    def dtype(self):
        """The dtype of the data."""
        return self._data.dtype

    def backward(self, gradient=None):
        """The gradients of what the data was computed from."""
        self._data.backward(gradient._data if isinstance(gradient, MaskedTensor) else gradient)

    @property
    def grad(self):
        """The gradient of the data, with the mask; None without one."""
        return None if self._data.grad is None else MaskedTensor(self._data.grad, self._mask)

    def __neg__(self):
        return MaskedTensor(-self._data, self._mask)

    def __repr__(self):
        data, mask = self._data.detach().reshape(-1).tolist(), self._mask.reshape(-1).tolist()
        shown = ", ".join(f"{x:.4f}" if isinstance(x, float) and there else str(x) if there else "--" for x, there in zip(data, mask))
        return f"MaskedTensor([{shown}], shape={tuple(self.shape)})"

    __hash__ = object.__hash__


def _common_mask(name, first, second):
    """The mask of two operands."""
    masks = [x._mask for x in (first, second) if isinstance(x, MaskedTensor)]
    if len(masks) == 2 and not _C.equal(*masks):
        raise ValueError(f"{name}: Input masks must match. If you need support for this, combine the masks first")
    return masks[0]


def _data(value):
    return value._data if isinstance(value, MaskedTensor) else value


def _unary(name):
    function = getattr(_C.Tensor, name)
    return lambda self: MaskedTensor(function(self._data), self._mask)


def _binary(name, function):
    def apply(self, other):
        mask = _common_mask(name, self, other)
        result = function(_data(self), _data(other))
        return MaskedTensor(result, mask.expand(result.shape))

    return apply


def _reduction(name):
    function = getattr(functions, name)

    def reduce(self, *args, keepdim=False, **options):
        result = function(self._data, *args, keepdim=keepdim, mask=self._mask, **options)
        dim = options.get("dim", next((a for a in args if not isinstance(a, float)), None))
        left = self._mask
        for d in sorted(functions._dims(self._data, dim), reverse=True):
            left = left.any(d, keepdim)
        return MaskedTensor(result, left)

    return reduce


def _define(name, function, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    setattr(MaskedTensor, name, function)


for _name in _UNARY.split():
    _define(_name, _unary(_name), f"`{_name}` of the elements.")
for _name in _BINARY.split():
    _define(_name, _binary(_name, getattr(_C.Tensor, _name)), f"`{_name}` of the elements and another's.")
for _name in _REDUCTIONS.split():
    _define(_name, _reduction(_name), f"`{_name}` of the elements that are there.")
for _name in _OPERATORS.split():
    _define(f"__{_name}__", _binary(_name, getattr(operator, _name)), f"`{_name}` of the elements and another's.")
for _name in ("add", "sub", "mul", "truediv", "pow"):
    _reflected = getattr(operator, _name)
    _define(f"__r{_name}__", _binary(_name, lambda x, y, f=_reflected: f(y, x)), f"`{_name}` of a number and the elements.")


@names_arguments
def masked_tensor(data, mask, requires_grad=False):
    """A masked tensor of a copy of `data`, which has no history."""
    return MaskedTensor(data.detach().clone(), mask.clone(), requires_grad)


@names_arguments
def as_masked_tensor(data, mask):
    """A masked tensor of `data` itself, through which gradients flow."""
    return MaskedTensor(data, mask)


def is_masked_tensor(obj):
    """Whether this is a [`MaskedTensor`]."""
    return isinstance(obj, MaskedTensor)
