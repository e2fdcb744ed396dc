"""Functions of complex numbers that have no operator, as functions of their parts.

Special cases are those of C99, annex G, which the standard asks for: signs of 0 say on which side of a branch cut a number is, and infinities are
respected where a part is NaN. Formulas of inverse functions are those of W. Kahan, "Branch cuts for complex elementary functions, or much ado about
nothing's sign bit", 1987.
"""

from __future__ import annotations

import math

from opforge import _core
from opforge._core import abs as _abs
from opforge._core import atan2, copysign, cosh, hypot, isfinite, isinf, isnan, log1p, sinh, where
from opforge._core import complex as _join


def isnan_(z):
    return isnan(z.real) | isnan(z.imag)


def isinf_(z):
    return isinf(z.real) | isinf(z.imag)


def isfinite_(z):
    return isfinite(z.real) & isfinite(z.imag)


def equal_(z, w):
    return (z.real == w.real) & (z.imag == w.imag)


def not_equal_(z, w):
    return (z.real != w.real) | (z.imag != w.imag)


def round_(z):
    return _join(_core.round(z.real), _core.round(z.imag))


def sign_(z):
    """z / |z|, and 0 for 0."""
    size = hypot(z.real, z.imag)
    size = where(size == 0, _core.ones_like(size), size)
    return _join(z.real / size, z.imag / size)


def exp_(z):
    """e^x (cos y + i sin y)."""
    x, y = z.real, z.imag
    size = _core.exp(x)
    return _join(_infinity_wins(x, size, _core.cos(y)), _zero_wins(size, _core.sin(y)))


def expm1_(z):
    """The real part is expm1(x) cos y - 2 sin^2(y / 2)."""
    x, y = z.real, z.imag
    half = _core.sin(y / 2)
    re = where(isinf(x), exp_(z).real - 1, _core.expm1(x) * _core.cos(y) - 2 * half * half)
    return _join(re, exp_(z).imag)


def log1p_(z):
    x, y = z.real, z.imag
    near = _abs(x) + _abs(y) < 0.5
    size = where(near, log1p(x * (x + 2) + y * y) / 2, _core.log(_join(1 + x, y)).real)
    return _join(size, atan2(y, 1 + x))


def log2_(z):
    return _scaled_log(z, 1 / math.log(2))


def log10_(z):
    return _scaled_log(z, 1 / math.log(10))


def _scaled_log(z, factor):
    log = _core.log(z)
    return _join(log.real * factor, log.imag * factor)


def sqrt_(z):
    """t + i y / 2t with t = sqrt((|x| + |z|) / 2); the parts change places left of 0. Scaled by powers of 4, so that no sum overflows or vanishes."""
    limits = _core.finfo(z.real.dtype)
    size = _core.maximum(_abs(z.real), _abs(z.imag))
    one = _core.ones_like(size)
    scale = where(size > limits.max / 4, one / 16, where(size < limits.tiny / limits.eps, one / limits.eps**2, one))
    x, y = z.real * scale, z.imag * scale
    t = _core.sqrt((_abs(x) + hypot(x, y)) / 2)
    other = where(t == 0, _abs(y), _abs(y) / (2 * t))
    right = ~_core.signbit(x)
    re, im = where(right, t, other), copysign(where(right, other, t), y)
    back = 1 / _core.sqrt(scale)
    tall = isinf(y)
    return _join(where(tall, _abs(y), re * back), where(tall, y, im * back))


def cosh_(z):
    """cosh x cos y + i sinh x sin y."""
    x, y = z.real, z.imag
    return _join(_infinity_wins(x, cosh(x), _core.cos(y)), _zero_wins(sinh(x), _core.sin(y)))


def sinh_(z):
    """sinh x cos y + i cosh x sin y."""
    x, y = z.real, z.imag
    re = where(x == 0, x, _infinity_wins(x, sinh(x), _core.cos(y)))
    return _join(re, _zero_wins(cosh(x), _core.sin(y)))


def tanh_(z):
    """(cosh x sinh x (1 + t^2) + i t) / (1 + (1 + t^2) sinh^2 x) with t = tan y; far from 0 the real part is 1."""
    x, y = z.real, z.imag
    bound = math.asinh(_core.finfo(x.dtype).max) / 4
    far = _abs(x) > bound
    near = where(far, _core.zeros_like(x), x)
    t, s = _core.tan(y), sinh(near)
    slope = 1 + t * t
    below = 1 + slope * s * s
    re = where(far, copysign(_core.ones_like(x), x), where(x == 0, x, slope * cosh(near) * s / below))
    swing = where(isinf(x) & ~isfinite(y), _core.zeros_like(y), _core.sin(y) * _core.cos(y))
    im = where(far, 4 * swing * _core.exp(-2 * _abs(x)), t / below)
    return _join(re, where(y == 0, y, im))


