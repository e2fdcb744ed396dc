"""Multi-head attention and transformers against numpy."""

import math

import numpy as np
import pytest
from scipy.special import erf, softmax

import opforge as torch
from opforge import nn

LENGTH, SOURCE, BATCH, WIDTH, HEADS = 3, 5, 2, 8, 2
RNG = np.random.default_rng(0)
Q = RNG.standard_normal((LENGTH, BATCH, WIDTH))
K, V = RNG.standard_normal((2, SOURCE, BATCH, WIDTH))
# True: not to attend to.
PADDING = np.array([[False] * 4 + [True], [False] * 2 + [True] * 3])
MASK = np.triu(np.ones((LENGTH, SOURCE), bool), 3)
ADDED = RNG.standard_normal((LENGTH, SOURCE))
PER_HEAD = RNG.standard_normal((BATCH * HEADS, LENGTH, SOURCE))
TOLERANCE = {"rtol": 1e-9, "atol": 1e-11}


def parameters(module, prefix=""):
    return {name: p.detach().numpy() for name, p in module.named_parameters() if name.startswith(prefix)}


def attention(module, q, k, v, padding=None, mask=None):
    """Output `(L, N, E)` and weights `(N, H, L, S)`: sample by sample, head by head."""
    p = parameters(module)
    weights = np.split(p["in_proj_weight"], 3) if "in_proj_weight" in p else [p[f"{x}_proj_weight"] for x in "qkv"]
    biases = np.split(p["in_proj_bias"], 3) if "in_proj_bias" in p else [0] * 3
    q, k, v = (x @ w.T + b for x, w, b in zip((q, k, v), weights, biases))
    extra = [p[name].repeat(q.shape[1], 1) for name in ("bias_k", "bias_v") if name in p]
    if extra:
        k, v = np.concatenate([k, extra[0]]), np.concatenate([v, extra[1]])
    if module.add_zero_attn:
        k, v = (np.concatenate([x, np.zeros((1, *x.shape[1:]))]) for x in (k, v))
    length, batch, width = q.shape
    size, allowed = width // HEADS, k.shape[0]
    output, all_weights = np.empty((length, batch, width)), np.empty((batch, HEADS, length, allowed))
    for n in range(batch):
        for h in range(HEADS):
            part = slice(h * size, (h + 1) * size)
            scores = q[:, n, part] @ k[:, n, part].T / math.sqrt(size)
            if padding is not None:
                scores[:, : padding.shape[1]][:, padding[n]] = -np.inf
            if mask is not None:
                one = mask if mask.ndim == 2 else mask[n * HEADS + h]
                scores[:, : one.shape[1]] += np.where(one, -np.inf, 0) if one.dtype == bool else one
            all_weights[n, h] = softmax(scores, -1)
            output[:, n, part] = all_weights[n, h] @ v[:, n, part]
    return output @ p["out_proj.weight"].T + p.get("out_proj.bias", 0), all_weights


def make(**settings):
    torch.manual_seed(0)
    module = nn.MultiheadAttention(WIDTH, HEADS, dtype=torch.float64, **settings)
    for parameter in module.parameters():  # biases start as zeros
        nn.init.normal_(parameter)
    return module


def tensors(*arrays):
    return [None if a is None else torch.from_numpy(a) for a in arrays]


@pytest.mark.parametrize(
    "settings", [{}, {"bias": False}, {"add_bias_kv": True}, {"add_zero_attn": True}, {"kdim": 3, "vdim": 4}, {"batch_first": True}]
)
@pytest.mark.parametrize(
    ("padding", "mask"), [(None, None), (PADDING, None), (None, MASK), (None, ADDED), (None, PER_HEAD), (PADDING, MASK)]
)
def test_attention(settings, padding, mask):
    module = make(**settings)
    q, k, v = Q, K[..., : module.kdim], V[..., : module.vdim]
    expected, weights = attention(module, q, k, v, padding, mask)
    inputs, (padding, mask) = tensors(q, k, v), tensors(padding, mask)
    if module.batch_first:
        inputs, expected = [x.transpose(0, 1) for x in inputs], expected.swapaxes(0, 1)
    options = {"key_padding_mask": padding, "attn_mask": mask}
    for wanted, extra in (
        (weights.mean(1), {}),
        (weights, {"average_attn_weights": False}),
        (None, {"need_weights": False}),
    ):
        output, given = module(*inputs, **options, **extra)
        np.testing.assert_allclose(output.detach().numpy(), expected, **TOLERANCE)
        if wanted is None:
            assert given is None
        else:
            np.testing.assert_allclose(given.detach().numpy(), wanted, **TOLERANCE)


