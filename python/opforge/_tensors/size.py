"""The class of tensors' shapes."""

from .._core import _Shape


class Size(_Shape):
    """A shape: a tuple of lengths, of which a slice is a shape too."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        product = 1
        for length in self:
            product *= length
        return product

    def __repr__(self) -> str:
        return f"Size({list(self)})"

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))
