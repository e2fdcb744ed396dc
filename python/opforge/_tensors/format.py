"""Tensors in formatted text: `f"{loss:.3f}"`."""

from __future__ import annotations

from .. import _core


def _format(self, spec):
    """Of a tensor without dimensions its number in that format; of others the tensor's text, which takes no format."""
    is_number = self.dim() == 0 and str(self.device) != "meta" and type(self) is _core.Tensor
    return format(self.item(), spec) if is_number else object.__format__(self, spec)


_core.Tensor.__format__ = _format
