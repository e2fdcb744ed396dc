"""Communication hooks of `nn.parallel.DistributedDataParallel`: `default_hooks`, and their names as an enumeration."""

from __future__ import annotations

import enum
import functools

from . import default_hooks

__all__ = ["DDPCommHookType", "default_hooks", "register_ddp_comm_hook"]


class DDPCommHookType(enum.Enum):
    """Communication hooks by name."""

    ALLREDUCE = functools.partial(default_hooks.allreduce_hook)
    FP16_COMPRESS = functools.partial(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = functools.partial(default_hooks.bf16_compress_hook)


def register_ddp_comm_hook(comm_hook_type, model, state=None):
    """`model.register_comm_hook(state, ..)` with a hook of DDPCommHookType. Raises TypeError for others.

    >>> register_ddp_comm_hook(DDPCommHookType.BF16_COMPRESS, model)  # doctest: +SKIP
    """
    if not isinstance(comm_hook_type, DDPCommHookType):
        raise TypeError(f"register_ddp_comm_hook: comm_hook_type={comm_hook_type!r}, expected one of DDPCommHookType")
    model.register_comm_hook(state, comm_hook_type.value)
