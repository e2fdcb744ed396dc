"""Mixtures whose components are one batch of distributions."""

from __future__ import annotations

from .._calls.functions import broadcast_shapes
from .._tensors.size import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A component, the last dimension of the batch of `component_distribution`, chosen by the categorical `mixture_distribution`, then a sample
    of it.

    >>> MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1.0, 1.0]), torch.ones(2)))
    """

    arg_constraints = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        _check(mixture_distribution, component_distribution)
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = component_distribution.batch_shape[-1]
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = Size(batch_shape)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The distribution of components."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The components."""
        return self._component_distribution

    def _average(self, values):
        """The components' values, of the shape of a batch of samples, averaged with their weights."""
        weights = self._pad_mixture_dimensions(self._mixture_distribution.probs)
        return (weights * values).sum(-1 - self._event_ndims)

    @property
    def mean(self):
        return self._average(self._component_distribution.mean)

    @property
    def variance(self):
        # The law of total variance.
        means = self._component_distribution.mean
        return self._average(self._component_distribution.variance) + self._average((means - self._pad(self.mean)) ** 2)

    def cdf(self, value):
        probabilities = self._component_distribution.cdf(self._pad(value))
        return (probabilities * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value):
        self._check_value(value)
        logs = self._component_distribution.log_prob(self._pad(value))
        return (logs + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape=Size()):
        with no_grad():
            shape = Size(sample_shape) + self._batch_shape
            values = self._component_distribution.sample(sample_shape)
            chosen = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            chosen = chosen.reshape(shape + (1,) * (1 + self._event_ndims)).expand(shape + (1,) + self._event_shape)
            return values.gather(len(shape), chosen).squeeze(len(shape))

    def _pad(self, x):
        """Values with a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x):
        """A number for each component, with the event's dimensions."""
        return x.reshape(x.shape + (1,) * self._event_ndims)

    def __repr__(self):
        return f"{type(self).__name__}(\n  {self._mixture_distribution},\n  {self._component_distribution})"


def _check(mixture, component):
    if not isinstance(mixture, Categorical):
        raise ValueError(f"MixtureSameFamily: mixture_distribution is {type(mixture).__name__}, expected a Categorical")
    if not isinstance(component, Distribution):
        raise ValueError(f"MixtureSameFamily: component_distribution is {type(component).__name__}, expected a Distribution")
    components = component.batch_shape[-1:]
    if components != mixture.param_shape[-1:]:
        raise ValueError(f"MixtureSameFamily: {tuple(components)} components, expected {mixture.param_shape[-1]}: one for each category")
    try:
        broadcast_shapes(mixture.batch_shape, component.batch_shape[:-1])
    except (RuntimeError, ValueError):
        raise ValueError(
            f"MixtureSameFamily: mixture_distribution of batch shape {tuple(mixture.batch_shape)} does not fit to "
            f"component_distribution of {tuple(component.batch_shape)}"
        ) from None
