"""Whether a cell's arguments are what `set_inputs` declared."""

from __future__ import annotations

from ..tensor import DynamicTensor, Tensor

_ANY_RANK = (-2,)


def check_kind(position, declared):
    """Raises `TypeError` for a declaration that is no tensor, tuple or list of them, or None."""
    if isinstance(declared, (tuple, list)):
        for item in declared:
            check_kind(position, item)
    elif declared is not None and not isinstance(declared, (Tensor, DynamicTensor, int, float, bool)):
        raise TypeError(f"set_inputs: input {position} must be a Tensor, a number or None, not {type(declared).__name__}")


def check_inputs(declared, args):
    """Raises `ValueError` for another number or shape of arguments than declared, `TypeError` for another kind or dtype."""
    if len(args) != len(declared):
        raise ValueError(f"set_inputs declared {len(declared)} inputs, but {len(args)} were given")
    for i, (declaration, given) in enumerate(zip(declared, args)):
        _check((i,), declaration, given)


def _check(place, declared, given):
    if isinstance(declared, (tuple, list)):
        if not isinstance(given, (tuple, list)) or len(given) != len(declared):
            raise TypeError(f"{_name(place)}: {type(given).__name__} (accepted: {len(declared)} tensors, as set_inputs declared)")
        for i, (declaration, item) in enumerate(zip(declared, given)):
            _check((*place, i), declaration, item)
    elif isinstance(declared, (Tensor, DynamicTensor)):
        _check_tensor(place, declared, given)


def _check_tensor(place, declared, given):
    if not isinstance(given, Tensor):
        raise TypeError(f"{_name(place)}: a {type(given).__name__} (accepted: a Tensor, as set_inputs declared)")
    if given.dtype is not declared.dtype:
        raise TypeError(f"{_name(place)}: {given.dtype} (accepted: {declared.dtype}, as set_inputs declared)")
    if declared.shape != _ANY_RANK and not _fits(declared.shape, given.shape):
        raise ValueError(f"{_name(place)}: shape {given.shape} (accepted: {declared.shape}, as set_inputs declared; -1 is any size)")


def _fits(declared, shape) -> bool:
    if len(declared) != len(shape):
        return False
    for size, actual in zip(declared, shape):
        if size != actual and size != -1:
            return False
    return True


def _name(place) -> str:
    """`input 1`, or for its item 2 `input 1[2]`."""
    return f"input {place[0]}" + "".join(f"[{i}]" for i in place[1:])
