"""The Weibull distribution."""

from __future__ import annotations

from .. import _core as _C
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Density `(k / scale) z^(k - 1) exp(-z^k)` of `z = x / scale`, where `k` is `concentration`."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(_C.ones_like(self.scale), validate_args=False)
        transforms = [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n):
        """`E[z^n]`."""
        return (1 + n / self.concentration).lgamma().exp()

    @property
    def mean(self):
        return self.scale * self._moment(1)

    @property
    def mode(self):
        k = self.concentration
        return self.scale * ((k - 1).clamp(min=0) / k) ** k.reciprocal()

    @property
    def variance(self):
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    def entropy(self):
        k = self.concentration
        return euler_constant * (1 - k.reciprocal()) + (self.scale / k).log() + 1