def cos_(z):
    return cosh_(_times_i(z))


def sin_(z):
    return _over_i(sinh_(_times_i(z)))


def tan_(z):
    return _over_i(tanh_(_times_i(z)))


def acos_(z):
    x, y = z.real, z.imag
    left, right = sqrt_(_join(1 + x, y)), sqrt_(_join(1 - x, -y))
    infinite = isinf_(z)
    re = where(infinite, atan2(_abs(y), x), 2 * atan2(right.real, left.real))
    re = where((x == 0) & isnan(y), _core.full_like(re, math.pi / 2), re)
    im = _core.asinh(left.real * right.imag - left.imag * right.real)
    return _join(re, where(infinite, -_infinite_as(y), im))


def asin_(z):
    x, y = z.real, z.imag
    left, right = sqrt_(_join(1 + x, y)), sqrt_(_join(1 - x, -y))
    infinite = isinf_(z)
    re = where(infinite, atan2(x, _abs(y)), atan2(x, left.real * right.real - left.imag * right.imag))
    im = _core.asinh(left.imag * right.real - left.real * right.imag)
    return _join(where((x == 0) & isnan(y), x, re), where(infinite, _infinite_as(y), im))


def acosh_(z):
    x, y = z.real, z.imag
    left, right = sqrt_(_join(x + 1, y)), sqrt_(_join(x - 1, y))
    infinite = isinf_(z)
    re = _core.asinh(left.real * right.real + left.imag * right.imag)
    im = where(infinite, atan2(y, x), 2 * atan2(right.imag, left.real))
    im = where((x == 0) & isnan(y), _core.full_like(im, math.pi / 2), im)
    return _join(where(infinite, _core.full_like(re, math.inf), re), im)


def atanh_(z):
    """log1p(4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x) (1 + x) - y^2) / 2."""
    x, y = z.real, z.imag
    infinite = isinf_(z)
    re = log1p(4 * x / ((1 - x) * (1 - x) + y * y)) / 4
    re = where(infinite | ((x == 0) & isnan(y)), copysign(_core.zeros_like(x), x), re)
    im = where(infinite & ~isnan(y), copysign(_core.full_like(y, math.pi / 2), y), atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2)
    return _join(re, im)


def asinh_(z):
    return _over_i(asin_(_times_i(z)))


def atan_(z):
    return _over_i(atanh_(_times_i(z)))


def pow_(z, w):
    """e^(w log z); 1 where `w` is 0, and else 0 where `z` is, if the real part of `w` is positive."""
    power = exp_(w * _core.log(z))
    power = where(equal_(z, _core.zeros_like(z)) & (w.real > 0), _core.zeros_like(power), power)
    return where(equal_(w, _core.zeros_like(w)), _core.ones_like(power), power)


def cumsum_(z, axis):
    return _core.view_as_complex(_core.cumsum(_core.view_as_real(z), axis))


def cumprod_(z, axis):
    """Each product of some elements times that of as many before them, of one, two, four and so on."""
    length, step = z.shape[axis], 1
    while step < length:
        later = z.narrow(axis, step, length - step) * z.narrow(axis, 0, length - step)
        z = _core.concat([z.narrow(axis, 0, step), later], axis)
        step *= 2
    return z


def prod_(z, axes, keepdims):
    """The first half times the second, until one element remains."""
    for axis in axes:
        if z.shape[axis] == 0:
            z = z.new_ones([1 if one == axis else length for one, length in enumerate(z.shape)])
        while (length := z.shape[axis]) > 1:
            half = length // 2
            pairs = z.narrow(axis, 0, half) * z.narrow(axis, half, half)
            z = _core.concat([pairs, z.narrow(axis, 2 * half, length % 2)], axis)
    return z if keepdims else z.reshape([length for one, length in enumerate(z.shape) if one not in axes])


def _times_i(z):
    return _join(-z.imag, z.real)


def _over_i(z):
    return _join(z.imag, -z.real)


def _infinite_as(x):
    """Infinity with the sign of `x`."""
    return copysign(_core.full_like(x, math.inf), x)


def _infinity_wins(x, a, b):
    """`a b`; `a` alone where `x`, of which it is a function, is infinite and `b` is NaN."""
    return where(isinf(x) & isnan(b), a, a * b)


def _zero_wins(a, b):
    """`a b`; 0 where one of them is, whatever the other."""
    zero = copysign(_core.zeros_like(a), a) * copysign(_core.ones_like(b), b)
    return where((a == 0) | (b == 0), zero, a * b)
