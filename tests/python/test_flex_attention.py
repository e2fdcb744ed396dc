"""Attention with functions of scores and masks, against its definition in numpy."""

import itertools
import math

import numpy as np
import pytest

import opforge as torch
import opforge.nn.functional as F
from opforge.nn.attention import SDPBackend, sdpa_kernel
from opforge.nn.attention.bias import CausalBias, causal_lower_right, causal_upper_left
from opforge.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)

SIZE = B, H, L, S = 2, 3, 6, 5
RNG = np.random.default_rng(0)
BIAS, TABLE, DOC = RNG.standard_normal(H), RNG.standard_normal((H, L, S)), RNG.integers(0, 2, (B, 8))
T_BIAS, T_TABLE, T_DOC = torch.from_numpy(BIAS), torch.from_numpy(TABLE), torch.from_numpy(DOC)


def inputs(*lengths, width=4):
    return [torch.from_numpy(RNG.standard_normal((B, H, length, width))) for length in lengths]


def defined(q, k, v, score=lambda s, *_: s, mask=lambda *_: True, scale=None):
    """Output and logarithms of sums by the definition, place by place."""
    q, k, v = (x.detach().numpy() for x in (q, k, v))
    scores = np.einsum("bhqe,bhke->bhqk", q, k) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    for place in itertools.product(*map(range, scores.shape)):
        scores[place] = score(scores[place], *place) if mask(*place) else -np.inf
    weights = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e300))
    total = weights.sum(-1, keepdims=True)
    output = np.einsum("bhqk,bhke->bhqe", np.divide(weights, total, out=np.zeros_like(weights), where=total > 0), v)
    with np.errstate(divide="ignore"):
        return output, np.log(np.exp(scores).sum(-1))


# Functions of opforge's tensors, and the same of numbers.
SCORES = {
    "positions": (lambda s, b, h, i, j: s + i - j, lambda s, b, h, i, j: s + i - j),
    "table": (lambda s, b, h, i, j: s + T_TABLE[h, i, j], lambda s, b, h, i, j: s + TABLE[h, i, j]),
    "one index after the other": (lambda s, b, h, i, j: s + T_TABLE[h][i][j], lambda s, b, h, i, j: s + TABLE[h, i, j]),
    "capped": (lambda s, b, h, i, j: 2 * torch.tanh(s / 2), lambda s, b, h, i, j: 2 * np.tanh(s / 2)),
    "where": (lambda s, b, h, i, j: torch.where(i >= j, s, -math.inf), lambda s, b, h, i, j: s if i >= j else -np.inf),
    "sum of a row": (lambda s, b, h, i, j: s * T_TABLE[h, i].sum(), lambda s, b, h, i, j: s * TABLE[h, i].sum()),
    "condition": (lambda s, b, h, i, j: s * 2 if i > j else s, lambda s, b, h, i, j: s * 2 if i > j else s),
    "float": (lambda s, b, h, i, j: s * torch.exp2(-(h + 1.0)), lambda s, b, h, i, j: s * 2.0 ** -(h + 1)),
}
MASKS = {
    "causal": (lambda b, h, i, j: i >= j, lambda b, h, i, j: i >= j),
    "documents": (lambda b, h, i, j: T_DOC[b, i] == T_DOC[b, j], lambda b, h, i, j: DOC[b, i] == DOC[b, j]),
    "documents, one after the other": (lambda b, h, i, j: T_DOC[b][i] == T_DOC[b][j], lambda b, h, i, j: DOC[b, i] == DOC[b, j]),
    "and": (and_masks(lambda b, h, i, j: i >= j, lambda b, h, i, j: h > 0), lambda b, h, i, j: i >= j and h > 0),
    "or": (or_masks(lambda b, h, i, j: i >= j, lambda b, h, i, j: j < 2), lambda b, h, i, j: i >= j or j < 2),
    "everything": (noop_mask, lambda b, h, i, j: True),
    "nothing": (lambda b, h, i, j: i > 100, lambda b, h, i, j: False),
}


