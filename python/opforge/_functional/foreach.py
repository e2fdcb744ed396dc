"""`_foreach_*`: an operator called for each tensor of a list, as optimizers and metrics written for PyTorch do.

An operand is a number for all tensors, or a list with a number or a tensor for each; some take one tensor for all. Functions return a tuple
with a result for each tensor, in-place forms the list that they changed. All lists are checked before anything is computed.
"""

from __future__ import annotations

from .. import _core as _C

_UNARY = """
abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan
tanh trunc
"""
# How a tensor meets its operand.
_BINARY = {
    "add": _C.Tensor.add, "sub": _C.Tensor.sub, "mul": _C.Tensor.mul, "div": _C.Tensor.div, "pow": _C.Tensor.pow,
    "clamp_max": lambda x, other: x.clamp(max=other), "clamp_min": lambda x, other: x.clamp(min=other),
    "maximum": lambda x, other: x.maximum(other) if isinstance(other, _C.Tensor) else x.clamp(min=other),
    "minimum": lambda x, other: x.minimum(other) if isinstance(other, _C.Tensor) else x.clamp(max=other),
}  # fmt: skip
# Those that take a tensor without dimensions for all, and the factor `alpha`.
_ONE_TENSOR = {"add", "sub", "mul", "div"}
_ALPHA = {"add", "sub"}


def _tensors(name, given, argument="self"):
    """The list of tensors that an argument is."""
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{name}(): argument '{argument}' must be tuple of Tensors, not {type(given).__name__}")
    if not given:
        raise RuntimeError(f"{name}: Tensor list must have at least one tensor.")
    for i, tensor in enumerate(given):
        if not isinstance(tensor, _C.Tensor):
            raise TypeError(f"{name}(): expected Tensor as element {i} in argument '{argument}', but got {type(tensor).__name__}")
    return given


def _like(name, tensors, given, argument):
    """A list of as many tensors as `tensors`."""
    _same_length(name, tensors, _tensors(name, given, argument), argument)
    return given


def _same_length(name, tensors, given, argument):
    if len(given) != len(tensors):
        raise RuntimeError(f"{name}: argument '{argument}' has {len(given)} elements, expected {len(tensors)}: one for each tensor")


def _operands(name, tensors, given, argument, *, one_tensor=False):
    """The operand of each tensor."""
    if isinstance(given, _C.Tensor) and (one_tensor or given.dim() == 0):
        if given.dim() != 0:
            raise RuntimeError(f"{name}: scalar tensor expected to be 0 dim but it has {given.dim()} dimensions and {given.numel()} elements.")
        return [given if one_tensor else given.item()] * len(tensors)
    if isinstance(given, (bool, int, float, complex)):
        return [given] * len(tensors)
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{name}(): argument '{argument}' must be a number or a list, not {type(given).__name__}")
    if given and isinstance(given[0], _C.Tensor):
        return _like(name, tensors, given, argument)
    for i, number in enumerate(given):
        if not isinstance(number, (bool, int, float, complex)):
            raise TypeError(f"{name}(): expected a number as element {i} in argument '{argument}', but got {type(number).__name__}")
    _same_length(name, tensors, given, argument)
    return given


def _one_dimensional(name, tensors, given):
    """The numbers of a list, or of a vector on the host, one for each tensor; or one number for all."""
    if isinstance(given, _C.Tensor):
        if given.dim() != 1:
            raise RuntimeError(f"{name}: Expected packed scalar Tensor to be of dimension 1. Got {given.dim()} instead.")
        given = given.tolist()
    return _operands(name, tensors, given, "scalars")


def _write(name, tensors, results):
    """Puts each result into its tensor, whose dtype and shape must hold it; returns the list."""
    for tensor, result in zip(tensors, results):
        if result.shape != tensor.shape:
            raise RuntimeError(f"{name}: a result of shape {tuple(result.shape)} does not fit a tensor of shape {tuple(tensor.shape)}")
        if not _C.can_cast(result.dtype, tensor.dtype):
            raise RuntimeError(f"{name}: result type {result.dtype} can't be cast to the desired output type {tensor.dtype}")
    for tensor, result in zip(tensors, results):
        tensor.copy_(result)
    return tensors


def _unary(operator):
    function = getattr(_C.Tensor, operator)

    def each(self):
        return tuple(map(function, _tensors(each.__name__, self)))

    return each


def _unary_in_place(operator):
    function = getattr(_C.Tensor, f"{operator}_")

    def each(self):
        for tensor in _tensors(each.__name__, self):
            function(tensor)
        return self

    return each


