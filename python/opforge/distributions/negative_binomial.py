"""How many trials succeed before a number of failures."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from ._gamma import _standard_gamma
from ._odds import Odds
from .distribution import Parametric

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Odds, Parametric):
    """Successes, each of probability `probs` (or `logits`), before `total_count` failures; that need not be an integer."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        (total_count,) = self._take_odds(probs, logits, total_count)
        self.total_count = total_count.to(self._param.dtype)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.total_count * self.logits.exp()

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self):
        return self.mean / _C.sigmoid(-self.logits)

    def sample(self, sample_shape=Size()):
        """Poisson variables whose rates are gamma variables."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            # Of no failures there are no successes.
            count = self.total_count.expand(shape)
            rate = _standard_gamma(count.masked_fill(count == 0, 1.0)) * self.logits.exp()
            return _C.poisson(rate.masked_fill(count == 0, 0.0))

    def log_prob(self, value):
        self._check_value(value)
        n, value = _C.broadcast_tensors(self.total_count, value)
        choices = _C.lgamma(n + value) - _C.lgamma(value + 1) - _C.lgamma(n)
        choices = choices.masked_fill(n + value == 0, 0.0)
        return choices + n * _C.nn.logsigmoid(-self.logits) + value * _C.nn.logsigmoid(self.logits)
