"""Functions of each element: of one array, and of two that are broadcast to one shape and promoted to one dtype."""

from __future__ import annotations

from opforge import _core

from ._operands import beyond, comparable, named, promoted
from .data_type_functions import result_type

__all__ = [
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "clip", "conj", "copysign", "cos", "cosh", "divide", "equal", "exp",
    "expm1", "floor", "floor_divide", "greater", "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan", "less", "less_equal",
    "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "multiply", "negative", "nextafter", "not_equal", "positive", "pow", "real", "reciprocal", "remainder", "round", "sign", "signbit",
    "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
]  # fmt: skip


def _of_one(name, operation=None):
    """A function of one array that is opforge's of the same name, or of another."""
    operation = operation or getattr(_core, name)

    def function(x, /):
        return operation(x)

    return named(function, name, operation)


def _of_two(name, operation=None):
    """A function of two arrays, of which one may be a Python scalar, that is opforge's of the same name, or of another."""
    operation = operation or getattr(_core, name)

    def function(x1, x2, /):
        return operation(*promoted(name, x1, x2))

    return named(function, name, operation)


def _of_two_compared(name, operation=None):
    """A function of two arrays that compares them: Python integers by their values, those too that the array's dtype does not have."""
    operation = operation or getattr(_core, name)

    def function(x1, x2, /):
        return operation(*promoted(name, *comparable(x1, x2)))

    return named(function, name, operation)


def _of_two_conditions(name):
    """A function of two arrays that asks of each number only whether it is 0: of any Python scalar."""
    operation = getattr(_core, name)

    def function(x1, x2, /):
        return operation(*promoted(name, *(x if isinstance(x, _core.Tensor) else bool(x) for x in (x1, x2))))

    return named(function, name, operation)


def _of_two_to_floats(name):
    """A function of two arrays whose results are floats, of integers too: a Python integer that the array's dtype does not have counts as a float."""
    operation = getattr(_core, name)

    def function(x1, x2, /):
        dtype = result_type(x1, x2)
        return operation(*promoted(name, *(float(x) if beyond(x, dtype) else x for x in (x1, x2))))

    return named(function, name, operation)


abs = _of_one("abs")
acos = _of_one("acos")
acosh = _of_one("acosh")
asin = _of_one("asin")
asinh = _of_one("asinh")
atan = _of_one("atan")
atanh = _of_one("atanh")
bitwise_invert = _of_one("bitwise_invert", _core.bitwise_not)
ceil = _of_one("ceil")
conj = _of_one("conj")
cos = _of_one("cos")
cosh = _of_one("cosh")
exp = _of_one("exp")
expm1 = _of_one("expm1")
floor = _of_one("floor")
imag = _of_one("imag")
isfinite = _of_one("isfinite")
isinf = _of_one("isinf")
isnan = _of_one("isnan")
log = _of_one("log")
log1p = _of_one("log1p")
log2 = _of_one("log2")
log10 = _of_one("log10")
logical_not = _of_one("logical_not")
negative = _of_one("negative")
real = _of_one("real")
reciprocal = _of_one("reciprocal")
signbit = _of_one("signbit")
sin = _of_one("sin")
sinh = _of_one("sinh")
square = _of_one("square")
sqrt = _of_one("sqrt")
tan = _of_one("tan")
tanh = _of_one("tanh")
trunc = _of_one("trunc")

add = _of_two("add")
atan2 = _of_two_to_floats("atan2")
bitwise_and = _of_two("bitwise_and")
bitwise_left_shift = _of_two("bitwise_left_shift")
bitwise_or = _of_two("bitwise_or")
bitwise_right_shift = _of_two("bitwise_right_shift")
bitwise_xor = _of_two("bitwise_xor")
copysign = _of_two_to_floats("copysign")
divide = _of_two_to_floats("divide")
equal = _of_two_compared("equal", _core.eq)
floor_divide = _of_two("floor_divide")
greater = _of_two_compared("greater")
greater_equal = _of_two_compared("greater_equal")
hypot = _of_two("hypot")
less = _of_two_compared("less")
less_equal = _of_two_compared("less_equal")
logaddexp = _of_two_to_floats("logaddexp")
logical_and = _of_two_conditions("logical_and")
logical_or = _of_two_conditions("logical_or")
logical_xor = _of_two_conditions("logical_xor")
maximum = _of_two("maximum")
minimum = _of_two("minimum")
multiply = _of_two("multiply")
nextafter = _of_two("nextafter")
not_equal = _of_two_compared("not_equal")
pow = _of_two("pow")
subtract = _of_two("subtract")


def clip(x, /, min=None, max=None):
    """Each element, or the limit that it is beyond; NaN where it or a limit is. Limits are arrays that broadcast with `x`, or numbers.
    A `min` below, or a `max` above all integers of the dtype is none."""
    min, max = (None if beyond(limit, x.dtype) == side else limit for limit, side in ((min, -1), (max, 1)))
    if min is not None:
        x = _core.maximum(*promoted("clip", x, min))
    if max is not None:
        x = _core.minimum(*promoted("clip", x, max))
    return x.clone() if min is None and max is None else x


def positive(x, /):
    """The elements as they are, in memory of their own."""
    return x.clone()


def remainder(x1, x2, /):
    """What remains of `x1` divided by `x2` and rounded down; its sign is that of `x2`, that of 0 too."""
    x1, x2 = promoted("remainder", x1, x2)
    rest = _core.remainder(x1, x2)
    return _core.where(rest == 0, _core.copysign(rest, x2), rest) if rest.dtype.is_floating_point else rest


def round(x, /):
    """The nearest whole number, the even one of two; of complex numbers, of both parts."""
    return _core.complex(_core.round(x.real), _core.round(x.imag)) if x.dtype.is_complex else _core.round(x)


def sign(x, /):
    """-1, 0 or 1 as an element is below, at or above 0, and NaN for NaN; of complex numbers, that of absolute value 1 in the same direction."""
    signs = _core.sign(x)
    if x.dtype.is_complex:  # 0 whatever the signs of its parts
        return _core.where(x == 0, _core.zeros_like(x), signs)
    return _core.where(_core.isnan(x), x, signs) if x.dtype.is_floating_point else signs
