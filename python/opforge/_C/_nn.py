"""`nn.functional` under the name that PyTorch's extension module has for it."""

from __future__ import annotations

from ..nn import functional


def _parse_to(*args, **kwargs):
    """The arguments of `Tensor.to`: device, dtype, whether to wait, and the memory format, or None for each."""
    from ..nn.modules import module

    return (*module._parse_to(*args, **kwargs), bool(kwargs.get("non_blocking", False)), kwargs.get("memory_format"))


def __getattr__(name):
    return getattr(functional, name)
