"""The beta distribution."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from ._gamma import log_standard_gamma
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """Density proportional to `x^(concentration1 - 1) (1 - x)^(concentration0 - 1)` between 0 and 1."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration1, concentration0, validate_args=None):
        concentrations = broadcast_all(concentration1, concentration0)
        self._dirichlet = Dirichlet(_C.stack(concentrations, -1), validate_args=False)
        super().__init__(concentrations[0].shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Beta, _instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        Distribution.__init__(new, Size(batch_shape), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def concentration1(self):
        """The exponent of `x`, plus one."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self):
        """The exponent of `1 - x`, plus one."""
        return self._dirichlet.concentration[..., 1]

    @property
    def _total(self):
        return self.concentration1 + self.concentration0

    @property
    def mean(self):
        return self.concentration1 / self._total

    @property
    def mode(self):
        """The maximum; where both concentrations are below 1 the greater one's end, NaN for equal ones."""
        a, b = self.concentration1, self.concentration0
        ends = _C.where(a == b, float("nan"), (a > b).to(a.dtype))
        above_a, above_b = (a - 1).clamp(min=0), (b - 1).clamp(min=0)
        inner = above_a / (above_a + above_b)
        return _C.where((a < 1) & (b < 1), ends, inner)

    @property
    def variance(self):
        return self.concentration1 * self.concentration0 / (self._total**2 * (self._total + 1))

    def rsample(self, sample_shape=Size()):
        """`x / (x + y)` of gamma variables, by their logarithms, which do not underflow."""
        shape = self._extended_shape(sample_shape)
        odds = log_standard_gamma(self.concentration1.expand(shape)) - log_standard_gamma(self.concentration0.expand(shape))
        info = _C.finfo(odds.dtype)
        return odds.sigmoid().clamp(info.tiny, 1 - info.eps / 2)

    def log_prob(self, value):
        self._check_value(value)
        a, b = self.concentration1, self.concentration0
        return _C.xlogy(a - 1, value) + _C.special.xlog1py(b - 1, -value) - log_beta(a, b)

    def entropy(self):
        a, b, total = self.concentration1, self.concentration0, self._total
        spread = (total - 2) * total.digamma() - (a - 1) * a.digamma() - (b - 1) * b.digamma()
        return log_beta(a, b) + spread

    @property
    def _natural_params(self):
        return self.concentration1 - 1, self.concentration0 - 1

    def _log_normalizer(self, x, y):
        return log_beta(x + 1, y + 1)


def log_beta(a, b):
    """The logarithm of the beta function."""
    return a.lgamma() + b.lgamma() - (a + b).lgamma()
