"""How a tensor lies along a dimension of a mesh of ranks: `split(dim)`, `broadcast` or `partial_sum`.

>>> from opforge import sbp
>>> sbp.split(0), sbp.broadcast, sbp.partial_sum
(opforge.sbp.split(dim=0), opforge.sbp.broadcast, opforge.sbp.partial_sum)
"""

from __future__ import annotations

__all__ = ["broadcast", "partial", "partial_sum", "sbp", "split"]

_REDUCTIONS = ("sum", "product", "max", "min", "any", "all")


class sbp:
    """One of `split(dim)`, `broadcast` and `partial_sum`; values are equal where they mean the same, and can be called to give themselves."""

    __slots__ = ("_text",)

    def __init__(self, text):
        self._text = text

    @classmethod
    def _of(cls, value) -> sbp:
        """The value itself, or the one that a text stands for: `S(0)`, `B`, `P(sum)`."""
        if isinstance(value, sbp):
            return value
        if isinstance(value, str):
            return _read(value)
        raise TypeError(f"sbp must be opforge.sbp.split(dim), broadcast or partial_sum, not {type(value).__name__}")

    @property
    def dim(self) -> int | None:
        """The dimension that is split, or None."""
        return int(self._text[2:-1]) if self._text[0] == "S" else None

    def __call__(self):
        return self

    def __eq__(self, other):
        return isinstance(other, sbp) and self._text == other._text

    def __hash__(self):
        return hash(self._text)

    def __str__(self):
        return self._text

    def __repr__(self):
        if self._text == "B":
            return "opforge.sbp.broadcast"
        if self.dim is not None:
            return f"opforge.sbp.split(dim={self.dim})"
        return "opforge.sbp.partial_sum" if self == partial_sum else f"opforge.sbp.partial({self._text[2:-1]!r})"

    def __reduce__(self):
        return _read, (self._text,)


def split(dim: int) -> sbp:
    """Each rank has a balanced part along dimension `dim` of the tensor: of 7 elements on 3 ranks 3, 2 and 2. Raises ValueError for negative dimensions."""
    if int(dim) < 0:
        raise ValueError(f"sbp.split: dim={dim}, expected a dimension from 0 on")
    return sbp(f"S({int(dim)})")


def partial(reduction: str) -> sbp:
    """The tensor is the reduction of what ranks have: `"sum"`, `"product"`, `"max"`, `"min"`, and of bools `"any"` and `"all"`."""
    if reduction not in _REDUCTIONS:
        raise ValueError(f"sbp.partial: reduction={reduction!r}, expected one of {', '.join(_REDUCTIONS)}")
    return sbp(f"P({reduction})")


broadcast = sbp("B")
partial_sum = partial("sum")


def _read(text: str) -> sbp:
    text = text.strip()
    if text in ("B", "broadcast"):
        return broadcast
    name, _, argument = text.partition("(")
    if name in ("S", "split") and argument[:-1].isdigit():
        return split(int(argument[:-1]))
    if name in ("P", "partial"):
        return partial(argument[:-1])
    raise ValueError(f"sbp: {text!r}, expected S(0), B or P(sum)")
