"""How often each of several categories comes in a number of draws."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from .binomial import Binomial
from .categorical import OverCategorical

__all__ = ["Multinomial"]


class Multinomial(OverCategorical):
    """Counts of categories in `total_count` draws, the same number in the whole batch, with `probs` or `logits`."""

    arg_constraints = OverCategorical.arg_constraints
    _constants = ("total_count",)

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError(f"Multinomial: total_count is {type(total_count).__name__}, expected one int for the batch")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = self._param.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, drawn, _C.ones_like(drawn).to(counts.dtype))

    def log_prob(self, value):
        self._check_value(value)
        logits, value = _C.broadcast_tensors(self.logits, value)
        # A category of probability 0 that never came counts nothing.
        logits = logits.masked_fill((value == 0) & (logits == float("-inf")), 0)
        return _C.lgamma(value.sum(-1) + 1) - _C.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self):
        """From the entropies of the categories and the binomial distributions of the counts."""
        n = self.total_count
        counts = Binomial(n, self.probs).enumerate_support(False)[1:]
        weights = Binomial(n, self.probs, validate_args=False).log_prob(counts).exp()
        factorials = (weights * _C.lgamma(counts + 1)).sum((0, -1))
        return n * self._categorical.entropy() - _C.lgamma(self.probs.new_tensor(n + 1.0)) + factorials
