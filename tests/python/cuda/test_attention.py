"""Attention of halves on a device beside that of f32 on the CPU."""

import pytest

import opforge as torch
from opforge.nn.functional import scaled_dot_product_attention

pytestmark = pytest.mark.skipif(torch.cuda.get_device_name().startswith("Host"), reason="crates/opforge-cuda/tests/attention has the host do this")

# Batches, heads of queries and of keys, queries, keys, width, columns of values.
SHAPES = [(2, 4, 4, 64, 64, 64, 64), (1, 4, 2, 131, 77, 64, 32), (1, 2, 1, 33, 200, 128, 128), (1, 3, 3, 17, 65, 40, 96), (2, 2, 2, 5, 70, 64, 64), (1, 2, 2, 20, 60, 15, 7)]


def arguments(shape, dtype, heads_inside):
    batch, heads, few, n, m, width, size = shape
    torch.manual_seed(n)

    def one(heads, length, width):
        shape = (batch, length, heads, width) if heads_inside else (batch, heads, length, width)
        t = torch.randn(*shape).to(dtype)
        return t.transpose(1, 2) if heads_inside else t

    return one(heads, n, width), one(few, m, width), one(few, m, size)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("causal", "heads_inside"), [(False, True), (True, False)])
@pytest.mark.parametrize("shape", SHAPES)
def test_halves_are_as_exact_as_they_can_be(shape, causal, heads_inside, dtype):
    tolerance = 4e-3 if dtype is torch.float16 else 3e-2
    halves = arguments(shape, dtype, heads_inside)
    results = []
    for inputs in ([t.float() for t in halves], [t.cuda() for t in halves]):
        leaves = [t.detach().requires_grad_() for t in inputs]
        y = scaled_dot_product_attention(*leaves, is_causal=causal, enable_gqa=True)
        y.backward(torch.ones_like(y))
        results.append([y.detach(), *(leaf.grad for leaf in leaves)])
    for got, want in zip(results[1], results[0], strict=True):
        assert got.is_cuda and got.dtype is dtype
        error = (got.cpu().float() - want).abs().max().item()
        assert error <= tolerance * (1 + want.abs().max().item())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_masks(dtype):
    q, k, v = arguments((2, 4, 2, 40, 50, 32, 32), dtype, False)
    seen = torch.rand(40, 50) > 0.4
    seen[3] = False
    for mask in (seen, torch.randn(2, 1, 40, 50).to(dtype)):
        got = scaled_dot_product_attention(q.cuda(), k.cuda(), v.cuda(), attn_mask=mask.cuda(), enable_gqa=True)
        wide = mask if mask.dtype is torch.bool else mask.float()
        want = scaled_dot_product_attention(q.float(), k.float(), v.float(), attn_mask=wide, enable_gqa=True)
        assert (got.cpu().float() - want).abs().max().item() <= (4e-3 if dtype is torch.float16 else 1e-5)
