"""What the modules compute, against numpy and scipy; their settings as printed; and shapes they refuse."""

import itertools
import math

import numpy as np
import pytest
from scipy import signal, special

import opforge as torch
from opforge import nn

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4))
IMAGE = RNG.standard_normal((2, 4, 6, 5))
TOLERANCE = {"rtol": 1e-9, "atol": 1e-11}


def run(module, *arrays):
    """The module's output in float64, as an array; gradients must come back to the first input."""
    first, *rest = (torch.from_numpy(np.asarray(a)) for a in arrays)
    output = module.double()(first.requires_grad_(first.is_floating_point()), *rest)
    if output.requires_grad:
        output.sum().backward()
        assert not first.requires_grad or first.grad.shape == first.shape
    return output.detach().numpy()


def relu(x):
    return np.maximum(x, 0)


ACTIVATIONS = [
    (nn.Identity(3, some="thing"), X),
    (nn.ReLU(), relu(X)),
    (nn.ReLU6(), np.clip(X, 0, 6)),
    (nn.LeakyReLU(0.2), np.where(X > 0, X, 0.2 * X)),
    (nn.PReLU(init=0.25), np.where(X > 0, X, 0.25 * X)),
    (nn.PReLU(4, init=0.25), np.where(X > 0, X, 0.25 * X)),
    (nn.RReLU(0.1, 0.3).eval(), np.where(X > 0, X, 0.2 * X)),
    (nn.ELU(0.7), np.where(X > 0, X, 0.7 * np.expm1(X))),
    (nn.CELU(0.7), np.where(X > 0, X, 0.7 * np.expm1(X / 0.7))),
    (nn.SELU(), 1.0507009873554805 * np.where(X > 0, X, 1.6732632423543772 * np.expm1(X))),
    (nn.GELU(), X * special.ndtr(X)),
    (nn.GELU("tanh"), X / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3)))),
    (nn.SiLU(), X * special.expit(X)),
    (nn.Mish(), X * np.tanh(np.log1p(np.exp(X)))),
    (nn.Sigmoid(), special.expit(X)),
    (nn.LogSigmoid(), special.log_expit(X)),
    (nn.Hardsigmoid(), np.clip(X / 6 + 0.5, 0, 1)),
    (nn.Hardswish(), X * np.clip(X + 3, 0, 6) / 6),
    (nn.Tanh(), np.tanh(X)),
    (nn.Tanhshrink(), X - np.tanh(X)),
    (nn.Hardtanh(-0.5, 0.7), np.clip(X, -0.5, 0.7)),
    (nn.Softsign(), X / (1 + np.abs(X))),
    (nn.Softplus(2.0), np.log1p(np.exp(2 * X)) / 2),
    (nn.Hardshrink(0.6), np.where(np.abs(X) > 0.6, X, 0)),
    (nn.Softshrink(0.6), np.sign(X) * relu(np.abs(X) - 0.6)),
    (nn.Threshold(0.1, 9.0), np.where(X > 0.1, X, 9)),
    (nn.GLU(), X[:, :2] * special.expit(X[:, 2:])),
    (nn.Softmax(0), special.softmax(X, 0)),
    (nn.Softmin(1), special.softmax(-X, 1)),
    (nn.LogSoftmax(), special.log_softmax(X, 1)),
    (nn.Dropout(0.5).eval(), X),
    (nn.AlphaDropout(0.5).eval(), X),
    (nn.Dropout(1.0), 0 * X),
]


@pytest.mark.parametrize(("module", "expected"), ACTIVATIONS, ids=lambda value: repr(value) if isinstance(value, nn.Module) else "")
def test_activations(module, expected):
    np.testing.assert_allclose(run(module, X), expected, **TOLERANCE)


@pytest.mark.parametrize("cls", [nn.ReLU, nn.SiLU, nn.ELU, nn.LeakyReLU, nn.Hardtanh, nn.Mish, nn.SELU, nn.Dropout])
def test_in_place(cls):
    x = torch.randn(4, 4)
    expected = cls().eval()(x)
    result = cls(inplace=True).eval()(x)
    assert result.tolist() == x.tolist() == expected.tolist()