@pytest.mark.parametrize("name", SCORES)
def test_scores(name):
    ours, numbers = SCORES[name]
    q, k, v = inputs(L, S, S)
    output, lse = flex_attention(q, k, v, score_mod=ours, return_lse=True)
    expected, sums = defined(q, k, v, numbers)
    np.testing.assert_allclose(output.numpy(), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(lse.numpy(), sums, rtol=1e-10)


@pytest.mark.parametrize("block", [2, (4, 3), 128])
@pytest.mark.parametrize("name", MASKS)
def test_masks(name, block):
    ours, places = MASKS[name]
    q, k, v = inputs(L, S, S)
    mask = create_block_mask(ours, B, H, L, S, BLOCK_SIZE=block)
    expected, sums = defined(q, k, v, mask=places, scale=0.3)
    np.testing.assert_allclose(flex_attention(q, k, v, block_mask=mask, scale=0.3).numpy(), expected, rtol=1e-10, atol=1e-12)
    output, lse = flex_attention(q, k, v, block_mask=mask, scale=0.3, return_lse=True)
    np.testing.assert_allclose(output.numpy(), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(lse.numpy(), sums, rtol=1e-10)
    dense = create_mask(ours, B, H, L, S).numpy()
    assert dense.shape == SIZE and all(dense[place] == places(*place) for place in itertools.product(*map(range, SIZE)))
    rows, columns = mask.BLOCK_SIZE
    for b, h, i, j in itertools.product(*map(range, mask.to_dense().shape)):
        part = dense[b, h, i * rows : (i + 1) * rows, j * columns : (j + 1) * columns]
        assert mask.to_dense()[b, h, i, j].item() == part.any()


def test_gradients():
    q, k, v = (x[:1, :2].requires_grad_() for x in inputs(3, 4, 4, width=2))
    table = torch.from_numpy(TABLE[:2, :3, :4].copy()).requires_grad_()
    mask = create_block_mask(lambda b, h, i, j: i + 1 >= j, None, None, 3, 4)

    def attend(q, k, v, table):
        return flex_attention(q, k, v, lambda s, b, h, i, j: torch.tanh(s) * table[h, i, j], mask, return_lse=True)

    assert torch.autograd.gradcheck(attend, (q, k, v, table))
    assert torch.autograd.gradcheck(lambda q, k, v: flex_attention(q, k, v, block_mask=mask), (q, k, v))


def test_shared_heads_and_batches():
    q = torch.from_numpy(RNG.standard_normal((B, 6, L, 4)))
    k, v = inputs(S, S)
    output = flex_attention(q, k, v, lambda s, b, h, i, j: s + h * j, enable_gqa=True)
    twice = [x.repeat_interleave(2, 1) for x in (k, v)]
    expected, _ = defined(q, *twice, lambda s, b, h, i, j: s + h * j)
    np.testing.assert_allclose(output.numpy(), expected, rtol=1e-10)
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, L, S)
    shared = flex_attention(q[:, :3], k[:1], v[:1], block_mask=mask)
    expected, _ = defined(q[:, :3], *(x[:1].expand(B, *x.shape[1:]) for x in (k, v)), mask=lambda b, h, i, j: i >= j)
    np.testing.assert_allclose(shared.numpy(), expected, rtol=1e-10)


def test_lower_precisions_and_what_else_is_wanted():
    q, k, v = inputs(L, S, S)
    output, aux = flex_attention(q.half(), k.half(), v.half(), return_aux=AuxRequest(max_scores=True))
    assert output.dtype is torch.float16 and aux.lse is None and aux.max_scores.dtype is torch.float32
    np.testing.assert_allclose(output.float().numpy(), defined(q, k, v)[0], atol=5e-3)
    assert flex_attention(*inputs(0, S, S)).shape == (B, H, 0, 4)


def test_many_places():
    """More than are tried, where the function of places one by one would be too slow."""
    mask = create_block_mask(lambda b, h, i, j: T_DOC[b][i % 8] == T_DOC[b][j % 8], B, None, 130, 70, BLOCK_SIZE=32)
    doc = torch.from_numpy(DOC)
    expected = doc[:, torch.arange(130) % 8][:, :, None] == doc[:, torch.arange(70) % 8][:, None]
    assert torch.equal(mask.allowed(B, 1)[:, 0], expected)


def test_block_masks():
    mask = create_block_mask(lambda b, h, i, j: i >= j, 2, 3, 200, 130, BLOCK_SIZE=64)
    assert mask.shape == (2, 3, 200, 130) and mask.numel() == 2 * 3 * 200 * 130 and mask.sparsity() == 25.0
    assert mask.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 1]]
    assert mask.kv_num_blocks[0, 0].tolist() == [1, 1, 1, 3] and mask.kv_indices[0, 0, 1].tolist() == [1, 0, 2]
    assert mask.full_kv_num_blocks[0, 0].tolist() == [0, 1, 2, 0] and mask.q_num_blocks[0, 0].tolist() == [2, 2, 2]
    assert mask[0].shape == (1, 3, 200, 130) and mask[:, 1:].shape == (2, 2, 200, 130) and mask[-1, -1].shape == (1, 1, 200, 130)
    assert "██" in str(mask[0, 0]) and "sparsity=25.00%" in repr(mask)
    shorter = mask._adjust(70, 60)
    assert shorter.shape == (2, 3, 70, 60) and shorter.to_dense()[0, 0].tolist() == [[1], [1]]


