"""What every distribution is: shapes, checks of parameters and samples, and what subclasses define."""

from __future__ import annotations

import warnings

from .. import _core as _C
from .._tensors.size import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from .utils import broadcast_all, lazy_property

__all__ = ["Distribution", "Located", "LocationScale", "Parametric"]


class Distribution:
    """A distribution, or a batch of them.

    A sample's shape is `sample_shape + batch_shape + event_shape`: independent draws, distributions that differ in their parameters, and what
    one draw consists of. With `validate_args`, parameters and values are held to `arg_constraints` and `support`, which reads their elements.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions check their arguments unless they are told otherwise."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: value={value!r}, expected True or False")
        Distribution._validate_args = value

    def __init__(self, batch_shape=Size(), event_shape=Size(), validate_args=None):
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    def _validate_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{type(self).__name__} has no arg_constraints, so its parameters are not checked", stacklevel=3)
            return
        for name, constraint in arg_constraints.items():
            lazy = name not in vars(self) and isinstance(getattr(type(self), name, None), lazy_property)
            if lazy or constraints.is_dependent(constraint):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape, _instance=None):
        """The same distribution with `batch_shape`, to which its own must broadcast. Nothing is copied.

        `_instance`, if given, is an object of a subclass that is to be filled and returned.
        """
        raise NotImplementedError(f"{type(self).__name__} has no expand")

    @property
    def batch_shape(self):
        """The shape of the parameters, as far as they differ between distributions."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one draw."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """The parameters' names, each with its constraint."""
        raise NotImplementedError(f"{type(self).__name__} has no arg_constraints")

    @property
    def support(self):
        """The constraint that all samples satisfy."""
        raise NotImplementedError(f"{type(self).__name__} has no support")

    @property
    def mean(self):
        """The expectation, of shape `batch_shape + event_shape`."""
        raise NotImplementedError(f"{type(self).__name__} has no mean")

    @property
    def mode(self):
        """The value of the greatest probability or density."""
        raise NotImplementedError(f"{type(self).__name__} has no mode")

    @property
    def variance(self):
        """The variance of each element of the event."""
        raise NotImplementedError(f"{type(self).__name__} has no variance")

    @property
    def stddev(self):
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=Size()):
        """Draws, of shape `sample_shape + batch_shape + event_shape`, through which no gradient flows."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=Size()):
        """Draws that are differentiable functions of the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample")

    def sample_n(self, n):
        """`sample((n,))`, the former name of it."""
        warnings.warn("sample_n(n) is deprecated: use sample((n,))", UserWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density or probability at `value`, a number for each event."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    def cdf(self, value):
        """The probability of at most `value`."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf")

    def icdf(self, value):
        """The quantile: the inverse of `cdf`."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf")

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution along a new first dimension, for all batches together; without `expand`, batch dimensions
        have length 1."""
        raise NotImplementedError(f"{type(self).__name__} has no enumerate_support")

    def entropy(self):
        """The entropy in nats, of shape `batch_shape`."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy")

    def perplexity(self):
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape=Size()):
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _enumerated(self, values, expand):
        """Values along the first dimension as the support of every distribution of the batch."""
        values = values.reshape((-1,) + (1,) * len(self._batch_shape) + self._event_shape)
        return values.expand((-1, *self._batch_shape, *self._event_shape)) if expand else values

    def _check_value(self, value):
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value):
        """Raises ValueError for a value that is no tensor, whose shape does not fit, or that lies outside of the support."""
        if not isinstance(value, _C.Tensor):
            raise ValueError(f"The value argument to log_prob must be a Tensor, got {type(value).__name__}")
        event_start = value.dim() - len(self._event_shape)
        if value.shape[max(event_start, 0) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {tuple(value.shape)} vs {tuple(self._event_shape)}.")
        expected = self._batch_shape + self._event_shape
        for given, own in zip(reversed(value.shape), reversed(expected)):
            if given != 1 and own != 1 and given != own:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {tuple(value.shape)} vs {tuple(expected)}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{type(self).__name__} has no support, so values are not checked", stacklevel=3)
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls, _instance=None):
        """An empty object of this distribution's class for `expand` of `cls` to fill, or the given one. A subclass that makes its parameters
        itself cannot be filled so."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"{type(self).__name__} has an __init__ of its own, so it needs an expand too")
        return type(self).__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        try:
            names = [name for name in self.arg_constraints if name in vars(self)]
        except NotImplementedError:
            names = []
        shown = ((name, vars(self)[name]) for name in names)
        return f"{type(self).__name__}({', '.join(f'{n}: {v if v.numel() == 1 else v.size()}' for n, v in shown)})"


class Parametric(Distribution):
    """A distribution whose parameters are its attributes, under the names that `arg_constraints` has and with the batch's dimensions first:
    that is all it takes to expand it."""

    # What else an instance holds, the same whatever the batch is.
    _constants = ()

    def expand(self, batch_shape, _instance=None):
        family = next(cls for cls in type(self).__mro__ if "arg_constraints" in vars(cls))
        new = self._get_checked_instance(family, _instance)
        batch_shape = Size(batch_shape)
        own = len(self._batch_shape)
        for name in self.arg_constraints:
            value = vars(self).get(name)
            if isinstance(value, _C.Tensor) and value.shape[:own] == self._batch_shape:
                vars(new)[name] = value.expand(batch_shape + value.shape[own:])
        for name in self._constants:
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new


class Located(Parametric):
    """A distribution around its parameter `loc`, which is mean and mode unless a subclass says otherwise."""

    mean = mode = property(lambda self: self.loc, doc="The parameter `loc`.")


class LocationScale(Located):
    """A distribution of numbers with the parameters `loc` and `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)