def test_attention_without_a_batch_and_causally():
    module = make()
    expected, weights = attention(module, Q[:, :1], Q[:, :1], Q[:, :1])
    x = torch.from_numpy(Q[:, 0].copy())
    output, given = module(x, x, x)
    np.testing.assert_allclose(output.detach().numpy(), expected[:, 0], **TOLERANCE)
    np.testing.assert_allclose(given.detach().numpy(), weights.mean(1)[0], **TOLERANCE)
    causal = nn.Transformer.generate_square_subsequent_mask(LENGTH, dtype=torch.float64)
    hinted = module(x, x, x, attn_mask=causal, is_causal=True, need_weights=False)[0]
    np.testing.assert_allclose(hinted.detach().numpy(), module(x, x, x, attn_mask=causal)[0].detach().numpy(), **TOLERANCE)


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


def norm(module, x):
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + module.eps)
    return x * module.weight.detach().numpy() + module.bias.detach().numpy()


def linear(module, x):
    return x @ module.weight.detach().numpy().T + module.bias.detach().numpy()


def layer(module, x, memory=None, mask=None):
    """An encoder's layer, or, with memory, a decoder's."""
    activation = gelu if module.activation is nn.functional.gelu else lambda x: np.maximum(x, 0)
    branches = [lambda x: attention(module.self_attn, x, x, x, mask=mask)[0]]
    if memory is not None:
        branches.append(lambda x: attention(module.multihead_attn, x, memory, memory)[0])
    branches.append(lambda x: linear(module.linear2, activation(linear(module.linear1, x))))
    for i, branch in enumerate(branches, 1):
        normalize = getattr(module, f"norm{i}")
        x = x + branch(norm(normalize, x)) if module.norm_first else norm(normalize, x + branch(x))
    return x


SETTINGS = [{}, {"norm_first": True}, {"activation": "gelu"}]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("settings", SETTINGS)
def test_layers_and_stacks(settings, training):
    torch.manual_seed(1)
    options = {"dim_feedforward": 16, "dropout": 0.0, "dtype": torch.float64, **settings}
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, **options), 2).train(training)
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(WIDTH, HEADS, **options), 2, nn.LayerNorm(WIDTH, dtype=torch.float64)
    ).train(training)
    mask = np.triu(np.ones((LENGTH, LENGTH), bool), 1)
    memory, target = K, Q
    for one in encoder.layers:
        memory = layer(one, memory)
    np.testing.assert_allclose(encoder(torch.from_numpy(K)).detach().numpy(), memory, **TOLERANCE)
    for one in decoder.layers:
        target = layer(one, target, memory, mask)
    actual = decoder(*tensors(Q, memory), tgt_mask=torch.from_numpy(mask))
    np.testing.assert_allclose(actual.detach().numpy(), norm(decoder.norm, target), **TOLERANCE)


@pytest.mark.parametrize("batch_first", [True, False])
def test_the_future_has_no_influence(batch_first):
    torch.manual_seed(2)
    model = nn.Transformer(WIDTH, HEADS, 1, 1, 16, batch_first=batch_first).eval()
    source = torch.randn(BATCH, SOURCE, WIDTH)
    target = torch.randn(BATCH, LENGTH, WIDTH)
    changed = target.clone()
    changed[:, -1] += 1.0
    mask = model.generate_square_subsequent_mask(LENGTH)

    def run(target):
        pair = (source, target) if batch_first else (source.transpose(0, 1), target.transpose(0, 1))
        output = model(*pair, tgt_mask=mask)
        return output if batch_first else output.transpose(0, 1)

    before, after = run(target), run(changed)
    assert before.shape == (BATCH, LENGTH, WIDTH)
    assert before[:, :-1].tolist() == after[:, :-1].tolist() and before[:, -1].tolist() != after[:, -1].tolist()


def test_padding_has_no_influence_and_all_parameters_learn():
    torch.manual_seed(3)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, 16, batch_first=True), 2).eval()
    x = torch.randn(BATCH, SOURCE, WIDTH)
    changed = x.clone()
    changed[0, 4:] = 9.0
    changed[1, 2:] = 9.0
    padding = torch.from_numpy(PADDING)
    before, after = (model(t, src_key_padding_mask=padding) for t in (x, changed))
    np.testing.assert_allclose(before[1, :2].detach().numpy(), after[1, :2].detach().numpy(), rtol=1e-5, atol=1e-6)
    before.sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    first, second = model.layers
    assert first.linear1.weight is not second.linear1.weight