def test_random_slopes_and_kept_moments():
    torch.manual_seed(0)
    x = -torch.ones(10000)
    slopes = -nn.RReLU(0.2, 0.6)(x)
    assert 0.2 <= slopes.min().item() < 0.21 and 0.59 < slopes.max().item() <= 0.6
    kept = nn.AlphaDropout(0.3)(torch.randn(100000))
    assert abs(kept.mean().item()) < 0.02 and abs(kept.std().item() - 1) < 0.02
    channels = nn.Dropout2d(0.5)(torch.ones(50, 20, 3, 3)).flatten(2)
    assert set(channels.sum(-1).flatten().tolist()) == {0.0, 18.0}


# Linear maps and tables


def weights(module):
    return [p.detach().numpy() for p in module.parameters()]


def test_linear_maps():
    linear, bilinear = nn.Linear(4, 2).double(), nn.Bilinear(4, 3, 2).double()
    w, b = weights(linear)
    np.testing.assert_allclose(run(linear, X), X @ w.T + b, **TOLERANCE)
    other = RNG.standard_normal((3, 3))
    w, b = weights(bilinear)
    np.testing.assert_allclose(run(bilinear, X, other), np.einsum("ni,oij,nj->no", X, w, other) + b, **TOLERANCE)


def test_embeddings():
    rows = np.array([[1, 0, 2], [2, 2, 0]])
    table = nn.Embedding(3, 4, padding_idx=0).double()
    (w,) = weights(table)
    assert not w[0].any()
    np.testing.assert_allclose(run(table, rows), w[rows])
    assert table.weight.grad[:, 0].tolist() == [0, 1, 3]
    frozen = nn.Embedding.from_pretrained(torch.from_numpy(X))
    assert not frozen.weight.requires_grad and frozen(torch.tensor([2])).tolist() == X[[2]].tolist()
    for mode, reduce in {"sum": np.sum, "mean": np.mean, "max": np.max}.items():
        bag = nn.EmbeddingBag(3, 4, mode=mode).double()
        (w,) = weights(bag)
        np.testing.assert_allclose(run(bag, rows), reduce(w[rows], 1), **TOLERANCE)
        parts = run(bag, rows.ravel(), np.array([0, 2]))
        np.testing.assert_allclose(parts, [reduce(w[part], 0) for part in (rows.ravel()[:2], rows.ravel()[2:])], **TOLERANCE)


# Convolutions


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_convolutions(dims, mode):
    x = RNG.standard_normal((2, 3, 6, 5, 4)[: dims + 2])
    module = getattr(nn, f"Conv{dims}d")(3, 2, 3, padding=1, padding_mode=mode).double()
    w, b = weights(module)
    pad = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    padded = np.pad(x, [(0, 0)] * 2 + [(1, 1)] * dims, mode=pad)
    expected = np.empty((2, 2, *x.shape[2:]))
    for n, o in itertools.product(range(2), range(2)):
        expected[n, o] = b[o] + sum(signal.correlate(padded[n, i], w[o, i], "valid") for i in range(3))
    np.testing.assert_allclose(run(module, x), expected, **TOLERANCE)
    same = getattr(nn, f"Conv{dims}d")(3, 2, 3, padding="same", padding_mode=mode).double()
    same.load_state_dict(module.state_dict())
    np.testing.assert_allclose(run(same, x), expected, **TOLERANCE)
    np.testing.assert_allclose(run(module, x[0]), expected[0], **TOLERANCE)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_convolution_is_the_gradient_of_convolution(dims):
    settings = {"kernel_size": 3, "stride": 2, "padding": 1, "bias": False, "dtype": torch.float64}
    forward = getattr(nn, f"Conv{dims}d")(4, 2, **settings)
    back = getattr(nn, f"ConvTranspose{dims}d")(2, 4, **settings)
    back.load_state_dict(forward.state_dict())
    x = torch.randn(1, 4, *(7, 6, 5)[:dims], dtype=torch.float64, requires_grad=True)
    y = forward(x)
    grad = torch.randn(*y.shape, dtype=torch.float64)
    y.backward(grad)
    np.testing.assert_allclose(back(grad, output_size=x.shape).detach().numpy(), x.grad.numpy(), **TOLERANCE)


