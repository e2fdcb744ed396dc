"""Attention of random shapes beside its definition in f64: strips of queries and blocks of keys begin and end anywhere."""

import random

import numpy as np
import pytest

import opforge as torch
from opforge.nn.functional import scaled_dot_product_attention

LENGTHS = [0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 48, 65, 130, 191, 192, 193, 250, 400]


def defined(q, k, v, mask, causal, scale):
    q, k, v = (t.numpy().astype(np.float64) for t in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask.numpy(), scores, -np.inf) if mask.dtype == torch.bool else scores + mask.numpy()
    if not scores.shape[-1]:
        return np.zeros((*scores.shape[:-1], v.shape[-1]))
    most = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(most), 0, most))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


def random_mask(choose, batch, heads, queries, keys, dtype):
    shape = [choose.choice([1, n]) if n else n for n in (batch, heads, queries, keys)][choose.choice([0, 2]) :]
    match choose.randrange(4):
        case 0:
            return None
        case 1:
            return torch.rand(*shape) > 0.4
        case 2:
            return (torch.rand(*shape[:-2], shape[-1], shape[-2]) > 0.4).transpose(-1, -2)
        case _:
            return torch.randn(*shape, dtype=dtype) * 3


@pytest.mark.parametrize("seed", range(200))
def test_random_shapes(seed):
    choose = random.Random(seed)
    torch.manual_seed(seed)
    batch, heads, queries, keys = choose.randrange(4), choose.choice([1, 2, 5]), choose.choice(LENGTHS), choose.choice(LENGTHS)
    width, size, dtype = choose.choice([1, 3, 8, 33]), choose.choice([1, 6, 13, 64]), choose.choice([torch.float32, torch.float64])
    shapes = [(batch, heads, queries, width), (batch, heads, keys, width), (batch, heads, keys, size)]
    q, k, v = (torch.randn(*shape, dtype=dtype) for shape in shapes)
    if choose.random() < 0.3:
        q = q.transpose(1, 2).contiguous().transpose(1, 2)
    causal, scale = choose.random() < 0.3, choose.choice([None, 0.3])
    mask = None if causal else random_mask(choose, batch, heads, queries, keys, dtype)
    result = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=scale)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-11
    np.testing.assert_allclose(result.numpy(), defined(q, k, v, mask, causal, scale), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("queries", [1, 2, 4, 5])
@pytest.mark.parametrize("masked", [False, True])
def test_few_queries_of_heads_that_share_keys(dtype, queries, masked):
    torch.manual_seed(queries)
    q, k, v = (torch.randn(*shape, dtype=dtype) for shape in ((2, 6, queries, 16), (2, 3, 300, 16), (2, 3, 300, 5)))
    mask = torch.rand(2, 6, queries, 300) > 0.5 if masked else None
    if masked:
        mask[0, 1, 0] = False
        v[0, 1, 7, 2] = float("nan")  # A weight of 0 does not hide it.
    result = scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    expected = defined(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1), mask, False, None)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-11
    np.testing.assert_allclose(result.numpy(), expected, rtol=tolerance, atol=tolerance)
