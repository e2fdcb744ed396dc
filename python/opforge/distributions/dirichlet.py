"""The Dirichlet distribution."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from ._gamma import _sample_dirichlet
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Points of the simplex of density proportional to `Π x^(concentration - 1)` along the last dimension."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("Dirichlet: concentration of no dimensions, expected at least one")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self):
        """The maximum; where all concentrations are below 1 the corner of the greatest."""
        a = self.concentration
        above = (a - 1).clamp(min=0)
        corner = _C.nn.one_hot(a.argmax(-1), a.shape[-1]).to(a.dtype)
        return _C.where((a < 1).all(-1, keepdim=True), corner, above / above.sum(-1, keepdim=True))

    @property
    def variance(self):
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def rsample(self, sample_shape=Size()):
        value = _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))
        return value.clamp(min=_C.finfo(value.dtype).tiny)

    def log_prob(self, value):
        self._check_value(value)
        return _C.xlogy(self.concentration - 1, value).sum(-1) - log_multivariate_beta(self.concentration)

    def entropy(self):
        a = self.concentration
        total, k = a.sum(-1), a.shape[-1]
        return log_multivariate_beta(a) + (total - k) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)

    @property
    def _natural_params(self):
        return (self.concentration - 1,)

    def _log_normalizer(self, x):
        return log_multivariate_beta(x + 1)


def log_multivariate_beta(a):
    """The logarithm of the multivariate beta function."""
    return a.lgamma().sum(-1) - a.sum(-1).lgamma()