def test_grouped_and_dilated_convolution():
    module = nn.Conv2d(4, 4, 2, groups=2, dilation=2, stride=(1, 2)).double()
    halves = [nn.Conv2d(2, 2, 2, dilation=2, stride=(1, 2)).double() for _ in range(2)]
    w, b = weights(module)
    for i, half in enumerate(halves):
        half.load_state_dict({"weight": torch.from_numpy(w[2 * i :][:2].copy()), "bias": torch.from_numpy(b[2 * i :][:2].copy())})
    expected = np.concatenate([run(half, IMAGE[:, 2 * i :][:, :2].copy()) for i, half in enumerate(halves)], 1)
    np.testing.assert_allclose(run(module, IMAGE), expected, **TOLERANCE)


# Normalization


def normalized(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.LayerNorm(5), normalized(IMAGE, -1)),
        (nn.LayerNorm((6, 5), eps=0.1), normalized(IMAGE, (-2, -1), 0.1)),
        (nn.LayerNorm(5, elementwise_affine=False), normalized(IMAGE, -1)),
        (nn.RMSNorm(5, eps=0.1), IMAGE / np.sqrt((IMAGE**2).mean(-1, keepdims=True) + 0.1)),
        (nn.GroupNorm(2, 4), normalized(IMAGE.reshape(2, 2, -1), -1).reshape(IMAGE.shape)),
        (nn.BatchNorm2d(4), normalized(IMAGE, (0, 2, 3))),
        (nn.BatchNorm2d(4).eval(), IMAGE / math.sqrt(1 + 1e-5)),
        (nn.BatchNorm2d(4, track_running_stats=False).eval(), normalized(IMAGE, (0, 2, 3))),
        (nn.InstanceNorm2d(4), normalized(IMAGE, (2, 3))),
        (
            nn.LocalResponseNorm(3, alpha=0.3, k=2.0),
            IMAGE / (2 + 0.1 * sum(np.pad(IMAGE**2, [(0, 0), (1, 1), (0, 0), (0, 0)])[:, i : i + 4] for i in range(3))) ** 0.75,
        ),
    ],
)
def test_normalization(module, expected):
    np.testing.assert_allclose(run(module, IMAGE), expected, **TOLERANCE)


@pytest.mark.parametrize("momentum", [0.3, None])
def test_running_statistics(momentum):
    module = nn.BatchNorm1d(4, momentum=momentum).double()
    batches = [X, 2 * X + 1]
    mean, var = np.zeros(4), np.ones(4)
    for i, batch in enumerate(batches, 1):
        run(module, batch)
        share = 1 / i if momentum is None else momentum
        mean, var = (old + share * (new - old) for old, new in ((mean, batch.mean(0)), (var, batch.var(0, ddof=1))))
    np.testing.assert_allclose(module.running_mean.numpy(), mean, **TOLERANCE)
    np.testing.assert_allclose(module.running_var.numpy(), var, **TOLERANCE)
    assert module.num_batches_tracked.item() == 2
    np.testing.assert_allclose(run(module.eval(), X), (X - mean) / np.sqrt(var + 1e-5), **TOLERANCE)
    module.reset_running_stats()
    assert module.running_var.tolist() == [1] * 4 and module.num_batches_tracked.item() == 0


@pytest.mark.parametrize("momentum, moved", [(0.1, True), (None, False)])
def test_batch_norm_without_a_count_of_batches(momentum, moved):
    """It raised. An average over all batches cannot be told without their number, so statistics stay."""
    module = nn.BatchNorm1d(4, momentum=momentum).double()
    module.num_batches_tracked = None
    np.testing.assert_allclose(run(module, X), normalized(X, (0,)), **TOLERANCE)
    assert (module.running_mean != 0).any() == moved


