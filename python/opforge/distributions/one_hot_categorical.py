"""One of several categories, as a vector that is 1 there and 0 elsewhere."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from .categorical import OverCategorical

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OverCategorical):
    """Vectors with a single 1, drawn with `probs` (normalised along the last dimension) or `logits`."""

    support = constraints.one_hot
    has_enumerate_support = True

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return self._one_hot(self.probs.argmax(-1))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        self._check_value(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self._event_shape[0]
        return self._enumerated(_C.eye(n, dtype=self._param.dtype, device=self._param.device), expand)

    def _one_hot(self, index):
        return _C.nn.one_hot(index, self._event_shape[0]).to(self._param.dtype)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same with `rsample`, whose gradient is that of the probabilities: the straight-through estimator (Bengio, Léonard and Courville,
    "Estimating or propagating gradients through stochastic neurons", 2013)."""

    has_rsample = True

    def rsample(self, sample_shape=Size()):
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
