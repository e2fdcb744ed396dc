"""The class of tensors' shapes."""


class Size(tuple):
    """A shape: a tuple of lengths."""

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

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item