def test_masks_of_given_blocks():
    count, indices = torch.tensor([[[1, 2]]], dtype=torch.int32), torch.tensor([[[[1, 0], [0, 1]]]], dtype=torch.int32)
    mask = BlockMask.from_kv_blocks(count, indices, BLOCK_SIZE=2)
    q, k, v = inputs(4, 4, 4)
    expected, _ = defined(q, k, v, mask=lambda b, h, i, j: i >= 2 or j >= 2)
    np.testing.assert_allclose(flex_attention(q, k, v, block_mask=mask).numpy(), expected, rtol=1e-10)
    assert mask.q_num_blocks.tolist() == [[[1, 2]]] and mask.q_indices[0, 0].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    "error, match, call",
    [
        (NotImplementedError, "4D", lambda q, k: flex_attention(q[0], k[0], k[0])),
        (ValueError, "number of heads", lambda q, k: flex_attention(q[:, :1], k, k)),
        (ValueError, "multiple of kv heads", lambda q, k: flex_attention(q, k[:, :2], k[:, :2], enable_gqa=True)),
        (ValueError, "embedding dimension", lambda q, k: flex_attention(q, k[..., :2], k)),
        (ValueError, "batch size", lambda q, k: flex_attention(q, k[:1], k[:1])),
        (RuntimeError, "fewer than", lambda q, k: flex_attention(q, k, k, block_mask=create_block_mask(noop_mask, 1, 1, 2, S))),
        (RuntimeError, "_adjust", lambda q, k: flex_attention(q, k, k, block_mask=create_block_mask(noop_mask, 1, 1, 9, S))),
        (ValueError, "H=2", lambda q, k: flex_attention(q, k, k, block_mask=create_block_mask(noop_mask, 1, 2, L, S))),
        (AssertionError, "torch.bool", lambda q, k: create_block_mask(lambda b, h, i, j: i + j, None, None, 2, 2)),
        (RuntimeError, "callable", lambda q, k: and_masks(noop_mask, 3)),
        (AssertionError, "CausalVariant", lambda q, k: CausalBias(1, 2, 3)),
        (AssertionError, "SDPBackend", lambda q, k: sdpa_kernel(0).__enter__()),
    ],
)
def test_bad_input(error, match, call):
    with pytest.raises(error, match=match):
        call(*inputs(L, S))


@pytest.mark.parametrize("rows, columns", [(4, 4), (3, 5), (5, 3)])
def test_causal_biases(rows, columns):
    upper, lower = causal_upper_left(rows, columns), causal_lower_right(rows, columns)
    i, j = np.indices((rows, columns))
    assert upper._materialize().numpy().tolist() == (i >= j).tolist()
    assert lower._materialize().numpy().tolist() == (i + columns - rows >= j).tolist()
    assert tuple(upper.shape) == (rows, columns) and upper.dtype is torch.bool and "True" in repr(upper)
    assert (lower & torch.ones(rows, columns, dtype=torch.bool)).numpy().tolist() == (i + columns - rows >= j).tolist()
    q, k, v = (x.requires_grad_() for x in inputs(rows, columns, columns))
    for bias in (upper, lower):
        output = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        assert type(output) is torch.Tensor
        expected = F.scaled_dot_product_attention(q, k, v, attn_mask=bias._materialize())
        np.testing.assert_allclose(output.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
        assert torch.autograd.grad(output.sum(), v)[0].shape == v.shape
    with pytest.raises(ValueError, match="causal=True"):
        F.scaled_dot_product_attention(q, k, v, attn_mask=upper, is_causal=True)


def test_the_choice_of_a_kernel_changes_nothing():
    q, k, v = inputs(L, S, S)
    expected = F.scaled_dot_product_attention(q, k, v)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True), sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        assert torch.equal(F.scaled_dot_product_attention(q, k, v), expected)
