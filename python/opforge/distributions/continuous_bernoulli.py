"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from ._odds import Odds
from .bernoulli import log_likelihood
from .exp_family import ExponentialFamily
from .utils import broadcast_all, open_uniform

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Numbers between 0 and 1 of density proportional to `exp(logits * x)` (Loaiza-Ganem and Cunningham, "The continuous Bernoulli: fixing a
    pervasive error in variational autoencoders", 2019).

    Where `probs` lies within `lims`, near 1/2, formulas that divide by almost 0 are replaced by their Taylor polynomials.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _constants = ("_given", "_lims")

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._take_odds(probs, logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    def _near_zero(self, x, exact, taylor):
        """`exact(x)`, of log-odds `x`, or `taylor(x²)` where they are small; gradients flow through one of both only."""
        low, high = (math.log(lim / (1 - lim)) for lim in self._lims)
        small = (x >= low) & (x <= high)
        return _C.where(small, taylor(_C.where(small, x, 0.0) ** 2), exact(_C.where(small, 1.0, x)))

    def _cont_bern_log_norm(self):
        """`log C` of the density `C p^x (1 - p)^(1 - x)`: C is `l / tanh(l / 2)` for log-odds `l`."""
        return self._near_zero(
            self.logits,
            lambda x: x.abs().log() - (x.abs() / 2).tanh().log(),
            lambda square: math.log(2.0) + square * (1 / 12 - square * (7 / 1440)),
        )

    @property
    def mean(self):
        # Of log-odds l: 1/2 + coth(l / 2) / 2 - 1 / l.
        x = self.logits
        slope = self._near_zero(x, lambda x: (0.5 / (x / 2).tanh() - 1 / x) / x, lambda square: 1 / 12 - square * (1 / 720 - square / 30240))
        return 0.5 + x * slope

    @property
    def variance(self):
        return self._near_zero(
            self.logits,
            lambda x: 1 / x**2 - _inverse_sinh_square(x / 2) / 4,
            lambda square: 1 / 12 - square * (1 / 240 - square / 6048),
        )

    def rsample(self, sample_shape=Size()):
        return self.icdf(open_uniform(self._extended_shape(sample_shape), self._param.dtype, self._param.device))

    def log_prob(self, value):
        self._check_value(value)
        return log_likelihood(*broadcast_all(self.logits, value)) + self._cont_bern_log_norm()

    # Both are computed for log-odds of at most 0, where nothing overflows: x at log-odds l is 1 - x at -l.

    def cdf(self, value):
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        value = value.clamp(0, 1)
        mirrored = _C.where(logits > 0, 1 - value, value)
        slope = self._away_from_zero(-logits.abs())
        result = (slope * mirrored).expm1() / slope.expm1()
        return _C.where(logits > 0, 1 - result, result)

    def icdf(self, value):
        logits, value = broadcast_all(self.logits, value)
        mirrored = _C.where(logits > 0, 1 - value, value)
        slope = self._away_from_zero(-logits.abs())
        result = (mirrored * slope.expm1()).log1p() / slope
        return _C.where(logits > 0, 1 - result, result)

    @staticmethod
    def _away_from_zero(slope):
        """The slope itself, but at 0 one that makes no difference from it."""
        return _C.where(slope == 0, -_C.finfo(slope.dtype).eps, slope)

    def entropy(self):
        return -(self._cont_bern_log_norm() + _C.nn.logsigmoid(-self.logits) + self.mean * self.logits)

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        """`log((exp(x) - 1) / x)`, which is `x / 2` and an even function."""
        even = self._near_zero(
            x,
            lambda x: x.abs() / 2 + (-(-x.abs()).expm1() / x.abs()).log(),
            lambda square: square * (1 / 24 - square / 2880),
        )
        return x / 2 + even


def _inverse_sinh_square(x):
    """`1 / sinh(x)²`, which does not overflow."""
    small = (-2 * x.abs()).exp()
    return 4 * small / (1 - small) ** 2
