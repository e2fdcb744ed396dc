"""The Kumaraswamy distribution."""

from __future__ import annotations

from .. import _core as _C
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Much as the beta distribution, with `1 - (1 - x^a)^b` as its distribution function, where `a` is `concentration1`, `b` `concentration0`."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros = _C.zeros_like(self.concentration0)
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1, -_C.ones_like(zeros)),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(Uniform(zeros, zeros + 1, validate_args=False), transforms, validate_args=validate_args)

    def _moment(self, n):
        """`E[x^n] = b B(1 + n / a, b)`."""
        power, b = 1 + n / self.concentration1, self.concentration0
        return (b.log() + power.lgamma() + b.lgamma() - (power + b).lgamma()).exp()

    @property
    def mean(self):
        return self._moment(1)

    @property
    def mode(self):
        """NaN where the density has no maximum inside: for a concentration below 1, and both equal to 1."""
        a, b = self.concentration1, self.concentration0
        inner = ((a - 1) / (a * b - 1)).pow(1 / a)
        return inner.masked_fill((a < 1) | (b < 1) | ((a == 1) & (b == 1)), float("nan"))

    @property
    def variance(self):
        return self._moment(2) - self.mean**2

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return 1 - 1 / b + (1 - 1 / a) * harmonic - (a * b).log()
