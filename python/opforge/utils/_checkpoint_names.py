"""What programs name around `checkpoint` besides it: settings of ways that PyTorch has, states of devices, and what is not there."""

from __future__ import annotations

import enum
import warnings
from contextlib import contextmanager, nullcontext

from .. import _core
from .._absent import absent_class, absent_function
from ._pytree import tree_leaves

_SELECTIVE = "what single operators compute is not kept apart; checkpoint the parts that are to be computed again"


class CheckpointPolicy(enum.Enum):
    """What PyTorch's selective checkpoints do with an operator's result."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


SelectiveCheckpointContext = absent_class("torch.utils.checkpoint.SelectiveCheckpointContext", _SELECTIVE)
GraphExecGroup = absent_class("torch.utils.checkpoint.GraphExecGroup", "a backward in several parts needs no group here")
create_selective_checkpoint_contexts = absent_function("torch.utils.checkpoint.create_selective_checkpoint_contexts", _SELECTIVE)
SAC_IGNORED_OPS = set()


def noop_context_fn():
    """Two contexts that change nothing: the `context_fn` of checkpoints without one."""
    return nullcontext(), nullcontext()


class DefaultDeviceType:
    """The type of devices whose random numbers PyTorch's checkpoints keep. It is remembered only: here one generator serves all devices."""

    _name = "cuda"

    @staticmethod
    def set_device_type(device="cuda"):
        """Remembers a type of devices."""
        DefaultDeviceType._name = device

    @staticmethod
    def get_device_type():
        """The type that was set last, "cuda" at first."""
        return DefaultDeviceType._name


def get_device_states(*args):
    """The numbers of the CUDA devices on which there are tensors among (containers of) the arguments, and the states of their random numbers."""
    devices = sorted({x.get_device() for x in tree_leaves(args) if isinstance(x, _core.Tensor) and x.is_cuda})
    return devices, [_core.get_rng_state() for _ in devices]


def set_device_states(devices, states, *, device_type=None):
    """Sets the states of random numbers of CUDA devices; those of all are one, so the last holds. DeviceAbsentError, a RuntimeError, where there is no such device."""
    from ..cuda.random import set_rng_state

    for device, state in zip(devices, states):
        set_rng_state(state, device)


def detach_variable(inputs):
    """Leaves with the elements of these tensors, which need gradients as they do; what is no tensor stays."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, _core.Tensor) else x for x in inputs)


def check_backward_validity(inputs):
    """Warns if no input needs a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, _core.Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


@contextmanager
def set_checkpoint_early_stop(enable):
    """A block in which second runs stop, or do not, once all that backward needs is there. They run to their end here, which only takes longer."""
    yield


@contextmanager
def set_checkpoint_debug_enabled(enabled):
    """A block in which `checkpoint(debug=..)` is overridden, which changes nothing here: messages name the function's outputs anyway."""
    yield
