"""Which ranks have a tensor."""

from __future__ import annotations

from .. import _core


def _flat(ranks, depth=0):
    """The mesh's dimensions and its ranks in order."""
    if not isinstance(ranks, list):
        return (), [int(ranks)]
    parts = [_flat(part) for part in ranks]
    if not parts or any(part[0] != parts[0][0] for part in parts):
        raise ValueError(f"placement: ranks={ranks}, expected lists of one length")
    return (len(parts), *parts[0][0]), [rank for part in parts for rank in part[1]]


class placement:
    """Ranks in a mesh of one or more dimensions: `placement("cpu", ranks=[0, 1])`, `placement("cpu", ranks=[[0, 1], [2, 3]])`.

    Tensors of one placement go together. Raises ValueError for ranks that are there twice, or lists of several lengths; DeviceError for a `type` that this
    build does not have.

    >>> import opforge
    >>> mesh = opforge.placement("cpu", ranks=[[0, 1], [2, 3]])
    >>> mesh.shape, mesh.ranks
    ((2, 2), [[0, 1], [2, 3]])
    """

    __slots__ = ("_text", "device", "ranks", "shape", "type")

    def __init__(self, type, ranks):
        ranks = ranks.tolist() if hasattr(ranks, "tolist") else _lists(ranks)
        self.type, self.ranks = str(type), ranks if isinstance(ranks, list) else [ranks]
        self.shape, flat = _flat(self.ranks)
        if min(flat) < 0:
            raise ValueError(f"placement: ranks={self.ranks}, expected numbers from 0 on")
        self._text = f"{self.type}{self.ranks}"
        self.device = _core._placement_device(self._text)

    @staticmethod
    def all(type="cpu") -> placement:
        """All ranks of the program, in a row. Raises ValueError before `init_process_group`."""
        from ..distributed import get_world_size

        return placement(type, list(range(get_world_size())))

    @classmethod
    def _read(cls, text) -> placement:
        """The placement of a text, `cpu[0, 1]`."""
        import json

        start = text.index("[")
        return cls(text[:start], json.loads(text[start:]))

    def __eq__(self, other):
        return isinstance(other, placement) and self._text == other._text

    def __hash__(self):
        return hash(self._text)

    def __str__(self):
        return self._text

    def __repr__(self):
        return f'opforge.placement(type="{self.type}", ranks={self.ranks})'

    def __reduce__(self):
        return placement, (self.type, self.ranks)


def _lists(ranks):
    return [_lists(rank) for rank in ranks] if isinstance(ranks, (list, tuple, range)) else ranks
