"""Transforms from unconstrained values to a constraint's region.

`biject_to(constraint)` is a bijection, with a Jacobian's determinant; `transform_to(constraint)` may be cheaper or better behaved for optimisation,
and not bijective. Both go from `constraints.real`, of as many dimensions as needed. Packages register their own constraints:

>>> @transform_to.register(MyConstraint)
... def _(constraint): return MyTransform(constraint.parameter)
"""

from __future__ import annotations

from numbers import Number

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Functions that make a transform of a constraint, by the constraint's class."""

    def __init__(self):
        self._registry = {}
        super().__init__()

    def register(self, constraint, factory=None):
        """Registers `factory(constraint)` for a class of constraints, or for that of an instance. Without a factory it is a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"register: constraint is {constraint!r}, expected a class of constraints or an instance of one")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint):
        """A transform to the constraint's region."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"no transform to {type(constraint).__name__} constraints is registered")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _for_both(*kinds):
    """Registers with both registries."""

    def decorate(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return decorate


@_for_both(constraints.real)
def _to_real(constraint):
    return transforms.identity_transform


@_for_both(constraints.greater_than, constraints.greater_than_eq)
def _to_above(constraint):
    return _shifted_exp(constraint.lower_bound, 1)


@_for_both(constraints.less_than)
def _to_below(constraint):
    return _shifted_exp(constraint.upper_bound, -1)


def _shifted_exp(bound, scale):
    exp = transforms.ExpTransform()
    if isinstance(bound, Number) and bound == 0 and scale == 1:
        return exp
    return transforms.ComposeTransform([exp, transforms.AffineTransform(bound, scale)])


@_for_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    sigmoid = transforms.SigmoidTransform()
    if isinstance(low, Number) and isinstance(high, Number) and (low, high) == (0, 1):
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])


@_for_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint):
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint):
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _transform_to_lower_cholesky(constraint):
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _transform_to_positive_definite(constraint):
    return transforms.PositiveDefiniteTransform()


def _register_compositions(registry):
    """Constraints that are made of others, with the registry's own transforms to those."""

    @registry.register(constraints.independent)
    def _to_independent(constraint):
        return transforms.IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def _to_cat(constraint):
        return transforms.CatTransform([registry(part) for part in constraint.cseq], constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def _to_stack(constraint):
        return transforms.StackTransform([registry(part) for part in constraint.cseq], constraint.dim)


_register_compositions(biject_to)
_register_compositions(transform_to)
