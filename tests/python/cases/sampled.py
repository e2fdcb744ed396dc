"""Images where a grid says, random windows, and other functions of places."""

import itertools

import numpy as np

from . import case, holds, spread

IMAGE = spread(-1, 1, 2, 2, 3, 4)
VOLUME = spread(-1, 1, 1, 2, 3, 2, 4)
GRID = spread(-1.4, 1.4, 2, 2, 3, 2)
GRID3 = spread(-1.4, 1.4, 1, 1, 2, 2, 3)
THETA, THETA3 = spread(-1, 1, 2, 2, 3), spread(-1, 1, 1, 3, 4)
TALL = spread(-1, 1, 2, 1, 6, 5)
PARTS = spread(0, 1, 2, 1, 2)
DEEP, DEEP_PARTS = spread(-1, 1, 1, 1, 4, 5, 5), spread(0, 1, 1, 1, 3)


def reflected(at, low, high):
    """Steps back and forth between the mirrors."""
    while at < low or at > high:
        at = 2 * low - at if at < low else 2 * high - at
    return at


def inside(at, n, padding, corners):
    if padding == "reflection":
        at = reflected(at, 0, n - 1) if corners else reflected(at, -0.5, n - 0.5)
    return at if padding == "zeros" else min(max(at, 0), n - 1)


def keys(x):
    """Keys' kernel."""
    x, a = abs(x), -0.75
    return ((a + 2) * x - (a + 3)) * x * x + 1 if x <= 1 else ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def taps(at, n, mode, padding, corners):
    """Elements and weights along a dimension."""
    at = (at + 1) / 2 * (n - 1) if corners else ((at + 1) * n - 1) / 2
    if mode == "bicubic":
        low = int(np.floor(at))
        return [(inside(k, n, padding, corners), keys(at - k)) for k in range(low - 1, low + 3)]
    at = inside(at, n, padding, corners)
    if mode == "nearest":
        return [(round(at), 1)]
    low = int(np.floor(at))
    return [(low, low + 1 - at), (low + 1, at - low)]


def grid_sample(x, grid, mode="bilinear", padding="zeros", align_corners=False):
    lengths = x.shape[2:]
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n, *place in np.ndindex(grid.shape[:-1]):
        along = [taps(at, m, mode, padding, align_corners) for at, m in zip(grid[(n, *place)][::-1], lengths)]
        for corner in itertools.product(*along):
            index = tuple(int(i) for i, _ in corner)
            if all(0 <= i < m for i, m in zip(index, lengths)):
                out[(n, slice(None), *place)] += x[(n, slice(None), *index)] * np.prod([w for _, w in corner])
    return out


def affine_grid(theta, size, align_corners=False):
    ends = [1.0 if align_corners else 1 - 1 / n for n in size[2:]]
    places = np.meshgrid(*(np.linspace(-e, e, n) for e, n in zip(ends, size[2:])), indexing="ij")
    base = np.stack([*places[::-1], np.ones(size[2:])], -1)
    return np.einsum("...j,nij->n...i", base, theta)


def starts(part, n, count, kernel):
    step = (n - kernel) / max(count - 1, 1)
    return [int((i + part) * step) - int(part * step) for i in range(count - 1)] + [n - kernel]


def fractional(x, kernel, size, ratio, indices, parts):
    lengths = x.shape[2:]
    out, places = np.zeros((*x.shape[:2], *size)), np.zeros((*x.shape[:2], *size), int)
    numbers = np.arange(np.prod(lengths)).reshape(lengths)
    for n, c in np.ndindex(x.shape[:2]):
        own = parts[n, c][::-1] if len(size) == 2 else parts[n, c]
        lines = [starts(p, m, s, k) for p, m, s, k in zip(own, lengths, size, kernel)]
        for place in np.ndindex(*size):
            window = tuple(slice(line[i], line[i] + k) for line, i, k in zip(lines, place, kernel))
            best = x[n, c][window].argmax()
            out[(n, c, *place)], places[(n, c, *place)] = x[n, c][window].flat[best], numbers[window].flat[best]
    return (out, places) if indices else out


def counts(draws):
    assert (draws >= 0).all() and (draws % 1 == 0).all()
    assert abs(draws.mean() - 4) < 0.1 and abs(draws.var() - 4) < 0.3


CASES = [
    *(case("grid_sample", grid_sample, IMAGE, GRID, mode, padding, corners, half=mode != "nearest", tolerance=20)
      for mode in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border", "reflection") for corners in (False, True)),
    *(case("grid_sample", grid_sample, VOLUME, GRID3, mode, "border", half=mode != "nearest") for mode in ("bilinear", "nearest")),
    *(case("affine_grid", affine_grid, THETA, (2, 1, 3, 4), corners) for corners in (False, True)),
    case("affine_grid", affine_grid, THETA3, (1, 1, 2, 3, 4)),
    case("fractional_max_pool2d", fractional, TALL, (2, 3), (3, 2), None, True, PARTS, half=False),
    case("fractional_max_pool2d", lambda x, k, s, r, i, p: fractional(x, k, (3, 2), r, i, p), TALL, (2, 2), None, (0.5, 0.5), False, PARTS, half=False),
    case("fractional_max_pool3d", fractional, DEEP, (2, 2, 1), (2, 3, 4), None, True, DEEP_PARTS, half=False),
    holds("poisson", counts, np.full((100, 100), 4.0)),
]  # fmt: skip
