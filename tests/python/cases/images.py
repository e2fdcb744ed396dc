"""Blocks of images, images of other sizes, bags of rows, alignments."""

import itertools

import numpy as np
from scipy import special

from . import case, spread

IMAGE = spread(-1, 1, 2, 2, 4, 5)
LINE = spread(-1, 1, 1, 2, 5)
TABLE = spread(-1, 1, 6, 3)
BAGS = np.array([[0, 2, 2], [5, 1, 0]])
A, B, W, BIAS = spread(-1, 1, 4, 2), spread(-1, 1, 4, 3), spread(-1, 1, 5, 2, 3), spread(-1, 1, 5)
LOGS = special.log_softmax(spread(-1, 1, 4, 1, 3), axis=-1)


def blocks(x, kernel, dilation=1, padding=0, stride=1):
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    reach = [dilation * (k - 1) + 1 for k in kernel]
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))[:, :, ::stride, ::stride, ::dilation, ::dilation]
    return seen.transpose(0, 1, 4, 5, 2, 3).reshape(x.shape[0], -1, seen.shape[2] * seen.shape[3])


def folded(columns, size, kernel, dilation=1, padding=0, stride=1):
    """What `blocks` of the numbers of places tells, summed."""
    n, channels = columns.shape[0], columns.shape[1] // np.prod(kernel)
    places = np.arange(np.prod([s + 2 * padding for s in size])).reshape(1, 1, *(s + 2 * padding for s in size))
    to = blocks(places, kernel, dilation, 0, stride)[0]
    out = np.zeros((n, channels, places.size))
    parts = columns.reshape(n, channels, *to.shape)
    for index in np.ndindex(n, channels):
        np.add.at(out[index], to, parts[index])
    out = out.reshape(n, channels, *places.shape[2:])
    return out[:, :, padding : padding + size[0], padding : padding + size[1]]


def resized(x, size=None, scale_factor=None, mode="nearest", align_corners=False):
    """Along each dimension by a matrix of weights."""
    for d in range(2, x.ndim):
        n = x.shape[d]
        factor = scale_factor if np.isscalar(scale_factor) or scale_factor is None else scale_factor[d - 2]
        m = (size if np.isscalar(size) else size[d - 2]) if size is not None else int(n * factor)
        step = n / m if factor is None else 1 / factor
        weights = np.zeros((m, n))
        for i in range(m):
            if mode == "nearest":
                weights[i, min(int(i * step), n - 1)] = 1
            else:
                at = i * (n - 1) / max(m - 1, 1) if align_corners else max((i + 0.5) * step - 0.5, 0)
                low = min(int(at), n - 1)
                weights[i, low] += 1 - (at - low)
                weights[i, min(low + 1, n - 1)] += at - low
        x = np.moveaxis(np.moveaxis(x, d, -1) @ weights.T, -1, d)
    return x


def ctc(logs, targets, inputs, lengths, blank=0, reduction="mean"):
    """The sum over all sequences of classes that collapse to the targets."""
    losses = []
    for k, (steps, length) in enumerate(zip(inputs, lengths)):
        wanted, total = targets[k, :length].tolist(), -np.inf
        for path in itertools.product(range(logs.shape[-1]), repeat=steps):
            if [c for c, _ in itertools.groupby(path) if c != blank] == wanted:
                total = np.logaddexp(total, sum(logs[t, k, c] for t, c in enumerate(path)))
        losses.append(-total)
    losses = np.array(losses)
    return {"none": losses, "sum": losses.sum(), "mean": (losses / np.maximum(lengths, 1)).mean()}[reduction]


CTC = (LOGS, np.array([[1, 2]]), np.array([4]), np.array([2]))
BLOCKS = [((2, 3),), ((2, 2), 2), ((2, 2), 1, 1, 2)]

CASES = [
    *(case("unfold_blocks", blocks, IMAGE, *options) for options in BLOCKS),
    *(case("fold", folded, blocks(IMAGE, *options), (4, 5), *options) for options in BLOCKS),
    *(case("interpolate", resized, IMAGE, size) for size in [(8, 10), (3, 7), (1, 1)]),
    *(case("interpolate", resized, IMAGE, (6, 3), mode="bilinear", align_corners=corners) for corners in (True, False)),
    case("interpolate", resized, LINE, 8, mode="linear", align_corners=False),
    case("interpolate_by", resized, IMAGE, scale_factor=2.0),
    case("interpolate_by", resized, LINE, scale_factor=1.5, mode="linear", align_corners=False),
    case("bilinear", lambda a, b, w, c: np.einsum("ni,kij,nj->nk", a, w, b) + c, A, B, W, BIAS),
    *(case("embedding_bag", lambda i, w, mode, f=f: f(w[i], axis=1), BAGS, TABLE, mode=mode)
      for mode, f in [("sum", np.sum), ("mean", np.mean), ("max", np.max)]),
    case("embedding_bag", lambda i, w, offsets: np.stack([w[[0, 2]].mean(0), w[[2, 5, 1]].mean(0)]), BAGS.ravel()[:5], TABLE, np.array([0, 2])),
    *(case("ctc_loss", ctc, *CTC, reduction=r, half=False, twice=False) for r in ("mean", "sum", "none")),
]  # fmt: skip
