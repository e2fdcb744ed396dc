"""The concrete distribution."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from .categorical import OverCategorical
from .relaxed_bernoulli import Relaxed
from .transforms import ExpTransform
from .utils import clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategorical):
    """Logarithms of a relaxed one-hot variable: `log_softmax((logits + Gumbel noise) / temperature)` (Maddison, Mnih and Teh, "The concrete
    distribution", 2017)."""

    arg_constraints = OverCategorical.arg_constraints
    # It is a submanifold of this, whose points add up to 1 when they are exponentiated.
    support = constraints.real_vector
    has_rsample = True
    _constants = ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        uniform = clamp_probs(_C.rand(shape, dtype=self._param.dtype, device=self._param.device))
        return ((self.logits - (-uniform.log()).log()) / self.temperature).log_softmax(-1)

    def log_prob(self, value):
        self._check_value(value)
        k = self._event_shape[0]
        scores = (self.logits - value * self.temperature).log_softmax(-1)
        temperature = _C.as_tensor(self.temperature, dtype=scores.dtype, device=scores.device)
        return scores.sum(-1) + _C.lgamma(scores.new_tensor(float(k))) + (k - 1) * temperature.log()


class RelaxedOneHotCategorical(Relaxed):
    """Points of the simplex, near its corners at low `temperature`: a one-hot variable with gradients."""

    arg_constraints = OverCategorical.arg_constraints
    support = constraints.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=False)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
