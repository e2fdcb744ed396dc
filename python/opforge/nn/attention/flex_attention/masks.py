"""Masks as functions `(batch, head, query, key) -> bool`, and what is made of them."""

from __future__ import annotations

import inspect

from .... import _core
from .pointwise import evaluate


def noop_mask(batch, head, token_q, token_kv):
    """The mask that lets each query attend to each key."""
    return _core.ones_like(batch, dtype=_core.bool) & _core.ones_like(token_kv, dtype=_core.bool)


def _check_callable(functions):
    if not all(callable(function) for function in functions):
        raise RuntimeError(f"All inputs should be callable mask_mods: {functions}")


def and_masks(*mask_mods):
    """The mask that is true where all of these are."""
    _check_callable(mask_mods)

    def and_mask(b, h, q_idx, kv_idx):
        result = b.new_ones((), dtype=_core.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def or_masks(*mask_mods):
    """The mask that is true where one of these is."""
    _check_callable(mask_mods)

    def or_mask(b, h, q_idx, kv_idx):
        result = b.new_zeros((), dtype=_core.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def _is_score_mod(function):
    """Whether a function takes a score before the four numbers, of batch, head, query and key."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return False
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) == 5


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """The mask, or where a function of scores (which gets zeros) does not give minus infinity, as a tensor of bools of `(B, H, Q_LEN, KV_LEN)`. None for
    `B` or `H` is 1.

    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 3)[0, 0].tolist()
    [[True, False, False], [True, True, False]]
    """
    size = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    if _is_score_mod(mod_fn):
        return _core.isneginf(evaluate(mod_fn, size, _core.zeros(size, device=device))).logical_not()
    return mask_of(mod_fn, size, device)


def mask_of(mask_mod, size, device=None):
    """A mask's function as a tensor of bools of this size."""
    mask = evaluate(mask_mod, size, device=device)
    if mask.dtype is not _core.bool:
        raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
    return mask.expand(size)
