"""Pools, and norms over batches, groups and instances."""

import numpy as np

from . import case, spread

IMAGES = {n: spread(-2, 2, 2, 4, *(5, 4, 3)[:n]) for n in (1, 2, 3)}
X = spread(-2, 2, 3, 4, 5)
WEIGHT, BIAS = spread(0.5, 1.5, 4), spread(-1, 1, 4)
MEAN, VAR = spread(-1, 1, 4, seed=1), spread(0.5, 2, 4, seed=1)


def windows(x, size, stride):
    """`[.., places, window]`, with the places in the plane of each element."""
    dims = tuple(range(2, x.ndim))
    numbers = np.arange(np.prod(x.shape[2:])).reshape(1, 1, *x.shape[2:])
    seen = [np.lib.stride_tricks.sliding_window_view(a, (size,) * len(dims), dims)[(..., *[slice(None, None, stride)] * len(dims), *[slice(None)] * len(dims))] for a in (x, numbers)]
    return [s.reshape(*s.shape[: x.ndim], -1) for s in seen]


def avg_pool(x, size, stride=None):
    return windows(x, size, stride or size)[0].mean(-1)


def max_pool(x, size, stride=None):
    values, places = windows(x, size, stride or size)
    best = values.argmax(-1)[..., None]
    return values.max(-1), np.take_along_axis(np.broadcast_to(places, values.shape), best, -1)[..., 0]


def adaptive(fold):
    def reference(x, size):
        for d in range(2, x.ndim):
            n = x.shape[d]
            parts = [np.take(x, range(i * n // size, -(-(i + 1) * n // size)), axis=d) for i in range(size)]
            x = np.stack([fold(part, axis=d) for part in parts], axis=d)
        return x

    return reference


def adaptive_max(x, size):
    """Values and places: the places are those of the values, as all differ."""
    values = adaptive(np.max)(x, size)
    flat, found = x.reshape(*x.shape[:2], -1), values.reshape(*x.shape[:2], -1)
    return values, np.array([[[int(np.flatnonzero(p == v)[0]) for v in vs] for p, vs in zip(*pair)] for pair in zip(flat, found)]).reshape(values.shape)


def standardized(x, dims, eps=1e-5):
    return (x - x.mean(dims, keepdims=True)) / np.sqrt(x.var(dims, keepdims=True) + eps)


def channels(v):
    return v.reshape(-1, 1)


def batch_norm(x, mean, var, weight=None, bias=None, training=False):
    out = standardized(x, (0, 2)) if training else (x - channels(mean)) / np.sqrt(channels(var) + 1e-5)
    return out if weight is None else out * channels(weight) + channels(bias)


def group_norm(x, groups, weight=None, bias=None):
    out = standardized(x.reshape(x.shape[0], groups, -1), 2).reshape(x.shape)
    return out if weight is None else out * channels(weight) + channels(bias)


CASES = [
    c
    for n, x in IMAGES.items()
    for c in [
        case(f"avg_pool{n}d", avg_pool, x, 2),
        case(f"avg_pool{n}d", avg_pool, x, 2, 1),
        case(f"max_pool{n}d", lambda *a: max_pool(*a)[0], x, 2),
        case(f"max_pool{n}d", lambda *a: max_pool(*a)[0], x, 3, 2),
        case(f"max_pool{n}d_with_indices", max_pool, x, 2, 1),
        case(f"max_pool{n}d_returning", lambda *a, return_indices: max_pool(*a), x, 2, return_indices=True),
        case(f"adaptive_avg_pool{n}d", adaptive(np.mean), x, 2),
        case(f"adaptive_max_pool{n}d", adaptive_max, x, 2),
        case(f"adaptive_max_pool{n}d_returning", lambda x, size, return_indices: adaptive_max(x, size), x, 2, return_indices=True),
    ]
] + [
    case("batch_norm", batch_norm, X, MEAN, VAR),
    case("batch_norm", batch_norm, X, MEAN, VAR, WEIGHT, BIAS),
    case("batch_norm", batch_norm, X, None, None, WEIGHT, BIAS, True),
    case("group_norm", group_norm, X, 2),
    case("group_norm", group_norm, X, 4, WEIGHT, BIAS),
    case("instance_norm", lambda x: standardized(x, 2), X),
]