def zero_positions(encoder, source, padding, **options):
    return (encoder(source, src_key_padding_mask=padding, **options) == 0).all(-1).tolist()


def test_padding_gives_zeros_where_pytorch_computes_nothing():
    torch.manual_seed(4)
    source, padding = torch.randn(BATCH, SOURCE, WIDTH), torch.from_numpy(PADDING)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, 16, batch_first=True), 2).eval()
    with torch.no_grad():
        output = encoder(source, src_key_padding_mask=padding)
    assert (output == 0).all(-1).tolist() == PADDING.tolist()
    computed = encoder(source, src_key_padding_mask=padding)
    np.testing.assert_allclose(output[1, :2].numpy(), computed[1, :2].detach().numpy(), rtol=1e-5, atol=1e-6)
    added = torch.zeros(BATCH, SOURCE).masked_fill(padding, -math.inf)
    with torch.no_grad():
        assert zero_positions(encoder, source, added) == PADDING.tolist()
        normed = nn.TransformerEncoder(encoder.layers[0], 1, nn.LayerNorm(WIDTH)).eval()
        nn.init.ones_(normed.norm.bias)
        assert normed(source, src_key_padding_mask=padding)[0, 4].tolist() == [1.0] * WIDTH, "the norm comes after"


WITHOUT_A_FAST_PATH = [{"norm_first": True}, {"batch_first": False}, {"bias": False}, {"activation": torch.tanh}, {"nhead": 1}]


@pytest.mark.parametrize("settings", WITHOUT_A_FAST_PATH, ids=lambda settings: next(iter(settings)))
def test_padding_is_computed_by_layers_without_a_fast_path(settings):
    layer = nn.TransformerEncoderLayer(**{"d_model": WIDTH, "nhead": HEADS, "dim_feedforward": 16, "batch_first": True, **settings})
    source, padding = torch.randn(BATCH, BATCH, WIDTH), torch.tensor([[False, True]] * BATCH)
    with torch.no_grad():
        assert not np.any(zero_positions(nn.TransformerEncoder(layer, 1).eval(), source, padding))


def test_padding_is_computed_with_gradients_masks_gaps_and_in_training():
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 16, batch_first=True)
    source, padding = torch.randn(BATCH, SOURCE, WIDTH), torch.from_numpy(PADDING)
    encoder = nn.TransformerEncoder(layer, 1).eval()
    assert not np.any(zero_positions(encoder, source, padding)), "with gradients"
    with torch.no_grad():
        assert not np.any(zero_positions(encoder, source, padding, mask=torch.zeros(SOURCE, SOURCE).bool()))
        assert not np.any(zero_positions(encoder, source, padding.flip(1))), "padded at the beginning"
        assert not np.any(zero_positions(nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval(), source, padding))
        assert not np.any(zero_positions(encoder.train(), source, padding))


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize(
    ("mask", "shape", "error"),
    [
        ("attn_mask", (5, 3), RuntimeError), ("attn_mask", (2, 3, 5), RuntimeError), ("attn_mask", (3,), AssertionError),
        ("key_padding_mask", (2, 3), AssertionError),
    ],
)  # fmt: skip
def test_masks_of_the_wrong_shape_are_named(mask, shape, error, need_weights):
    with pytest.raises(error, match=f"{mask}: a tensor of shape .*, expected"):
        make()(*tensors(Q, K, V), need_weights=need_weights, **{mask: torch.zeros(shape).bool()})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nn.MultiheadAttention(8, 3), AssertionError, "embed_dim must be divisible by num_heads"),
        (lambda: nn.MultiheadAttention(0, 1), ValueError, "must be greater than 0"),
        (lambda: nn.MultiheadAttention(8, 2)(*[torch.ones(3, 2, 4)] * 3), AssertionError, "was expecting embedding dimension of 8"),
        (lambda: nn.TransformerEncoderLayer(8, 2, activation="sine"), RuntimeError, "activation should be relu/gelu, not sine"),
        (lambda: nn.Transformer(8, 2)(torch.ones(3, 2, 8), torch.ones(3, 1, 8)), RuntimeError, "batch number of src and tgt"),
        (lambda: nn.Transformer(8, 2)(torch.ones(3, 2, 4), torch.ones(3, 2, 8)), RuntimeError, "feature number"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)
