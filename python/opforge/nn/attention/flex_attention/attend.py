"""`flex_attention`: attention whose scores a function changes."""

from __future__ import annotations

import math
from typing import NamedTuple

from .... import _core
from ...functional import scaled_dot_product_attention
from .pointwise import evaluate


class AuxRequest(NamedTuple):
    """What is wanted besides the output: the logarithms of the sums of exponentials, the largest scores."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was wanted besides the output, None if it was not."""

    lse: object = None
    max_scores: object = None


def flex_attention(
    query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None, *, return_aux=None
):
    """Attention of queries `(B, Hq, L, E)` to keys `(B, Hkv, S, E)` and values `(B, Hkv, S, Ev)`: `softmax(mod(q kᵀ scale)) v`, of `(B, Hq, L, Ev)`.

    `score_mod(score, batch, head, query, key)` gives a score from a score and the numbers of its place; gradients flow through it, to tensors that it
    captures too. `block_mask`, a `BlockMask`, says which keys a query attends to; a query without any has zeros. `scale` is `1 / sqrt(E)` unless given.
    With `enable_gqa`, several query heads share one of keys; keys of one batch may be shared by all. `return_lse` adds the logarithm of the sum of the
    exponentials of the scores, `(B, Hq, L)`; `return_aux` names what else is wanted. `kernel_options` are for other devices' kernels.

    With `score_mod` or `return_lse` all scores are in memory at once, `B Hq L S` of them in float32 (float64 for that), and masked blocks save no time. The
    function is tried at some places first (see `pointwise.py`), so that compiled functions that call this run as they are.

    >>> q = k = v = opforge.ones(1, 1, 3, 4)
    >>> flex_attention(q, k, v, score_mod=lambda score, b, h, q, kv: score - (q - kv).abs()).shape
    Size([1, 1, 3, 4])
    """
    _check(query, key, value, block_mask, enable_gqa)
    size = (*query.shape[:3], key.shape[2])
    mask = None if block_mask is None else _allowed(block_mask, size)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if score_mod is None and not return_lse and return_aux is None:
        key, value = (x.expand(size[0], *x.shape[1:]).to(query.dtype) for x in (key, value))
        return scaled_dot_product_attention(query, key, value, None if mask is None else mask.expand(size), scale=scale)
    precision = _core.float64 if query.dtype is _core.float64 else _core.float32
    scores = query.to(precision) @ key.to(precision).transpose(-2, -1) * scale
    if score_mod is not None:
        scores = evaluate(score_mod, size, scores).expand(size).to(precision)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    output = (_softmax(scores) @ value.to(precision)).to(query.dtype)
    if return_aux is not None:
        return output, _aux(scores, return_aux)
    return (output, scores.logsumexp(-1)) if return_lse else output


def _softmax(scores):
    """The weights; zeros for a query that attends to nothing."""
    is_nothing = _core.isneginf(scores).all(-1, keepdim=True)
    return scores.masked_fill(is_nothing, 0.0).softmax(-1).masked_fill(is_nothing, 0.0)


def _aux(scores, request):
    return AuxOutput(scores.logsumexp(-1) if request.lse else None, scores.amax(-1) if request.max_scores else None)


def _check(query, key, value, block_mask, enable_gqa):
    """An error if the arguments do not fit each other."""
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"Expect query and key/value to have the same embedding dimension but got E={query.shape[-1]} and E={key.shape[-1]}.")
    (batch, heads), (key_batch, key_heads) = query.shape[:2], key.shape[:2]
    if tuple(value.shape[:3]) != tuple(key.shape[:3]):
        raise ValueError(f"Expect key and value to have the same batch, heads and length but got {tuple(key.shape[:3])} and {tuple(value.shape[:3])}.")
    if batch != key_batch and (block_mask is None or key_batch != 1):
        raise ValueError(
            f"Expect query and key/value to have the same batch size, or non-none block_mask, but got block_mask={block_mask}, Bq={batch}, and Bkv={key_batch}."
        )
    if heads != key_heads and not enable_gqa:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={key_heads}. Try setting enable_gqa=True for GQA."
        )
    if heads % max(key_heads, 1):
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={key_heads}.")


def _allowed(block_mask, size):
    """The places that the mask lets be attended to, broadcastable to the size of the scores."""
    length, keys = block_mask.seq_lengths
    if length < size[2] or keys < size[3]:
        raise RuntimeError(
            f"block_mask was created for {length} queries and {keys} keys, fewer than there are, {size[2]} and {size[3]}: create a new block mask"
        )
    if (length, keys) != tuple(size[2:]):
        raise RuntimeError(
            f"block_mask was created for {length} queries and {keys} keys, more than there are, {size[2]} and {size[3]}: create a new block mask, or "
            "use block_mask._adjust(q_len, kv_len)"
        )
    for name, own, given in zip(("B", "H"), block_mask.shape, size):
        if own not in (1, given):
            raise ValueError(f"block_mask was created for {name}={own}, but got {name}={given}")
    return block_mask.allowed(*block_mask.shape[:2])
