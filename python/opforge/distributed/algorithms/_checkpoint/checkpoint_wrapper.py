"""Modules whose outputs are computed again in backward instead of kept."""

from __future__ import annotations

import enum
import functools

from ...._absent import absent_names
from ....nn import Module
from ....utils.checkpoint import checkpoint
from ... import _REASON

__all__ = ["CheckpointImpl", "CheckpointWrapper", "apply_activation_checkpointing", "checkpoint_wrapper"]

_PREFIX = "_checkpoint_wrapped_module."
globals().update(absent_names(__name__, _REASON, functions="offload_wrapper", classes="OffloadWrapper"))


class CheckpointImpl(enum.Enum):
    """How outputs are computed again: both ways are the same here."""

    REENTRANT, NO_REENTRANT = range(1, 3)


class ActivationWrapper(Module):
    """A module around another, whose members and state are the other's."""

    def __init__(self, mod):
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_prefix)
        self.register_load_state_dict_pre_hook(_with_prefix)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key):
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args, **kwargs):
        """As without the wrapper."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), parameter


def _without_prefix(module, state, prefix, *args):
    for name in [name for name in state if name.startswith(prefix + _PREFIX)]:
        state[prefix + name[len(prefix + _PREFIX) :]] = state.pop(name)


def _with_prefix(module, state, prefix, *args):
    for name in [name for name in state if name.startswith(prefix)]:
        state[prefix + _PREFIX + name[len(prefix) :]] = state.pop(name)


class CheckpointWrapper(ActivationWrapper):
    """A module whose outputs are computed again in backward."""

    def __init__(self, mod, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        options = checkpoint_fn_kwargs if checkpoint_fn else {"use_reentrant": checkpoint_impl is CheckpointImpl.REENTRANT, **checkpoint_fn_kwargs}
        self.checkpoint_fn = functools.partial(checkpoint_fn or checkpoint, **options)

    def forward(self, *args, **kwargs):
        """The module's output."""
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


def checkpoint_wrapper(module, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
    """The module with its outputs computed again in backward."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(model, checkpoint_wrapper_fn=checkpoint_wrapper, check_fn=lambda _: True, auto_wrap_policy=None):
    """Wraps, in place, the modules within a model for which `check_fn` holds; inner ones first.

    Raises NotImplementedError for an `auto_wrap_policy`.
    """
    if auto_wrap_policy is not None:
        raise NotImplementedError("apply_activation_checkpointing: auto_wrap_policy (accepted: check_fn)")
    for name, child in list(model.named_children()):
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn)
        if check_fn(child):
            setattr(model, name, checkpoint_wrapper_fn(child))
