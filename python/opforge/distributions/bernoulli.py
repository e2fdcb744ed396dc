"""Success or failure."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from ._odds import Odds
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(Odds, ExponentialFamily):
    """1 with probability `probs`, else 0; given as such, or as `logits`.

    >>> Bernoulli(torch.tensor([0.3])).sample()
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        """0 or 1, and NaN where both are equally likely."""
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, float("nan"))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):
        with no_grad():
            return _C.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check_value(value)
        return log_likelihood(*broadcast_all(self.logits, value))

    def entropy(self):
        return -log_likelihood(self.logits, self.probs)

    def enumerate_support(self, expand=True):
        return self._enumerated(_C.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        return -_C.nn.logsigmoid(-x)


def log_likelihood(logits, value):
    """`value log p + (1 - value) log(1 - p)`, where `p` is the sigmoid of `logits`."""
    return -_C.nn.binary_cross_entropy_with_logits(logits, value.to(logits.dtype), reduction="none")
