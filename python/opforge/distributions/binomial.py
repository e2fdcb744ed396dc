"""How many of several trials succeed."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from ._odds import Odds
from ._rejection import binomial
from .distribution import Parametric

__all__ = ["Binomial"]


class Binomial(Odds, Parametric):
    """Successes among `total_count` trials, each of probability `probs` (or `logits`)."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        (total_count,) = self._take_odds(probs, logits, total_count)
        self.total_count = total_count.to(self._param.dtype)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._check_value(value)
        n, logits = self.total_count, self.logits
        choices = _C.lgamma(n + 1) - _C.lgamma(value + 1) - _C.lgamma(n - value + 1)
        return choices + value * _C.nn.logsigmoid(logits) + (n - value) * _C.nn.logsigmoid(-logits)

    def entropy(self):
        """The sum over the support, which must be the same in the whole batch."""
        logs = self.log_prob(self.enumerate_support(False))
        return -(logs.exp() * logs).sum(0)

    def enumerate_support(self, expand=True):
        counts = self.total_count
        most = int(counts.max()) if counts.numel() else 0
        if not (counts == most).all():
            raise NotImplementedError("Binomial: the support of different numbers of trials cannot be enumerated together")
        return self._enumerated(_C.arange(most + 1, dtype=counts.dtype, device=counts.device), expand)