def _binary(operator):
    function, one_tensor = _BINARY[operator], operator in _ONE_TENSOR

    def each(self, other):
        tensors = _tensors(each.__name__, self)
        return tuple(map(function, tensors, _operands(each.__name__, tensors, other, "other", one_tensor=one_tensor)))

    def each_scaled(self, other, *, alpha=1):
        if alpha == 1:
            return each(self, other)
        tensors = _tensors(each.__name__, self)
        if isinstance(other, (bool, int, float, complex)):
            raise TypeError(f"{each.__name__}(): alpha goes with tensors, argument 'other' is a {type(other).__name__}")
        others = _operands(each.__name__, tensors, other, "other", one_tensor=True)
        return tuple(function(tensor, value, alpha=alpha) for tensor, value in zip(tensors, others))

    if operator not in _ALPHA:
        return each
    each.__name__ = f"_foreach_{operator}"
    return each_scaled


def _in_place(plain):
    """The form of a function of lists that writes its results into the first list."""

    def each(self, *operands, **options):
        return _write(each.__name__, self, plain(self, *operands, **options))

    return each


def _pointwise(operator):
    """`self + value * f(tensor1, tensor2)`, with the value from `scalars` where each tensor has its own."""
    function = getattr(_C.Tensor, operator)

    def each(self, tensor1, tensor2, scalars=None, *, value=1):
        name = each.__name__
        tensors = _tensors(name, self)
        first, second = _like(name, tensors, tensor1, "tensor1"), _like(name, tensors, tensor2, "tensor2")
        factors = _one_dimensional(name, tensors, value if scalars is None else scalars)
        return tuple(function(x, a, b, value=factor) for x, a, b, factor in zip(tensors, first, second, factors))

    return each


def _foreach_pow(self, exponent):
    """The powers of each tensor, or of one number to each tensor."""
    if isinstance(self, (bool, int, float, complex)):
        return tuple(_C.pow(self, tensor) for tensor in _tensors("_foreach_pow", exponent, "exponent"))
    return _power(self, exponent)


def _foreach_lerp(self, tensors1, weight):
    """Each tensor moved towards its other by `weight`: a number, or a list."""
    tensors = _tensors("_foreach_lerp", self)
    others = _like("_foreach_lerp", tensors, tensors1, "tensors1")
    return tuple(x.lerp(y, w) for x, y, w in zip(tensors, others, _operands("_foreach_lerp", tensors, weight, "weight")))


def _foreach_norm(self, ord=2, dtype=None):
    """The vector norm of all elements of each tensor."""
    return tuple(_C.linalg.vector_norm(tensor, ord, dtype=dtype) for tensor in _tensors("_foreach_norm", self))


def _foreach_powsum(self, ord=2, dtype=None):
    """The sum of `|x|^ord` over all elements of each tensor."""
    return tuple(tensor.abs().pow(ord).sum(dtype=dtype) for tensor in _tensors("_foreach_powsum", self))


def _foreach_max(self):
    """The greatest element of each tensor, none of which may be empty."""
    if any(tensor.numel() == 0 for tensor in _tensors("_foreach_max", self)):
        raise RuntimeError("_foreach_max: a tensor without elements has no greatest one")
    return tuple(tensor.max() for tensor in self)


def _foreach_mm(self, mat2):
    """The product of each matrix and its other."""
    return tuple(map(_C.mm, _tensors("_foreach_mm", self), _like("_foreach_mm", self, mat2, "mat2")))


def _foreach_clone(self, *, memory_format=None):
    """A copy of each tensor, whose elements lie as they do."""
    return tuple(tensor.clone() for tensor in _tensors("_foreach_clone", self))


def _foreach_zero_(self):
    """Fills each tensor with zeros."""
    for tensor in _tensors("_foreach_zero_", self):
        tensor.zero_()
    return self


def _foreach_copy_(self, src, non_blocking=False):
    """Copies each tensor's elements from its source; `non_blocking` changes nothing."""
    for tensor, source in zip(_tensors("_foreach_copy_", self), _like("_foreach_copy_", self, src, "src")):
        tensor.copy_(source)
    return self


def _define(name, function, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    globals()[name] = function


for _name in _UNARY.split():
    _define(f"_foreach_{_name}", _unary(_name), f"`{_name}` of each tensor.")
    _define(f"_foreach_{_name}_", _unary_in_place(_name), f"`{_name}` of each tensor, in place.")
_power = _binary("pow")
_power.__name__ = "_foreach_pow"
for _name in _BINARY:
    if _name != "pow":
        _define(f"_foreach_{_name}", _binary(_name), f"`{_name}` of each tensor and its operand.")
for _name in ("addcmul", "addcdiv"):
    _define(f"_foreach_{_name}", _pointwise(_name), f"`{_name}` of each tensor and its two others.")
for _name in (*_BINARY, "addcmul", "addcdiv", "lerp"):
    _plain = _power if _name == "pow" else globals()[f"_foreach_{_name}"]
    _define(f"_foreach_{_name}_", _in_place(_plain), f"`{_name}` of each tensor and its operands, in place.")

__all__ = sorted(name for name in globals() if name.startswith("_foreach_"))
