"""One of several categories, and what is drawn with such probabilities."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from ._odds import Odds, given_odds
from .distribution import Parametric

__all__ = ["Categorical"]


class Categorical(Odds, Parametric):
    """Indices 0 to K - 1, with probabilities along the last dimension of `probs`, which are normalised, or of unnormalised log-probabilities
    `logits`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _constants = ("_given", "_num_events")
    _is_binary = False

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._given = given_odds("Categorical", probs, logits)
        given = logits if probs is None else probs
        if given.dim() < 1:
            raise ValueError(f"Categorical: {self._given} of no dimensions, expected at least one")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self):
        """NaN: categories have no mean."""
        return _C.full(self._batch_shape, float("nan"), dtype=self._param.dtype, device=self._param.device)

    @property
    def mode(self):
        return self.probs.argmax(-1)

    @property
    def variance(self):
        """NaN: categories have no variance."""
        return self.mean

    def sample(self, sample_shape=Size()):
        sample_shape = Size(sample_shape)
        with no_grad():
            rows = self.probs.reshape(self._batch_shape.numel(), self._num_events)
            drawn = _C.multinomial(rows, sample_shape.numel(), True) if rows.shape[0] and sample_shape.numel() else None
            shape = self._extended_shape(sample_shape)
            return _C.empty(shape, dtype=_C.int64, device=rows.device) if drawn is None else drawn.mT.reshape(shape)

    def log_prob(self, value):
        self._check_value(value)
        value, logits = _C.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        # Categories of probability 0 count nothing, although their logits are infinite.
        logits = self.logits.clamp(min=_C.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return self._enumerated(_C.arange(self._num_events, device=self._param.device), expand)


class OverCategorical(Odds, Parametric):
    """A distribution of vectors with an element for each category, drawn with the probabilities of a `Categorical` that it holds."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _constants = ()
    _given = property(lambda self: self._categorical._given)

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits, validate_args=False)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @property
    def probs(self):
        """The categories' probabilities."""
        return self._categorical.probs

    @property
    def logits(self):
        """The logarithms of the probabilities."""
        return self._categorical.logits
