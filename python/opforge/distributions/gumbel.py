"""The Gumbel distribution."""

from __future__ import annotations

import math

from .. import _core as _C
from . import constraints
from .distribution import Located
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(Located, TransformedDistribution):
    """Extremes of many variables: `loc - scale log(-log U)` of a uniform `U`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        info = _C.finfo(self.loc.dtype)
        base = Uniform(_C.full_like(self.loc, info.tiny), _C.full_like(self.loc, 1 - info.eps), validate_args=False)
        log, mirror = ExpTransform().inv, AffineTransform(0, -_C.ones_like(self.scale))
        super().__init__(base, [log, mirror, log, AffineTransform(self.loc, -self.scale)], validate_args=validate_args)

    @property
    def mean(self):
        return self.loc + self.scale * euler_constant

    @property
    def variance(self):
        return (math.pi**2 / 6) * self.scale**2

    def log_prob(self, value):
        self._check_value(value)
        z = (self.loc - value) / self.scale
        return z - z.exp() - self.scale.log()

    def cdf(self, value):
        self._check_value(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value):
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)
