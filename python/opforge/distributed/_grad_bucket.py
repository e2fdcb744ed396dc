"""Gradients that travel together, as communication hooks see them."""

from __future__ import annotations

from .. import _core


class GradBucket:
    """What a communication hook gets: the gradients of several parameters, as a vector."""

    def __init__(self, bucket, flat):
        self._bucket, self._flat = bucket, flat

    def index(self) -> int:
        """The bucket's number: calls begin in this order."""
        return self._bucket.index

    def buffer(self):
        """The vector of all gradients, which the hook may change."""
        return self._flat

    def set_buffer(self, buffer):
        """Puts another vector of as many elements in its place."""
        if buffer.numel() != self._flat.numel():
            raise _core.ShapeError(f"GradBucket.set_buffer: buffer has {buffer.numel()} elements, expected {self._flat.numel()}")
        self._flat = buffer

    def gradients(self):
        """The gradients, views of the vector with the parameters' shapes."""
        return self._bucket.split(self._flat)

    def parameters(self):
        """The parameters whose gradients these are."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Whether no bucket comes after this one."""
        return self._bucket.is_last
