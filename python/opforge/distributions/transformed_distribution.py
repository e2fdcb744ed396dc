"""Distributions of transformed variables."""

from __future__ import annotations

from .._tensors.size import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Parametric
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Parametric):
    """What `transforms`, one or a list of them, make of samples of `base_distribution`.

    The density is the base's at the inverse, divided by the determinant of the Jacobian. Transforms of whole events take dimensions of the
    base's batch for them.

    >>> TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()])  # the log-normal distribution
    """

    arg_constraints = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"TransformedDistribution: transforms is {transforms!r}, expected a Transform or a list of them")
        transform = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < transform.domain.event_dim:
            raise ValueError(
                f"TransformedDistribution: base_distribution of shape {tuple(shape)}, expected at least {transform.domain.event_dim} dimensions"
            )
        out_shape = transform.forward_shape(shape)
        self.base_dist = _of_shape(base_distribution, transform.inverse_shape(out_shape), transform.domain.event_dim)
        grown = transform.codomain.event_dim - transform.domain.event_dim
        event_dim = max(transform.codomain.event_dim, len(self.base_dist.event_shape) + grown)
        batch_dim = len(out_shape) - event_dim
        super().__init__(out_shape[:batch_dim], out_shape[batch_dim:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        shape = ComposeTransform(self.transforms).inverse_shape(Size(batch_shape) + self.event_shape)
        base_batch = len(shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[:base_batch])
        new.transforms = self.transforms
        return new

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    @constraints.dependent_property
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        return _with_event_dim(self.transforms[-1].codomain, len(self.event_shape))

    def sample(self, sample_shape=Size()):
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=Size()):
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        self._check_value(value)
        event_dim, total, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            total = total - _sum_rightmost(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            y = x
        return total + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonized(self, probability):
        """A probability of the base as one of this, or the other way: mirrored if the transforms decrease."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value):
        """Of monotone transforms only."""
        self._check_value(value)
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        self.base_dist._check_value(value)
        return self._monotonized(self.base_dist.cdf(value))

    def icdf(self, value):
        """Of monotone transforms only."""
        return self._transformed(self.base_dist.icdf(self._monotonized(value)))


def _of_shape(base, shape, event_dim):
    """The base expanded to `shape`, with at least `event_dim` event dimensions."""
    if base.batch_shape + base.event_shape != shape:
        base = base.expand(shape[: len(shape) - len(base.event_shape)])
    further = event_dim - len(base.event_shape)
    return Independent(base, further) if further > 0 else base


def _with_event_dim(constraint, event_dim):
    further = event_dim - constraint.event_dim
    return constraints.independent(constraint, further) if further > 0 else constraint
