"""Branches and loops as functions."""

from __future__ import annotations

from .. import _core as _C


def cond(pred, true_fn, false_fn, operands=()):
    """`true_fn(*operands)` if `pred`, a bool or a tensor with one element, is true, else `false_fn(*operands)`. Only that one runs. As with `if`, a
    function that decides by a tensor's elements is not compiled to a graph."""
    if not isinstance(pred, (int, _C.Tensor)) or (isinstance(pred, _C.Tensor) and pred.numel() != 1):
        raise RuntimeError(f"cond: expected pred to be a bool or a tensor with one element, but got {pred}")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond: expected both branches to be callable")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"cond: expected operands to be a tuple or a list, but got {type(operands).__name__}")
    return (true_fn if bool(pred) else false_fn)(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """What `carried_inputs`, a tuple, has become after `carried = body_fn(*carried)` as long as `cond_fn(*carried)` is true; one tensor where
    `body_fn` returns one that is in no tuple."""
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"while_loop: expected carried_inputs to be a tuple or a list, but got {type(carried_inputs).__name__}")
    result = carried = tuple(carried_inputs)
    while _is_true(cond_fn(*carried)):
        result = body_fn(*carried)
        following = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        if len(following) != len(carried):
            raise RuntimeError(f"while_loop: body_fn returned {len(following)} values, expected {len(carried)}: one for each carried input")
        carried = following
    return result


def _is_true(answer):
    if not isinstance(answer, bool) and not (isinstance(answer, _C.Tensor) and answer.numel() == 1):
        raise RuntimeError(f"while_loop: cond_fn must return a bool or a tensor with one element, but got {answer}")
    return bool(answer)
