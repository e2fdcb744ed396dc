"""The gamma distribution."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from ._gamma import _standard_gamma
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Density `rate^a x^(a - 1) exp(-rate x) / Γ(a)`, where `a` is `concentration`, on positive numbers."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate**2

    def rsample(self, sample_shape=Size()):
        """Gradients with respect to both parameters: samples are implicit functions of the concentration."""
        value = _standard_gamma(self.concentration.expand(self._extended_shape(sample_shape))) / self.rate
        # Samples of a small concentration underflow: their density at 0 would be infinite.
        return value.clamp(min=_C.finfo(value.dtype).tiny)

    def log_prob(self, value):
        value = _C.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check_value(value)
        a, rate = self.concentration, self.rate
        return a * rate.log() + _C.xlogy(a - 1, value) - rate * value - a.lgamma()

    def cdf(self, value):
        self._check_value(value)
        return _C.igamma(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return (x + 1).lgamma() - (x + 1) * (-y).log()
