"""What is composed in Python makes its tensors where its arguments are."""

import pytest
from chosen_device import DEVICE

import opforge as torch
from opforge import distributions as D
from opforge import nn
from opforge.nn import functional as F
from opforge.nn.attention import bias, flex_attention


def assert_same(program):
    """A program of a device gives the same, there, on either."""
    results = []
    for device in ("cpu", DEVICE):
        torch.manual_seed(2)
        made = program(device)
        made = [made] if isinstance(made, torch.Tensor) else list(made)
        assert all(tensor.device.type == device for tensor in made)
        results.append([tensor.detach().cpu() for tensor in made])
    for cpu, device in zip(*results):
        torch.testing.assert_close(device, cpu, rtol=1e-3, atol=1e-4, equal_nan=True)


DISTRIBUTIONS = [
    (D.Gamma, [0.5, 2.0], [1.0, 2.0]), (D.Beta, [0.5, 2.0], [1.0, 2.0]), (D.Categorical, [0.5, 0.2, 0.3]), (D.Poisson, [0.5, 2.0]),
    (D.VonMises, [0.0, 1.0], [1.0, 2.0]), (D.NegativeBinomial, [3.0], [0.3]), (D.MultivariateNormal, [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]),
]  # fmt: skip


@pytest.mark.parametrize("kind, parameters", [(kind, parameters) for kind, *parameters in DISTRIBUTIONS], ids=lambda value: getattr(value, "__name__", ""))
def test_distributions(kind, parameters):
    def program(device):
        distribution = kind(*(torch.tensor(parameter, device=device) for parameter in parameters))
        sample = distribution.sample((3,))
        return sample, distribution.log_prob(sample)

    assert_same(program)


def eye(device):
    return torch.eye(3, device=device)


SPARSE = {
    "product": lambda d: torch.sparse.mm(eye(d).to_sparse(), eye(d)),
    "product of sparse ones": lambda d: torch.sparse.mm(eye(d).to_sparse(), eye(d).to_sparse()).to_dense(),
    "of lists": lambda d: torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3), device=d).to_dense(),
    "sum": lambda d: torch.sparse.sum(eye(d).to_sparse(), 0).to_dense(),
    "cat": lambda d: torch.cat([eye(d).to_sparse(), eye(d).to_sparse()]).to_dense(),
    "select": lambda d: eye(d).to_sparse().index_select(0, torch.tensor([0, 2], device=d)).to_dense(),
    "rows": lambda d: eye(d).to_sparse_csr() @ torch.ones(3, device=d),
    "gradient": lambda d: gradient_of_embedding(nn.Embedding(3, 2, sparse=True).to(d)),
}


def gradient_of_embedding(layer):
    layer(torch.tensor([0, 1], device=layer.weight.device)).sum().backward()
    return layer.weight.grad.to_dense()


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_tensors(name):
    assert_same(SPARSE[name])


def test_attention_with_masks():
    def flexible(device):
        q, k, v = (torch.randn(1, 2, 8, 4, device=device) for _ in range(3))
        mask = flex_attention.create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 8, 8, device=device, BLOCK_SIZE=4)
        return flex_attention.flex_attention(q, k, v, score_mod=lambda score, b, h, q, kv: score + (q - kv), block_mask=mask)

    def causal(device):
        q, k, v = (torch.randn(1, 2, 4, 4, device=device) for _ in range(3))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias.causal_lower_right(4, 4))

    def padded(device):
        x = torch.randn(3, 2, 4, device=device)
        hidden = torch.tensor([[False, False, True]] * 2, device=device)
        return nn.MultiheadAttention(4, 2).to(device)(x, x, x, key_padding_mask=hidden)[0]

    for program in (flexible, causal, padded):
        assert_same(program)


def test_sequences():
    def packed(device):
        sequences = nn.utils.rnn.pack_padded_sequence(torch.randn(2, 3, 4).to(device), torch.tensor([2, 3]), batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(nn.GRU(4, 5).to(device)(sequences)[0], batch_first=True)[0]

    assert_same(packed)
    assert_same(lambda d: nn.utils.rnn.pad_sequence([torch.ones(3, device=d), torch.ones(2, device=d)]))
    assert_same(lambda d: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], device=d).to_padded_tensor(0.0))


def test_derivatives_of_functions():
    assert_same(lambda d: torch.autograd.functional.jacobian(lambda x: x**2, torch.ones(3, device=d)))
    assert_same(lambda d: torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.ones(3, device=d)))
    assert_same(lambda d: torch.func.jvp(lambda x: x**2, (torch.ones(3, device=d),), (torch.ones(3, device=d),)))
    assert torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64, device=DEVICE, requires_grad=True))


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x, 3 * x

    @staticmethod
    def backward(ctx, first, second):
        return 2 * first + 3 * second


def test_functions_with_outputs_that_nobody_uses():
    x = torch.ones(2, device=DEVICE, requires_grad=True)
    Twice.apply(x)[0].sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_histograms_and_pruning():
    assert_same(lambda d: torch.histogramdd(torch.rand(9, 2, device=d), [3, 3]).hist)

    def pruned(device):
        layer = nn.Linear(3, 3).to(device)
        nn.utils.prune.random_unstructured(layer, "weight", 0.5)
        return layer.weight

    assert_same(pruned)
