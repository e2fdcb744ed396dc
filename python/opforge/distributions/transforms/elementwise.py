"""Transforms of each element by itself."""

from __future__ import annotations

import math
from numbers import Number

from ... import _core as _C
from ..._calls.functions import broadcast_shapes
from .. import constraints
from ..utils import broadcast_all
from .base import Transform, WithoutParameters

_logsigmoid = _C.nn.logsigmoid


class _Monotone(WithoutParameters):
    """An increasing function of real numbers."""

    domain = constraints.real
    codomain = constraints.real
    bijective = True
    sign = 1


class ExpTransform(_Monotone):
    """`y = exp(x)`."""

    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


def _clipped_sigmoid(x):
    """`1 / (1 + exp(-x))`, kept a rounding step away from 0 and 1."""
    return _inside_unit(x.sigmoid())


class SigmoidTransform(_Monotone):
    """`y = 1 / (1 + exp(-x))`, kept a rounding step away from 0 and 1, and so is what the inverse takes."""

    codomain = constraints.unit_interval

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        y = _inside_unit(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return _logsigmoid(x) + _logsigmoid(-x)


def _inside_unit(y):
    info = _C.finfo(y.dtype)
    return y.clamp(info.tiny, 1 - info.eps)


class SoftplusTransform(_Monotone):
    """`y = log(1 + exp(x))`."""

    codomain = constraints.positive

    def _call(self, x):
        return -_logsigmoid(-x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return _logsigmoid(x)


class TanhTransform(_Monotone):
    """`y = tanh(x)`. The inverse of what rounded to 1 or -1 is infinite: a cache, or another transform, avoids that."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return log_tanh_slope(x)


def log_tanh_slope(x):
    """`log(1 - tanh(x)²)`, exact far from 0 too."""
    return 2.0 * (math.log(2.0) - x + _logsigmoid(2.0 * x))


class AbsTransform(WithoutParameters):
    """`y = |x|`. Not bijective: the inverse is the positive one of two."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


def _same(a, b):
    """Whether two parameters, numbers or tensors, have the same values."""
    if isinstance(a, Number) and isinstance(b, Number):
        return a == b
    return bool((_C.as_tensor(a) == b).all())


def _shape(parameter):
    return getattr(parameter, "shape", ())


class AffineTransform(Transform):
    """`y = loc + scale * x`, on events of `event_dim` dimensions."""

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self):
        return self._event_dim

    @property
    def domain(self):
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = None

    @property
    def sign(self):
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        scale = self.scale if isinstance(self.scale, _C.Tensor) else _C.full_like(x, self.scale)
        result = scale.abs().log().expand(broadcast_shapes(x.shape, scale.shape))
        return result.flatten(-self.event_dim).sum(-1) if self.event_dim else result

    def forward_shape(self, shape):
        return broadcast_shapes(shape, _shape(self.loc), _shape(self.scale))

    inverse_shape = forward_shape


class PowerTransform(Transform):
    """`y = x ** exponent`, of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    __hash__ = None

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """A distribution's `cdf`, from its support to probabilities; the inverse is its `icdf`."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else CumulativeDistributionTransform(self.distribution, cache_size=cache_size)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
