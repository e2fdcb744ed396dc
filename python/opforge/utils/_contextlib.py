"""Contexts that are decorators too, under the name of the file that PyTorch has them in."""

from __future__ import annotations

from ..autograd.grad_mode import _Mode as _DecoratorContextManager

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager"]


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context that decorates with and without parentheses."""

    def __new__(cls, orig_func=None):
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)
