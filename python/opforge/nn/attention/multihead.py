"""Multi-head attention as a function (Vaswani et al., 2017)."""

from __future__ import annotations

import math

from ... import _core as _C
from .. import functional as F


def additive_mask(mask, name, dtype):
    """A mask to be added to the scores: minus infinity where a boolean one is true, and itself if it is of floats."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype != _C.bool:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return _C.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)


def _project(query, key, value, weights, bias):
    """Queries, keys and values by their three weights; `weights` is one matrix of all of them or a list."""
    if query is key and key is value and isinstance(weights, _C.Tensor):
        return F.linear(query, weights, bias).chunk(3, -1)
    weights = weights.chunk(3) if isinstance(weights, _C.Tensor) else weights
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]


def _check_shapes(query, key, value, embed_dim, num_heads, key_padding_mask):
    if query.dim() not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor")
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError(f"For {query.dim()}-D `query`, expected `key` and `value` to be so too, found {key.dim()}-D and {value.dim()}-D")
    if query.size(-1) != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {query.size(-1)}")
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if tuple(key.shape[:-1]) != tuple(value.shape[:-1]):
        raise AssertionError(f"key's sequence and batch dims {tuple(key.shape[:-1])} do not match value's {tuple(value.shape[:-1])}")
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(f"Expected `key_padding_mask` to be {query.dim() - 1}-D but got {key_padding_mask.dim()}-D")


def _check_masks(attn_mask, key_padding_mask, batch, num_heads, length, source):
    if key_padding_mask is not None and tuple(key_padding_mask.shape) != (batch, source):
        raise AssertionError(f"key_padding_mask: a tensor of shape {tuple(key_padding_mask.shape)}, expected {(batch, source)}")
    if attn_mask is None:
        return
    expected = {2: (length, source), 3: (batch * num_heads, length, source)}
    if tuple(attn_mask.shape) != expected.get(attn_mask.dim()):
        kind = RuntimeError if attn_mask.dim() in expected else AssertionError
        raise kind(f"attn_mask: a tensor of shape {tuple(attn_mask.shape)}, expected {expected[2]} or {expected[3]}")


def multi_head_attention_forward(
    query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p,
    out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None,
    use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None,
    average_attn_weights=True, is_causal=False,
):  # fmt: skip
    """Attention of `(L, N, E)` queries to `(S, N, E)` keys and values, or all without the batch `N`: the output and the weights.

    `key_padding_mask` is `(N, S)`, `attn_mask` `(L, S)` or `(N * num_heads, L, S)`; true, or added minus infinity, means not to attend.
    `is_causal` says that `attn_mask` is the causal mask. Weights are `(N, L, S)` or, not averaged, `(N, num_heads, L, S)`, and None unless
    needed, which is faster.
    """
    _check_shapes(query, key, value, embed_dim_to_check, num_heads, key_padding_mask)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    batched = query.dim() == 3
    if not batched:
        same = query is key and key is value
        query = query.unsqueeze(1)
        key, value = (query, query) if same else (key.unsqueeze(1), value.unsqueeze(1))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    weights = [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else in_proj_weight
    q, k, v = _project(query, key, value, weights, in_proj_bias)
    length, batch, embed = q.shape
    causal = is_causal and key_padding_mask is None and not need_weights
    _check_masks(None if causal else attn_mask, key_padding_mask, batch, num_heads, length, k.size(0))
    mask = None if causal else _merged_mask(attn_mask, key_padding_mask, batch, num_heads, q.dtype)
    if bias_k is not None:
        k = _C.cat([k, bias_k.expand(1, batch, -1)])
        v = _C.cat([v, bias_v.expand(1, batch, -1)])

    def heads(x):
        return x.reshape(x.size(0), batch, num_heads, x.size(-1) // num_heads).permute(1, 2, 0, 3)

    q = heads(q)
    k = heads(k) if static_k is None else static_k.view(batch, num_heads, *static_k.shape[1:])
    v = heads(v) if static_v is None else static_v.view(batch, num_heads, *static_v.shape[1:])
    if add_zero_attn:
        k, v = (F.pad(x, (0, 0, 0, 1)) for x in (k, v))
    if mask is not None and mask.size(-1) < k.size(-2):  # the keys that were added may be attended to
        mask = F.pad(mask, (0, k.size(-2) - mask.size(-1)))
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        output, attention = _attend(q, k, v, mask, dropout_p)
        attention = attention.mean(1) if average_attn_weights else attention
    else:
        output, attention = F.scaled_dot_product_attention(q, k, v, mask, dropout_p, causal), None
    output = F.linear(output.permute(2, 0, 1, 3).reshape(length, batch, embed), out_proj_weight, out_proj_bias)
    if not batched:
        output, attention = output.squeeze(1), None if attention is None else attention.squeeze(0)
    return output, attention


def _merged_mask(attn_mask, key_padding_mask, batch, num_heads, dtype):
    """The sum of both masks, `(N or 1, heads or 1, L or 1, S)`."""
    attn_mask = additive_mask(attn_mask, "attn_mask", dtype)
    key_padding_mask = additive_mask(key_padding_mask, "key_padding_mask", dtype)
    if attn_mask is not None:
        shape = (batch, num_heads, *attn_mask.shape[1:]) if attn_mask.dim() == 3 else (1, 1, *attn_mask.shape)
        attn_mask = attn_mask.reshape(shape)
    if key_padding_mask is None:
        return attn_mask
    key_padding_mask = key_padding_mask[:, None, None, :]
    return key_padding_mask if attn_mask is None else attn_mask + key_padding_mask


def _attend(q, k, v, mask, dropout_p):
    scores = (q * (1 / math.sqrt(q.size(-1)))).matmul(k.transpose(-2, -1))
    attention = F.softmax(scores if mask is None else scores + mask, -1)
    attention = F.dropout(attention, dropout_p) if dropout_p > 0 else attention
    return attention.matmul(v), attention
