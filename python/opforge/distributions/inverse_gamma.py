"""The inverse gamma distribution."""

from __future__ import annotations

from .. import _core as _C
from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """Reciprocals of gamma variables."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=False)
        super().__init__(base, PowerTransform(base.rate.new_tensor(-1.0)), validate_args=validate_args)

    @property
    def concentration(self):
        """The gamma distribution's concentration."""
        return self.base_dist.concentration

    @property
    def rate(self):
        """The gamma distribution's rate, which is a scale here."""
        return self.base_dist.rate

    @property
    def mean(self):
        """Infinite for concentrations up to 1."""
        return _C.where(self.concentration > 1, self.rate / (self.concentration - 1), float("inf"))

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        """Infinite for concentrations up to 2."""
        a = self.concentration
        return _C.where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), float("inf"))

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
