"""Custom operators under the names that PyTorch has: see `opforge.custom_op`."""

from .custom import CustomOp as CustomOpDef
from .custom import custom_op

__all__ = ["CustomOpDef", "custom_op", "register_autograd", "register_fake"]


def register_fake(op, func=None, /):
    """Declares what a custom operator gives for tensors on the device "meta"; also as a decorator."""
    return op.register_fake if func is None else op.register_fake(func)


def register_autograd(op, backward, /, *, setup_context=None):
    """Declares a custom operator's gradient."""
    op.register_autograd(backward, setup_context=setup_context)
