"""How tensors are spread over processes: descriptions, which programs make and compare. What would spread a tensor by them is not there."""

from __future__ import annotations

from dataclasses import dataclass

from ..._absent import absent_names
from .. import _REASON

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies on the processes of one dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is spread, along `dim` if that is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether all processes have all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether its value is a reduction of what processes have, by `reduce_op` if that is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Spread along a dimension."""

    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    """The same on all."""


@dataclass(frozen=True)
class Partial(Placement):
    """To be reduced."""

    reduce_op: str = "sum"


globals().update(absent_names(__name__, _REASON, classes="_MaskPartial _StridedShard"))
