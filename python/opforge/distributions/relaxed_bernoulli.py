"""The binary concrete distribution."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from ._odds import Odds
from .distribution import Parametric
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Odds, Parametric):
    """Logits of a relaxed Bernoulli variable: logistic noise around `logits`, divided by `temperature` (Maddison, Mnih and Teh, "The concrete
    distribution", 2017)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True
    _constants = ("_given", "temperature")

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._take_odds(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        uniform = clamp_probs(_C.rand(shape, dtype=self._param.dtype, device=self._param.device))
        return (uniform.log() - (-uniform).log1p() + self.logits) / self.temperature

    def log_prob(self, value):
        self._check_value(value)
        difference = self.logits - value * self.temperature
        return _as_log(self.temperature, difference) + _C.nn.logsigmoid(difference) + _C.nn.logsigmoid(-difference)


def _as_log(number, like):
    """The logarithm of a number or tensor, as a tensor."""
    return _C.as_tensor(number, dtype=like.dtype, device=like.device).log()


class Relaxed(TransformedDistribution):
    """What a transform makes of a relaxed discrete variable, whose parameters it has."""

    has_rsample = True
    temperature = property(lambda self: self.base_dist.temperature, doc="How far samples are from those of the discrete variable.")
    logits = property(lambda self: self.base_dist.logits, doc="The logits of the discrete variable.")
    probs = property(lambda self: self.base_dist.probs, doc="The probabilities of the discrete variable.")


class RelaxedBernoulli(Relaxed):
    """Numbers between 0 and 1, near the ends at low `temperature`: a Bernoulli variable with gradients."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=False)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
