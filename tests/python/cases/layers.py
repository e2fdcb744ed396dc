"""Attention, recurrence, shuffles, dropout of channels."""

import numpy as np
from scipy import special

from . import case, holds, spread

Q, K, V = (spread(-1, 1, 2, 2, 3, 4, seed=seed) for seed in range(3))
MASK = np.tril(np.ones((3, 3), bool))
LOGITS = spread(-1, 1, 3, 4)
IMAGE = spread(-1, 1, 2, 4, 2, 4)
X, H, C = spread(-1, 1, 2, 3), spread(-1, 1, 2, 4), spread(-1, 1, 2, 4, seed=1)
STEPS = spread(-1, 1, 5, 2, 3)
ONES = np.ones((200, 50, 2))


def attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None):
    scores = q @ k.swapaxes(-1, -2) * (scale or q.shape[-1] ** -0.5)
    mask = MASK if is_causal else mask
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return special.softmax(scores, axis=-1) @ v


def gates(x, h, w_ih, w_hh, b_ih=0.0, b_hh=0.0):
    return x @ w_ih.T + b_ih, h @ w_hh.T + b_hh


def lstm_cell(x, hx, *weights):
    h, c = hx
    a, b = gates(x, h, *weights)
    i, f, g, o = np.split(a + b, 4, axis=-1)
    c = special.expit(f) * c + special.expit(i) * np.tanh(g)
    return special.expit(o) * np.tanh(c), c


def gru_cell(x, h, *weights):
    a, b = (np.split(part, 3, axis=-1) for part in gates(x, h, *weights))
    r, z = special.expit(a[0] + b[0]), special.expit(a[1] + b[1])
    return (1 - z) * np.tanh(a[2] + r * b[2]) + z * h


def rnn_cell(f):
    return lambda x, h, *weights: f(sum(gates(x, h, *weights)))


def relu(x):
    return np.maximum(x, 0)


def unrolled(cell):
    """A layer over all steps, from its cell; states are a tuple."""

    def reference(x, hx, params, *flags):
        state = tuple(h[0] for h in hx) if isinstance(hx, (list, tuple)) else hx[0]
        outputs = []
        for step in x:
            state = cell(step, state, *params)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        last = [s[None] for s in state] if isinstance(state, tuple) else [state[None]]
        return [np.stack(outputs), *last]

    return reference


def weights(gates):
    return [spread(-1, 1, gates * 4, 3), spread(-1, 1, gates * 4, 4), spread(-1, 1, gates * 4), spread(-1, 1, gates * 4, seed=1)]


def pixel_shuffle(x, r):
    n, c, h, w = x.shape
    return x.reshape(n, c // r**2, r, r, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // r**2, h * r, w * r)


def pixel_unshuffle(x, r):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4).reshape(n, c * r**2, h // r, w // r)


def channel_shuffle(x, groups):
    n, c = x.shape[:2]
    return x.reshape(n, groups, c // groups, -1).swapaxes(1, 2).reshape(x.shape)


def whole_channels(result):
    flat = result.reshape(*ONES.shape[:2], -1)
    assert (flat == flat[..., :1]).all() and set(np.unique(flat)) == {0.0, 2.0}
    assert abs(flat.mean() - 1) < 0.1


def standardized(result):
    """Of ones, SELU's dropout makes two values."""
    assert len(np.unique(result)) == 2


def one_hot(result):
    assert (np.sort(result, -1)[:, :-1] == 0).all() and np.allclose(result.sum(-1), 1)


def simplex(result):
    assert (result > 0).all() and np.allclose(result.sum(-1), 1)


FLAGS = (True, 1, 0.0, True, False, False)
CASES = [
    case("scaled_dot_product_attention", attention, Q, K, V, tolerance=2),
    case("scaled_dot_product_attention", attention, Q, K, V, is_causal=True),
    case("scaled_dot_product_attention", attention, Q, K, V, MASK),
    case("scaled_dot_product_attention", attention, Q, K, V, spread(-1, 1, 3, 3), scale=0.7),
    case("softmin", lambda x, dim: special.softmax(-x, axis=dim), LOGITS, 1),
    holds("gumbel_softmax", simplex, LOGITS),
    holds("gumbel_softmax", one_hot, LOGITS, hard=True),
    case("lstm_cell", lstm_cell, X, [H, C], *weights(4)),
    case("gru_cell", gru_cell, X, H, *weights(3)),
    case("rnn_tanh_cell", rnn_cell(np.tanh), X, H, *weights(1)),
    case("rnn_relu_cell", rnn_cell(relu), X, H, *weights(1)),
    case("lstm", unrolled(lstm_cell), STEPS, [H[None], C[None]], weights(4), *FLAGS),
    case("gru", unrolled(gru_cell), STEPS, H[None], weights(3), *FLAGS),
    case("rnn_tanh", unrolled(rnn_cell(np.tanh)), STEPS, H[None], weights(1), *FLAGS),
    case("rnn_relu", unrolled(rnn_cell(relu)), STEPS, H[None], weights(1), *FLAGS, half=False),
    case("pixel_shuffle", pixel_shuffle, IMAGE, 2),
    case("pixel_unshuffle", pixel_unshuffle, IMAGE, 2),
    case("channel_shuffle", channel_shuffle, IMAGE, 2),
    holds("dropout1d", whole_channels, ONES, 0.5),
    holds("dropout2d", whole_channels, ONES[..., None], 0.5),
    holds("dropout3d", whole_channels, ONES[..., None, None], 0.5),
    holds("feature_dropout", whole_channels, ONES, 0.5, True),
    holds("alpha_dropout", standardized, ONES, 0.5, True),
    holds("feature_alpha_dropout", standardized, ONES, 0.5, True),
]
