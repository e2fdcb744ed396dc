"""How many trials fail before the first success."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from ._odds import Odds
from .bernoulli import log_likelihood
from .distribution import Parametric
from .utils import open_uniform

__all__ = ["Geometric"]


class Geometric(Odds, Parametric):
    """Failures before the first success, each trial of probability `probs` (or `logits`), which must not be 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} to be positive, "
                f"but found invalid values:\n{self.probs}"
            )

    @property
    def mean(self):
        return 1 / self.probs - 1

    @property
    def mode(self):
        return _C.zeros_like(self.probs)

    @property
    def variance(self):
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape=Size()):
        with no_grad():
            u = open_uniform(self._extended_shape(sample_shape), self.probs.dtype, self.probs.device)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._check_value(value)
        return _C.special.xlog1py(value, -self.probs) + self.probs.log()

    def entropy(self):
        return -log_likelihood(self.logits, self.probs) / self.probs
