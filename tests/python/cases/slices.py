"""Slices combined, elements found among others, counted between edges, and taken apart."""

import numpy as np
from scipy import special

from . import case, spread, whole

X = spread(-2, 2, 4, 3)
SOURCE = spread(-2, 2, 5, 3, seed=1)
IDS = np.array([0, 2, 2, 3, 0])
LENGTHS, WITH_EMPTY = np.array([2, 1, 2]), np.array([2, 0, 3])
ROWS, ROW_LENGTHS = spread(-1, 1, 2, 3, 2), np.array([[1, 2], [0, 3]])
I = whole(-20, 20, 3, 4)
MANY = whole(-20, 20, 30, seed=1)
GAPS = np.where(spread(0, 1, 4, 5) < 0.3, np.nan, spread(-2, 2, 4, 5))
FULL = spread(-2, 2, 4, 5)
EDGES = np.array([-1.5, -0.25, 0.5, 1.75])
WEIGHTS = spread(0, 1, 4, 5, seed=2)
AT = np.array([0.0, 0.5, 2.0, 2.5])
ACROSS = np.array([-1.0, 0.0, 0.5])
POSITIVE = spread(2, 4, 3, 4)

REDUCE = {"prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}
SEGMENTS = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "max": lambda x, axis: np.max(x, axis, initial=-np.inf), "min": lambda x, axis: np.min(x, axis, initial=np.inf)}


def index_reduce(x, dim, index, source, reduce, include_self=True):
    x, source, out = np.moveaxis(x, dim, 0), np.moveaxis(source, dim, 0), np.moveaxis(x.copy(), dim, 0)
    for i in set(index):
        parts = source[index == i]
        out[i] = REDUCE[reduce](np.concatenate([x[i : i + 1], parts]) if include_self else parts, axis=0)
    return np.moveaxis(out, 0, dim)


def segment_reduce(x, reduce, lengths=None, offsets=None, axis=0, initial=None):
    if axis == 1:
        return np.stack([segment_reduce(row, reduce, own) for row, own in zip(x, lengths)])
    cuts = np.cumsum(lengths)[:-1] if offsets is None else offsets[1:-1]
    with np.errstate(invalid="ignore"):
        parts = [part if initial is None else np.concatenate([np.full_like(x[:1], initial), part]) for part in np.split(x, cuts)]
        return np.stack([SEGMENTS[reduce](part, axis=0) if len(part) or reduce != "mean" else np.full(x.shape[1:], np.nan) for part in parts])


def quantile(f):
    def reference(x, q, dim=None, keepdim=False, interpolation="linear"):
        return f(x, q, axis=dim, keepdims=keepdim, method=interpolation)

    return reference


def histogram(x, bins, range=None, weight=None, density=False):
    counts, edges = np.histogram(x, bins, range, density, weight)
    return counts.astype(float), edges


def gradient(x, spacing=1.0, dim=None, edge_order=1):
    steps = [spacing] if np.isscalar(spacing) or isinstance(spacing, np.ndarray) else spacing
    found = np.gradient(x, *steps, axis=dim, edge_order=edge_order)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def renorm(x, p, dim, most):
    norms = np.linalg.norm(np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1), p, axis=1)
    factor = np.where(norms > most, most / (norms + 1e-7), 1.0)
    return x * np.moveaxis(factor.reshape(-1, *[1] * (x.ndim - 1)), 0, dim)


CASES = [
    *(case("index_reduce", index_reduce, X, 0, IDS, SOURCE, how, include_self=own) for how in REDUCE for own in (True, False)),
    case("index_reduce", index_reduce, X.T.copy(), 1, IDS, SOURCE.T.copy(), "amax"),
    *(case("segment_reduce", segment_reduce, SOURCE, how, lengths=LENGTHS) for how in SEGMENTS),
    *(case("segment_reduce", segment_reduce, SOURCE, how, lengths=WITH_EMPTY, smooth=False) for how in SEGMENTS),
    case("segment_reduce", segment_reduce, SOURCE, "sum", offsets=np.array([0, 1, 1, 5]), initial=0.5),
    case("segment_reduce", segment_reduce, ROWS, "max", lengths=ROW_LENGTHS, axis=1, smooth=False),
    case("sum_to_size", lambda x, size: x.sum(0, keepdims=True), X, (1, 3)),
    *(case("isin", lambda x, y, invert=False: np.isin(x, y, invert=invert), I, y, **o) for y in (MANY[:3], MANY, 7) for o in ({}, {"invert": True})),
    case("unravel_index", lambda i, shape: list(np.unravel_index(i, shape)), whole(0, 24, 3, 2), (2, 3, 4)),
    *(case("histogram", histogram, FULL, 5, half=False, smooth=False, **o) for o in [{}, {"range": (-1.0, 1.5)}, {"density": True}, {"weight": WEIGHTS}]),
    case("histogram_between", histogram, FULL, EDGES, half=False, smooth=False),
    case("histogram_between", histogram, FULL, EDGES, half=False, smooth=False, weight=WEIGHTS, density=True),
    *(case("nanquantile", quantile(np.nanquantile), GAPS, 0.4, half=False, smooth=False, **o)
      for o in [{}, {"dim": 0}, {"dim": 1, "keepdim": True}, {"dim": 0, "interpolation": "midpoint"}]),
    case("nanquantile", quantile(np.nanquantile), FULL, 0.7, half=False),
    case("nanquantiles", quantile(np.nanquantile), GAPS, np.array([0.0, 0.25, 1.0]), 1, half=False, smooth=False),
    *(case("gradient", gradient, FULL, **o) for o in [{}, {"spacing": 2.0, "edge_order": 2}, {"dim": (1,)}]),
    case("gradient_spaced", gradient, FULL, spacing=(2.0, 0.5)),
    case("gradient_at", gradient, X, spacing=[AT, ACROSS], edge_order=2, smooth=False, half=False),
    *(case("vander", np.vander, spread(-2, 2, 4), *args) for args in [(), (3,), (3, True)]),
    case("renorm", renorm, X, 2.0, 0, 1.5),
    case("renorm", renorm, X, 1.0, 1, 4.0),
    case("frexp", lambda x: tuple(np.frexp(x)), X),
    case("nextafter", np.nextafter, X, spread(-2, 2, 4, 3, seed=3), half=False, pointwise=True),
    *(case(name, lambda x, p: np.vectorize(lambda a: special.multigammaln(a, p))(x), POSITIVE, 3) for name in ("mvlgamma", "multigammaln")),
    *(case(f"special_{name}", getattr(special, name), X, 1) for name in ("softmax", "log_softmax")),
    case("adjoint", lambda x: np.swapaxes(x, -1, -2), ROWS),
    case("narrow_copy", lambda x, dim, start, n: np.take(x, range(start, start + n), dim), X, 0, 1, 2),
    case("empty_strided", lambda size, stride: np.zeros(size, np.float32), (2, 3), (1, 2)),
    case("trapz", lambda y, x: np.trapezoid(y, x), X, np.sort(X)),
    case("trapz_spaced", lambda y, dx: np.trapezoid(y, dx=dx), X, dx=0.5),
]  # fmt: skip
