"""Modes and subclasses that see PyTorch's own operators, below its functions. Here there is no such place: `opforge.overrides` sees the functions."""

from __future__ import annotations

import contextlib

from .._absent import absent_names

_REASON = "opforge has no dispatch below its functions; overrides.TorchFunctionMode sees them"
globals().update(absent_names(__name__, _REASON, functions="return_and_correct_aliasing transform_subclass", classes="TorchDispatchMode"))


def is_traceable_wrapper_subclass(t):
    """Whether a tensor is a wrapper that tracers look into: none is."""
    return False


is_traceable_wrapper_subclass_type = is_in_torch_dispatch_mode = lambda *args, **kwargs: False


def _get_current_dispatch_mode():
    """The mode that sees operators: none ever does."""
    return None


def _get_current_dispatch_mode_stack():
    """The modes that see operators: none."""
    return []


@contextlib.contextmanager
def _disable_current_modes():
    """A context without modes, as all are."""
    yield []
