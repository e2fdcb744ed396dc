"""Parts of PyTorch's `vmap`, which packages replace by theirs. That of `opforge.func` calls functions for each example, and has no such parts."""

from __future__ import annotations

from .._absent import absent_names
from .._C._functorch import _add_batch_dim, _remove_batch_dim  # noqa: F401
from .._core import Tensor  # noqa: F401
from ..func import vmap  # noqa: F401
from ..utils._pytree import tree_flatten, tree_unflatten  # noqa: F401

_FUNCTIONS = "_broadcast_to_and_flatten _create_batched_inputs _flat_vmap _maybe_remove_batch_dim _process_batched_inputs _unwrap_batched"
globals().update(absent_names(__name__, "opforge.func.vmap has no such part", functions=_FUNCTIONS))


def _get_name(func):
    """What errors call a function."""
    return getattr(func, "__name__", repr(func))
