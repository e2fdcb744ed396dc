"""The Pareto distribution."""

from __future__ import annotations

from .. import _core as _C
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Density `alpha scale^alpha / x^(alpha + 1)` from `scale` on."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=False)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self):
        """Infinite for `alpha` up to 1."""
        return _C.where(self.alpha > 1, self.alpha * self.scale / (self.alpha - 1), float("inf"))

    @property
    def mode(self):
        return self.scale

    @property
    def variance(self):
        """Infinite for `alpha` up to 2."""
        a = self.alpha
        return _C.where(a > 2, self.scale**2 * a / ((a - 1) ** 2 * (a - 2)), float("inf"))

    def entropy(self):
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()
