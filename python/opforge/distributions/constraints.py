"""Constraints: the regions where parameters and samples may lie.

A constraint's `check(value)` says of each event of a tensor whether it lies in the region. `event_dim` is the number of dimensions of an event,
`is_discrete` whether the region is discrete. Regions that depend on parameters are `dependent` until a distribution is there.
"""

from __future__ import annotations

from .. import _core as _C

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
    "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer",
    "positive_semidefinite", "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region of values; subclasses define `check`, and `is_discrete` and `event_dim` where they are not False and 0."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """For each event of `value`, whether it satisfies the constraint: a tensor of bool of the batch's shape."""
        raise NotImplementedError(f"{type(self).__name__} has no check")

    def __repr__(self):
        bounds = ", ".join(f"{name}={value}" for name, value in vars(self).items() if name.endswith("_bound"))
        return f"{type(self).__name__.lstrip('_')}({bounds})"


class _Dependent(Constraint):
    """A region that is known with the parameters only. What is known of it before may be said when it is called."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise NotImplementedError("is_discrete is not known of this dependent constraint")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise NotImplementedError("event_dim is not known of this dependent constraint")
        return self._event_dim

    def _known(self, is_discrete, event_dim):
        return {
            "is_discrete": self._is_discrete if is_discrete is NotImplemented else is_discrete,
            "event_dim": self._event_dim if event_dim is NotImplemented else event_dim,
        }

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        return _Dependent(**self._known(is_discrete, event_dim))

    def check(self, value):
        raise ValueError("a dependent constraint cannot be checked before the parameters are known")


class dependent_property(property, _Dependent):
    """A property that gives a constraint made of the instance's parameters; on the class it counts as a dependent constraint.

    Used as `@dependent_property`, or as `@dependent_property(is_discrete=True, event_dim=1)` to say what is known beforehand.
    """

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        property.__init__(self, fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        return dependent_property(fn, **self._known(is_discrete, event_dim))


def is_dependent(constraint):
    """Whether the region depends on parameters that are not there."""
    return isinstance(constraint, _Dependent)


class _IndependentConstraint(Constraint):
    """Some dimensions of the batch taken as dimensions of the event, all of which must satisfy `base_constraint`."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        if not isinstance(base_constraint, Constraint):
            raise TypeError(f"independent: base_constraint is {type(base_constraint).__name__}, expected a Constraint")
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise ValueError(f"independent: reinterpreted_batch_ndims={reinterpreted_batch_ndims}, expected an integer of at least 0")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        valid = self.base_constraint.check(value)
        if valid.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"independent: a value of {value.dim()} dimensions, expected at least {self.event_dim}")
        return _all_rightmost(valid, self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """What the components of a mixture support, of values that have no dimension of components yet."""

    def __init__(self, base_constraint):
        if not isinstance(base_constraint, Constraint):
            raise TypeError(f"MixtureSameFamilyConstraint: base_constraint is {type(base_constraint).__name__}, expected a Constraint")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        valid = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"MixtureSameFamilyConstraint: a value of {value.dim()} dimensions, expected at least {self.event_dim}")
        return _all_rightmost(valid, valid.dim() - (value.dim() - self.event_dim))

    def __repr__(self):
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


def _all_rightmost(valid, dims):
    return valid.all(tuple(range(-dims, 0))) if dims else valid


class _Bounded(Constraint):
    """A region that bounds say all of."""

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


class _Above(Constraint):
    def __init__(self, lower_bound):
        self.lower_bound = lower_bound


class _Below(Constraint):
    def __init__(self, upper_bound):
        self.upper_bound = upper_bound


class _Real(Constraint):
    def check(self, value):
        return value == value  # False for NaN alone.


class _GreaterThan(_Above):
    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    def check(self, value):
        return self.lower_bound <= value


class _LessThan(_Below):
    def check(self, value):
        return value < self.upper_bound


class _Interval(_Bounded):
    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _IntegerInterval(_Bounded):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and add up to 1."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts that add up to `upper_bound` at most."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return _all_rightmost(value.tril() == value, 2)


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value):
        return _all_rightmost(value.tril() == value, 2) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: lower triangular, a positive diagonal, rows of length 1."""

    event_dim = 2

    def check(self, value):
        tolerance = _C.finfo(value.dtype).eps * value.shape[-1] * 10
        unit = ((_C.linalg.vector_norm(value.detach(), dim=-1) - 1).abs() <= tolerance).all(-1)
        return lower_cholesky.check(value) & unit


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        return _C.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=_C.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return _all_rightmost(_C.isclose(value, value.mT, atol=1e-6), 2)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return symmetric
        return symmetric & self._positive(value.masked_fill(~symmetric.unsqueeze(-1).unsqueeze(-1), 0))

    @staticmethod
    def _positive(symmetric):
        return (_C.linalg.eigvalsh(symmetric) >= 0).all(-1)


class _PositiveDefinite(_PositiveSemidefinite):
    @staticmethod
    def _positive(symmetric):
        return _C.linalg.cholesky_ex(symmetric)[1] == 0


class _Joined(Constraint):
    """Parts of a value, along `dim`, each with a constraint of its own."""

    def __init__(self, cseq, dim=0):
        if not all(isinstance(constraint, Constraint) for constraint in cseq):
            raise TypeError(f"{type(self).__name__[1:].lower()}: expected constraints only")
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self):
        return any(constraint.is_discrete for constraint in self.cseq)


class _Cat(_Joined):
    """Parts of some `lengths` along `dim`, as `cat` joins them."""

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise ValueError(f"cat: {len(self.lengths)} lengths, expected {len(self.cseq)}: one for each constraint")

    @property
    def event_dim(self):
        return max(constraint.event_dim for constraint in self.cseq)

    def check(self, value):
        parts = value.split(self.lengths, self.dim)
        return _C.cat([constraint.check(part) for constraint, part in zip(self.cseq, parts)], self.dim)


class _Stack(_Joined):
    """One constraint for each index of `dim`, as `stack` joins them."""

    @property
    def event_dim(self):
        dim = max(constraint.event_dim for constraint in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        if len(self.cseq) != value.shape[self.dim]:
            raise ValueError(f"stack: a value of length {value.shape[self.dim]} along {self.dim}, expected {len(self.cseq)}")
        return _C.stack([constraint.check(part) for constraint, part in zip(self.cseq, value.unbind(self.dim))], self.dim)


dependent = _Dependent()
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
