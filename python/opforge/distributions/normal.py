"""The normal distribution."""

from __future__ import annotations

import math

from .. import _core as _C
from .._tensors.size import Size
from .distribution import LocationScale
from .exp_family import ExponentialFamily
from .utils import _standard_normal

__all__ = ["Normal"]


class Normal(LocationScale, ExponentialFamily):
    """Mean `loc`, standard deviation `scale`.

    >>> Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-0.9189)
    """

    _mean_carrier_measure = 0

    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return self.scale**2

    def rsample(self, sample_shape=Size()):
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value):
        self._check_value(value)
        z = (value - self.loc) / self.scale
        return -0.5 * z**2 - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value):
        self._check_value(value)
        return _C.special.ndtr((value - self.loc) / self.scale)

    def icdf(self, value):
        return self.loc + self.scale * _C.special.ndtri(value)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self):
        precision = self.scale.pow(-2)
        return self.loc * precision, -0.5 * precision

    def _log_normalizer(self, x, y):
        return -0.25 * x**2 / y + 0.5 * (-math.pi / y).log()