# Pooling, padding, rearrangement


def windows(x, dims, size, stride):
    views = np.lib.stride_tricks.sliding_window_view(x, (size,) * dims, tuple(range(-dims, 0)))
    return views[(..., *[slice(None, None, stride)] * dims, *[slice(None)] * dims)]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pooling(dims):
    x = RNG.standard_normal((2, 3, 8, 6, 4)[: dims + 2])
    axes = tuple(range(-dims, 0))
    parts = windows(x, dims, 2, 2)
    largest = getattr(nn, f"MaxPool{dims}d")(2, return_indices=True)
    values, indices = largest(torch.from_numpy(x))
    np.testing.assert_allclose(values.numpy(), parts.max(axes))
    back = getattr(nn, f"MaxUnpool{dims}d")(2)(values, indices).numpy()
    assert back.shape == x.shape and np.array_equal(back[back != 0], x[back != 0]) and (back != 0).sum() == values.numel()
    np.testing.assert_allclose(run(getattr(nn, f"AvgPool{dims}d")(2), x), parts.mean(axes), **TOLERANCE)
    np.testing.assert_allclose(run(getattr(nn, f"MaxPool{dims}d")(3, 1), x), windows(x, dims, 3, 1).max(axes))
    powers = (np.abs(windows(np.abs(x), dims, 2, 2)) ** 3).sum(axes) ** (1 / 3)
    np.testing.assert_allclose(run(getattr(nn, f"LPPool{dims}d")(3, 2), np.abs(x)), powers, **TOLERANCE)
    half = tuple(n // 2 for n in x.shape[2:])
    np.testing.assert_allclose(run(getattr(nn, f"AdaptiveAvgPool{dims}d")(half), x), parts.mean(axes), **TOLERANCE)
    np.testing.assert_allclose(run(getattr(nn, f"AdaptiveMaxPool{dims}d")(half), x), parts.max(axes))
    np.testing.assert_allclose(run(getattr(nn, f"AdaptiveAvgPool{dims}d")(1), x), x.mean(axes, keepdims=True), **TOLERANCE)


def test_adaptive_sizes_of_none_stay():
    assert nn.AdaptiveAvgPool2d((None, 2))(torch.from_numpy(IMAGE)).shape == (2, 4, 6, 2)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(
    ("name", "mode", "extra"),
    [
        ("Zero", "constant", ()),
        ("Constant", "constant", (2.5,)),
        ("Reflection", "reflect", ()),
        ("Replication", "edge", ()),
        ("Circular", "wrap", ()),
    ],
)
def test_padding(dims, name, mode, extra):
    x = RNG.standard_normal((2, 3, 5, 4, 6)[: dims + 2])
    sizes = (1, 2, 0, 1, 3, 2)[: 2 * dims]  # the last dimension first
    pairs = [(0, 0)] * 2 + [sizes[2 * d : 2 * d + 2] for d in reversed(range(dims))]
    options = {"constant_values": extra[0] if extra else 0} if mode == "constant" else {}
    expected = np.pad(x, pairs, mode=mode, **options)
    np.testing.assert_allclose(run(getattr(nn, f"{name}Pad{dims}d")(sizes, *extra), x), expected)


def test_rearrangement():
    x = RNG.standard_normal((2, 8, 3, 3))
    shuffled = x.reshape(2, 2, 2, 2, 3, 3).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 6)
    np.testing.assert_allclose(run(nn.PixelShuffle(2), x), shuffled)
    np.testing.assert_allclose(run(nn.PixelUnshuffle(2), shuffled), x)
    np.testing.assert_allclose(run(nn.ChannelShuffle(4), x), x.reshape(2, 4, 2, 3, 3).swapaxes(1, 2).reshape(x.shape))
    assert run(nn.Flatten(), x).shape == (2, 72) and run(nn.Unflatten(1, (2, 4)), x).shape == (2, 2, 4, 3, 3)
    columns = run(nn.Unfold(2, stride=1), x)
    assert columns.shape == (2, 32, 4)
    counts = np.outer([1, 2, 1], [1, 2, 1])  # how many windows an element is in
    np.testing.assert_allclose(run(nn.Fold((3, 3), 2), columns), x * counts, **TOLERANCE)
    np.testing.assert_allclose(run(nn.Upsample(scale_factor=2), x), x.repeat(2, 2).repeat(2, 3))
    linear = run(nn.UpsamplingBilinear2d(size=(5, 3)), x)
    np.testing.assert_allclose(linear[:, :, ::2], x, **TOLERANCE)
    np.testing.assert_allclose(linear[:, :, 1], (x[:, :, 0] + x[:, :, 1]) / 2, **TOLERANCE)
    np.testing.assert_allclose(run(nn.Upsample(size=1, mode="area"), x), x.mean((2, 3), keepdims=True), **TOLERANCE)


