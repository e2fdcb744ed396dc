"""Transforms of parts of a value, of further event dimensions, and of shapes."""

from __future__ import annotations

from ... import _core as _C
from ..._tensors.size import Size
from .. import constraints
from ..utils import _sum_rightmost
from .base import Transform


class IndependentTransform(Transform):
    """A transform with some dimensions of the batch taken as dimensions of the event, over which `log_abs_det_jacobian` adds up."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @property
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        self._check(x, self.domain)
        return self.base_transform(x)

    def _inverse(self, y):
        self._check(y, self.codomain)
        return self.base_transform.inv(y)

    def _check(self, value, region):
        if value.dim() < region.event_dim:
            raise ValueError(f"IndependentTransform: a value of {value.dim()} dimensions, expected at least {region.event_dim}")

    def log_abs_det_jacobian(self, x, y):
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """The event's dimensions `in_shape` as `out_shape`, of as many elements."""

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(f"ReshapeTransform: in_shape {tuple(in_shape)} and out_shape {tuple(out_shape)} have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x):
        return x.reshape(self._batch(x.shape, self.in_shape) + self.out_shape)

    def _inverse(self, y):
        return y.reshape(self._batch(y.shape, self.out_shape) + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(self._batch(x.shape, self.in_shape))

    def forward_shape(self, shape):
        return self._batch(shape, self.in_shape) + self.out_shape

    def inverse_shape(self, shape):
        return self._batch(shape, self.out_shape) + self.in_shape

    @staticmethod
    def _batch(shape, event):
        """What comes before the event's shape, which `shape` must end with."""
        start = len(shape) - len(event)
        if start < 0 or tuple(shape[start:]) != event:
            raise ValueError(f"ReshapeTransform: a shape of {tuple(shape)}, expected one that ends with {tuple(event)}")
        return Size(shape[:start])


class _Joined(Transform):
    """Parts of a value along `dim`, each with a transform of its own."""

    def __init__(self, tseq, dim, cache_size):
        if not all(isinstance(transform, Transform) for transform in tseq):
            raise TypeError(f"{type(self).__name__}: expected transforms only")
        if cache_size:
            tseq = [transform.with_cache(cache_size) for transform in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    @property
    def bijective(self):
        return all(transform.bijective for transform in self.transforms)

    def _check(self, value, length):
        if not -value.dim() <= self.dim < value.dim() or value.shape[self.dim] != length:
            raise ValueError(f"{type(self).__name__}: a value of shape {tuple(value.shape)}, expected a length of {length} along {self.dim}")


class CatTransform(_Joined):
    """Parts of some `lengths` along `dim`, transformed and joined as `cat` does."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(f"CatTransform: {len(self.lengths)} lengths, expected {len(self.transforms)}: one for each transform")

    @property
    def event_dim(self):
        return max(transform.event_dim for transform in self.transforms)

    @property
    def length(self):
        """The length along `dim` of what is transformed."""
        return sum(self.lengths)

    @property
    def domain(self):
        return constraints.cat([transform.domain for transform in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self):
        return constraints.cat([transform.codomain for transform in self.transforms], self.dim, self.lengths)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, value):
        self._check(value, self.length)
        return value.split(self.lengths, self.dim)

    def _call(self, x):
        return _C.cat([transform(part) for transform, part in zip(self.transforms, self._parts(x))], self.dim)

    def _inverse(self, y):
        return _C.cat([transform.inv(part) for transform, part in zip(self.transforms, self._parts(y))], self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for transform, x_part, y_part in zip(self.transforms, self._parts(x), self._parts(y)):
            term = transform.log_abs_det_jacobian(x_part, y_part)
            terms.append(_sum_rightmost(term, self.event_dim - transform.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return _C.cat(terms, dim) if dim < 0 else sum(terms)


class StackTransform(_Joined):
    """A transform for each index of `dim`, joined as `stack` does."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    @property
    def domain(self):
        return constraints.stack([transform.domain for transform in self.transforms], self.dim)

    @property
    def codomain(self):
        return constraints.stack([transform.codomain for transform in self.transforms], self.dim)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, value):
        self._check(value, len(self.transforms))
        return value.unbind(self.dim)

    def _call(self, x):
        return _C.stack([transform(part) for transform, part in zip(self.transforms, self._parts(x))], self.dim)

    def _inverse(self, y):
        return _C.stack([transform.inv(part) for transform, part in zip(self.transforms, self._parts(y))], self.dim)

    def log_abs_det_jacobian(self, x, y):
        parts = zip(self.transforms, self._parts(x), self._parts(y))
        return _C.stack([transform.log_abs_det_jacobian(x_part, y_part) for transform, x_part, y_part in parts], self.dim)
