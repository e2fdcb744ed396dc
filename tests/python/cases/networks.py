"""Sums of products, norms of layers, losses, convolutions."""

import numpy as np
from scipy import special

from . import case, holds, spread

X = spread(-1, 1, 2, 3, 4)
W = spread(-1, 1, 5, 4)
B = spread(-1, 1, 5)
SCALE, SHIFT = spread(0.5, 1.5, 4), spread(-1, 1, 4, seed=1)
LOGITS = spread(-2, 2, 6, 3)
CLASSES = np.array([0, 2, 1, 1, -100, 0])
WEIGHTS = np.array([0.5, 1.0, 2.0])


def layer_norm(x, shape, weight=1.0, bias=0.0, eps=1e-5):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + eps) * weight + bias


def rms_norm(x, shape, weight=1.0, eps=None):
    eps = np.finfo(np.float64).eps if eps is None else eps
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight


def cross_entropy(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    logs = special.log_softmax(x, axis=1)
    weight = np.ones(x.shape[1]) if weight is None else weight
    kept = target != ignore_index
    to = np.where(kept, target, 0)
    own = -logs[np.arange(len(to)), to] * weight[to]
    smooth = -(logs * weight).sum(1) / x.shape[1]
    losses = np.where(kept, (1 - label_smoothing) * own + label_smoothing * smooth, 0)
    total = losses.sum()
    return {"none": losses, "sum": total, "mean": total / (weight[to] * kept).sum()}[reduction]


def several(value, n):
    return tuple(value) * (n if len(value) == 1 else 1) if isinstance(value, (tuple, list)) else (value,) * n


def conv(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    """The definition: for each place in the kernel, a product of matrices over the channels."""
    n = w.ndim - 2
    stride, dilation = several(stride, n), several(dilation, n)
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, w.shape[2:])]
        pairs = [(t // 2, t - t // 2) for t in total]
    else:
        pairs = [(p, p) for p in several(0 if padding == "valid" else padding, n)]
    x = np.pad(x, [(0, 0), (0, 0), *pairs])
    size = [(i - d * (k - 1) - 1) // s + 1 for i, d, k, s in zip(x.shape[2:], dilation, w.shape[2:], stride)]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    parts = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    kernels = w.reshape(groups, -1, *w.shape[1:])
    for place in np.ndindex(*w.shape[2:]):
        seen = parts[(..., *(slice(p * d, p * d + s * (o - 1) + 1, s) for p, d, s, o in zip(place, dilation, stride, size)))]
        out += np.einsum("ngc...,gkc->ngk...", seen, kernels[(..., *place)]).reshape(out.shape)
    return out if b is None else out + b.reshape(-1, *[1] * n)


def conv_transpose(x, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Each element spreads the kernel, times itself, over the output."""
    n = w.ndim - 2
    stride, padding, dilation, extra = (several(v, n) for v in (stride, padding, dilation, output_padding))
    full = [(i - 1) * s + d * (k - 1) + 1 + e for i, s, d, k, e in zip(x.shape[2:], stride, dilation, w.shape[2:], extra)]
    out = np.zeros((x.shape[0], groups, w.shape[1], *full))
    parts = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    kernels = w.reshape(groups, -1, *w.shape[1:])
    for place in np.ndindex(*w.shape[2:]):
        to = tuple(slice(p * d, p * d + s * (i - 1) + 1, s) for p, d, s, i in zip(place, dilation, stride, x.shape[2:]))
        out[(..., *to)] += np.einsum("ngc...,gck->ngk...", parts, kernels[(..., *place)])
    out = out.reshape(x.shape[0], -1, *full)[(..., *(slice(p, f - p) for p, f in zip(padding, full)))]
    return out if b is None else out + b.reshape(-1, *[1] * n)


def convolution(x, w, b, stride, padding, dilation, transposed, output_padding, groups):
    if transposed:
        return conv_transpose(x, w, b, stride, padding, output_padding, groups, dilation)
    return conv(x, w, b, stride, padding, dilation, groups)


def images(channels, *size, seed=0):
    return spread(-1, 1, 2, channels, *size, seed=seed)


KERNELS = {1: ((5,), (3,)), 2: ((4, 3), (2, 3)), 3: ((3, 2, 3), (2, 1, 2))}
CONVOLUTIONS = [
    c
    for n, (size, kernel) in KERNELS.items()
    for c in [
        case(f"conv{n}d", conv, images(4, *size), spread(-1, 1, 2, 4, *kernel), spread(-1, 1, 2)),
        case(f"conv{n}d", conv, images(4, *size), spread(-1, 1, 4, 2, *kernel), None, 2, 1, 1, 2),
        case(f"conv{n}d_named_padding", conv, images(2, *size), spread(-1, 1, 2, 2, *kernel), None, padding="same"),
        case(f"conv{n}d_named_padding", conv, images(2, *size), spread(-1, 1, 2, 2, *kernel), None, padding="valid"),
        case(f"conv_transpose{n}d", conv_transpose, images(2, *size), spread(-1, 1, 2, 2, *kernel), spread(-1, 1, 2)),
        case(f"conv_transpose{n}d", conv_transpose, images(4, *size), spread(-1, 1, 4, 1, *kernel), None, 2, 1, 1, 2),
    ]
]


def kept_or_doubled(result):
    values, counts = np.unique(result, return_counts=True)
    assert values.tolist() == [0.0, 2.0] and abs(counts[0] / result.size - 0.5) < 0.05


CASES = [
    *(case("matmul", np.matmul, a, b) for a, b in [(X, W.T), (X[0], SCALE), (SCALE, W.T), (SCALE, SHIFT), (X, X.swapaxes(1, 2)), (X[0], X.swapaxes(1, 2))]),
    case("linear", lambda x, w: x @ w.T, X, W),
    case("linear", lambda x, w, b: x @ w + b, X, W[0], np.array(0.5)),
    case("linear", lambda x, w, b: x @ w.T + b, X, W, B),
    case("layer_norm", layer_norm, X, (4,)),
    case("layer_norm", layer_norm, X, (4,), SCALE, SHIFT),
    case("rms_norm", rms_norm, X, (4,)),
    case("rms_norm", rms_norm, X, (4,), SCALE, eps=1e-3),
    *(case("cross_entropy", cross_entropy, LOGITS, CLASSES, reduction=r) for r in ("mean", "sum", "none")),
    case("cross_entropy", cross_entropy, LOGITS, CLASSES, WEIGHTS, label_smoothing=0.1, smooth=False),
    holds("dropout", kept_or_doubled, np.ones((100, 100)), 0.5, True),
    case("dropout", lambda x, p, training: x, X, 0.0, True),
    *CONVOLUTIONS,
    case("convolution", convolution, images(2, 5), spread(-1, 1, 2, 2, 3), None, (2,), (1,), (1,), False, (0,), 1),
    case("convolution", convolution, images(2, 5), spread(-1, 1, 2, 2, 3), None, (2,), (1,), (1,), True, (1,), 1),
]  # fmt: skip