def test_distances():
    a, b = X, X[::-1].copy()
    np.testing.assert_allclose(run(nn.PairwiseDistance(1.0), a, b), np.abs(a - b + 1e-6).sum(1), **TOLERANCE)
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    np.testing.assert_allclose(run(nn.CosineSimilarity(), a, b), cosine, **TOLERANCE)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (nn.ReLU(True), "ReLU(inplace=True)"),
        (nn.Conv2d(1, 2, 3, padding=1, bias=False), "Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)"),
        (nn.MaxPool2d(2), "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"),
        (nn.BatchNorm1d(3), "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"),
        (nn.LSTM(2, 3, num_layers=2, batch_first=True), "LSTM(2, 3, num_layers=2, batch_first=True)"),
        (nn.Embedding(4, 2, padding_idx=1), "Embedding(4, 2, padding_idx=1)"),
        (nn.Dropout(0.1), "Dropout(p=0.1, inplace=False)"),
        (nn.Upsample(scale_factor=2), "Upsample(scale_factor=2.0, mode='nearest')"),
    ],
)
def test_repr(module, text):
    assert repr(module) == text


@pytest.mark.parametrize(
    "call",
    [
        lambda: nn.Linear(4, 2)(torch.ones(3)),
        lambda: nn.Conv2d(3, 4, 3, groups=2),
        lambda: nn.Conv2d(3, 4, 3, padding="full"),
        lambda: nn.Conv2d(3, 4, 3)(torch.ones(1, 2, 5, 5)),
        lambda: nn.ConvTranspose1d(1, 1, 3, stride=2)(torch.ones(1, 1, 4), output_size=[20]),
        lambda: nn.BatchNorm2d(3)(torch.ones(2, 3)),
        lambda: nn.GroupNorm(3, 4),
        lambda: nn.Dropout(1.5),
        lambda: nn.Embedding(3, 2)(torch.tensor([3])),
        lambda: nn.MaxUnpool1d(2)(torch.ones(1, 1, 2), torch.tensor([[[0, 9]]])),
        lambda: nn.Softmax2d()(torch.ones(2, 3)),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises((ValueError, RuntimeError, IndexError)):
        call()


def test_cross_map_normalization_is_over_channels_on_both_sides():
    x = torch.arange(40.0).reshape(2, 5, 2, 2).sin()
    for size, reach in ((1, 0), (2, 0), (3, 1), (4, 1), (5, 2)):
        squares = x.numpy() ** 2
        sums = np.stack([squares[:, max(c - reach, 0) : c + reach + 1].sum(1) for c in range(5)], 1)
        expected = x.numpy() / (1.5 + 0.5 / size * sums) ** 0.6
        np.testing.assert_allclose(nn.CrossMapLRN2d(size, 0.5, 0.6, 1.5)(x).numpy(), expected, rtol=1e-5)
    assert repr(nn.CrossMapLRN2d(3)) == "CrossMapLRN2d(3, alpha=0.0001, beta=0.75, k=1)"
    with pytest.raises(ValueError, match="4D"):
        nn.CrossMapLRN2d(3)(x[0])
