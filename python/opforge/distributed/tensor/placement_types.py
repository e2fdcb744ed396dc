"""How a tensor lies along a dimension of a mesh, under PyTorch's names: `Shard(dim)`, `Replicate()`, `Partial()`."""

from __future__ import annotations

from ... import sbp as _sbp
from ..._absent import absent_names
from .. import _REASON

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

globals().update(absent_names(__name__, _REASON, classes="_MaskPartial _StridedShard"))

_SUMS = {"sum": "sum", "product": "product", "max": "max", "min": "min"}


class Placement:
    """How a tensor lies along one dimension of a mesh."""

    def is_shard(self, dim=None) -> bool:
        """Whether ranks have parts, along that dimension of the tensor if one is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None) -> bool:
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def _key(self):
        return ()

    def __eq__(self, other):
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self):
        return hash((type(self), self._key()))


class Shard(Placement):
    """Each rank has a balanced part along dimension `dim`; the first ones are longer where lengths do not divide. (PyTorch's first parts are all of one
    length, and the last ones shorter or empty.)"""

    def __init__(self, dim):
        self.dim = dim

    def _key(self):
        return (self.dim,)

    def __repr__(self):
        return f"Shard(dim={self.dim})"


class Replicate(Placement):
    """Each rank has all of it."""

    def __repr__(self):
        return "Replicate()"


class Partial(Placement):
    """The tensor is the reduction of what ranks have: `"sum"`, `"product"`, `"max"` or `"min"`."""

    def __init__(self, reduce_op="sum"):
        if reduce_op not in _SUMS:
            raise NotImplementedError(f"Partial: reduce_op={reduce_op!r} (accepted: {', '.join(_SUMS)})")
        self.reduce_op = reduce_op

    def _key(self):
        return (self.reduce_op,)

    def __repr__(self):
        return f"Partial({self.reduce_op})"


def to_sbp(placement, rank):
    """The sbp that a placement means, of a tensor of `rank` dimensions."""
    if not isinstance(placement, Placement):
        raise TypeError(f"placements must be Shard, Replicate or Partial, not {type(placement).__name__}")
    if isinstance(placement, Shard):
        if not -rank <= placement.dim < max(rank, 1):
            raise IndexError(f"Shard(dim={placement.dim}), expected a dimension of a tensor of {rank}")
        return _sbp.split(placement.dim % rank)
    return _sbp.partial(placement.reduce_op) if isinstance(placement, Partial) else _sbp.broadcast


def of_sbp(sbp):
    """The placement that an sbp means."""
    if sbp.dim is not None:
        return Shard(sbp.dim)
    return Replicate() if sbp == _sbp.broadcast else Partial(str(sbp)[2:-1])
