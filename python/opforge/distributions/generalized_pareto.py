"""The generalised Pareto distribution."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from .distribution import Located
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Located):
    """Excesses over the threshold `loc`: survival `(1 + k z)^(-1 / k)` of `z = (x - loc) / scale`, where `k` is `concentration`; `exp(-z)` for
    `k = 0`. With a negative `k` the support ends at `loc - scale / k`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, _C.where(self.concentration < 0, end, float("inf")))

    @property
    def mean(self):
        """Infinite for concentrations of 1 and more."""
        return _C.where(self.concentration < 1, self.loc + self.scale / (1 - self.concentration), float("inf"))

    @property
    def variance(self):
        """Infinite for concentrations of 1/2 and more."""
        k = self.concentration
        return _C.where(k < 0.5, self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k)), float("inf"))

    def rsample(self, sample_shape=Size()):
        return self.icdf(_C.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def _log1p_over(self, z):
        """`log(1 + k z) / k`, and `z` for `k = 0`."""
        k = self.concentration
        safe = _C.where(k == 0, 1.0, k)
        return _C.where(k == 0, z, (safe * z).log1p() / safe)

    def _z(self, value):
        return (value - self.loc) / self.scale

    def log_prob(self, value):
        self._check_value(value)
        return -self.scale.log() - (1 + self.concentration) * self._log1p_over(self._z(value))

    def log_survival_function(self, value):
        """The logarithm of the probability of more than `value`."""
        self._check_value(value)
        return -self._log1p_over(self._z(value))

    def log_cdf(self, value):
        """The logarithm of `cdf`."""
        return self.cdf(value).log()

    def cdf(self, value):
        return -self.log_survival_function(value).expm1()

    def icdf(self, value):
        k = self.concentration
        survival = (-value).log1p()
        safe = _C.where(k == 0, 1.0, k)
        return self.loc + self.scale * _C.where(k == 0, -survival, (-safe * survival).expm1() / safe)

    def entropy(self):
        return self.scale.log() + self.concentration + 1
