"""What packages ask of tensors inside of PyTorch's transforms. Those of `opforge.func` call functions with plain tensors, so no tensor is a wrapper."""

from __future__ import annotations

from .._absent import absent_names


def is_batchedtensor(tensor):
    """Whether a tensor stands for a batch, as inside of PyTorch's `vmap`: none does."""
    return False


is_legacy_batchedtensor = is_gradtrackingtensor = is_functionaltensor = is_functorch_wrapped_tensor = is_batchedtensor


def maybe_get_level(tensor):
    """How deep in transforms a tensor is wrapped: -1, not at all."""
    return -1


def maybe_get_bdim(tensor):
    """The dimension of the batch that a tensor stands for: -1, none."""
    return -1


def get_unwrapped(tensor):
    """What a wrapper wraps: RuntimeError, as there are none."""
    raise RuntimeError("get_unwrapped: tensor is no wrapper; no tensor of opforge is")


_REASON = "opforge.func has no wrappers of tensors"
_FUNCTIONS = "_add_batch_dim _remove_batch_dim _unwrap_batched _vmap_decrement_nesting _vmap_increment_nesting _wrap_for_grad _unwrap_for_grad"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS))
