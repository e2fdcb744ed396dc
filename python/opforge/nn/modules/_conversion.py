"""What the arguments of `Module.to` ask for."""

from __future__ import annotations

from ... import _core as _C
from ..._tensors.layouts import memory_format as MemoryFormat

_ACCEPTED = "accepted: a device, a dtype, both, or a tensor that has them; then non_blocking, and memory_format by its name"


def parse_to(*args, device=None, dtype=None, non_blocking=False, tensor=None, other=None, memory_format=None, **unknown):
    """The device, the dtype, whether the program would rather not wait, and the order of elements; what is not asked for is None.

    Raises TypeError for other arguments.
    """
    if unknown:
        raise TypeError(f"to(): unknown argument {next(iter(unknown))!r} ({_ACCEPTED})")
    args = [argument for argument in (*args, tensor, other) if argument is not None]
    for argument in args:
        if isinstance(argument, _C.Tensor):
            device, dtype = argument.device, argument.dtype
        elif isinstance(argument, _C.dtype):
            dtype = argument
        elif isinstance(argument, bool):
            non_blocking = argument
        elif isinstance(argument, (str, int, _C.device)):
            device = argument
        else:
            raise TypeError(f"to(): {type(argument).__name__} ({_ACCEPTED})")
    if memory_format is not None and not isinstance(memory_format, MemoryFormat):
        raise TypeError(f"to(): memory_format {memory_format!r} (accepted: a memory_format)")
    return None if device is None else _C.device(device), dtype, non_blocking, memory_format
