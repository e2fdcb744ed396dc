"""Statistics, norms, extrema with their places, running results, integrals."""

import numpy as np
from scipy import special, stats

from . import case, spread, whole

X = spread(-2, 2, 2, 3, 4)
M = spread(-2, 2, 3, 4)
Y = spread(-2, 2, 3, 4, seed=1)
V = spread(-2, 2, 6)
POSITIVE = spread(0.3, 2, 3, 4)
I = whole(0, 4, 3, 5)
GAPS = np.where(spread(0, 1, 3, 4) < 0.3, np.nan, M)
STEPS = np.array([0.0, 0.5, 2.0, 2.5])


def axes(dim):
    return tuple(dim) if isinstance(dim, (list, tuple)) else dim


def along(f):
    return lambda x, dim=None, keepdim=False: f(x, axis=axes(dim), keepdims=keepdim)


def moment(f):
    """var or std in all spellings."""

    def reference(x, dim=None, unbiased=True, keepdim=False, correction=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return f(x, axis=axes(dim), ddof=int(unbiased) if correction is None else correction, keepdims=keepdim)

    return reference


def with_mean(f):
    return lambda x, dim=None, *a, keepdim=False, **o: (moment(f)(x, dim, *a, keepdim=keepdim, **o), np.mean(x, axis=None if isinstance(dim, bool) else axes(dim), keepdims=keepdim))


def extremum(value, place):
    return lambda x, dim, keepdim=False: (value(x, axis=dim, keepdims=keepdim), place(x, axis=dim, keepdims=keepdim))


def median(x, dim=None):
    """The lower of the two in the middle."""
    flat = x.ravel() if dim is None else np.moveaxis(x, dim, -1)
    place = np.argsort(flat, axis=-1, kind="stable")[..., (flat.shape[-1] - 1) // 2]
    value = np.take_along_axis(flat, place[..., None], -1)[..., 0]
    return value if dim is None else (value, place)


def nanmedian(x, dim=None):
    flat = x.ravel()[None] if dim is None else np.moveaxis(x, dim, -1)
    places = [np.argsort(row, kind="stable")[(np.isfinite(row).sum() - 1) // 2] for row in flat]
    values = np.array([row[p] for row, p in zip(flat, places)])
    return values[0] if dim is None else (values, np.array(places))


def kthvalue(x, k, dim=-1, keepdim=False):
    place = np.take(np.argsort(x, axis=dim), [k - 1], axis=dim)
    value = np.take_along_axis(x, place, dim)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


def mode(x, dim=-1):
    """The most frequent value, the least of equals; and its last place."""
    value = stats.mode(x, axis=dim, keepdims=True).mode
    place = x.shape[dim] - 1 - np.argmax(np.flip(x == value, dim), axis=dim)
    return value.squeeze(dim), place


def running(f):
    """Running extrema with the last place where each was found."""

    def reference(x, dim):
        values = f.accumulate(x, axis=dim)
        numbers = np.arange(x.shape[dim]).reshape([-1 if d == dim % x.ndim else 1 for d in range(x.ndim)])
        return values, np.maximum.accumulate(np.where(x == values, numbers, 0), axis=dim)

    return reference


def norm(x, p=2, dim=None, keepdim=False):
    p = 2 if p in (None, "fro") else p
    x, dim = (x.ravel(), 0) if dim is None else (x, axes(dim))
    a = np.abs(x)
    if np.isinf(p):
        return (np.max if p > 0 else np.min)(a, axis=dim, keepdims=keepdim)
    if p == 0:
        return np.sum(x != 0, axis=dim, keepdims=keepdim).astype(float)
    return np.sum(a**p, axis=dim, keepdims=keepdim) ** (1 / p)


def histc(x, bins=100, min=0, max=0):
    low, high = (min, max) if min != max else (x.min(), x.max())
    return np.histogram(x, bins, (low, high))[0].astype(float)


def logcumsumexp(x, dim):
    return np.logaddexp.accumulate(x, axis=dim)


def cumulative_trapezoid(y, x=None, dx=1.0, dim=-1):
    gaps = dx if x is None else np.diff(x)
    return np.cumsum((y[..., 1:] + y[..., :-1]) / 2 * gaps, axis=dim)


SPELLINGS = [("{}", (), {"correction": 0}), ("{}_all", (False,), {}), ("{}_over", (1, False), {}), ("{}_over", (1,), {"unbiased": True, "keepdim": True})]
WAYS = [{}, {"dim": 1}, {"dim": (0, 2), "keepdim": True}]

CASES = [
    *(case(name.format(kind), moment(f), X, *args, **options) for kind, f in [("var", np.var), ("std", np.std)] for name, args, options in SPELLINGS),
    case("std", moment(np.std), X, 1),
    case("var_mean", with_mean(np.var), X, dim=1, correction=0),
    case("std_mean", with_mean(np.std), X, dim=(0, 2), keepdim=True),
    case("var_mean_all", with_mean(np.var), X, False),
    case("std_mean_all", with_mean(np.std), X, True),
    case("var_mean_over", with_mean(np.var), X, 1, False),
    case("std_mean_over", with_mean(np.std), X, 1, True),
    case("nansum", along(np.nansum), GAPS, 1),
    case("nanmean", along(np.nanmean), GAPS, 1),
    case("nansum", along(np.nansum), X),
    case("nanmean", along(np.nanmean), X, dim=(0, 1)),
    *(case("count_nonzero", lambda x, dim=None: np.count_nonzero(x, axis=axes(dim)), I, **o) for o in [{}, {"dim": 0}]),
    *(case("logsumexp", along(special.logsumexp), X, *a) for a in [(1,), ((0, 2), True)]),
    case("cov", np.cov, M),
    case("cov", np.cov, M[:1]),
    case("cov", lambda x, fweights: np.cov(x, fweights=fweights), M, fweights=np.array([1, 2, 3, 1])),
    case("cov", lambda x, fweights, aweights: np.cov(x, fweights=fweights, aweights=aweights), M, fweights=np.array([1, 2, 3, 1]), aweights=POSITIVE[0]),
    case("cov", lambda x, correction: np.cov(x, ddof=correction), M, correction=0),
    case("corrcoef", np.corrcoef, M),
    # Extrema.
    *(case(name, f, X) for name, f in [("max", np.max), ("min", np.min)]),
    *(case(name, extremum(*f), X, *a) for name, f in [("max_dim", (np.max, np.argmax)), ("min_dim", (np.min, np.argmin))] for a in [(1,), (-1, True)]),
    *(case(name, f, M, Y) for name, f in [("max_of_two", np.maximum), ("min_of_two", np.minimum)]),
    case("aminmax", lambda x: (np.min(x), np.max(x)), X),
    case("aminmax", lambda x, dim, keepdim: (np.min(x, dim, keepdims=keepdim), np.max(x, dim, keepdims=keepdim)), X, dim=1, keepdim=True),
    case("median", median, V),
    case("median_dim", median, M, 1),
    case("nanmedian", nanmedian, GAPS),
    case("nanmedian_dim", nanmedian, GAPS, 1),
    case("kthvalue", kthvalue, M, 2),
    case("kthvalue", kthvalue, M, 3, 0, True),
    case("mode", mode, I),
    case("mode", mode, I.astype(float), smooth=False),
    case("quantile", lambda x, q: np.quantile(x, q), V, 0.3, half=False),
    *(case("quantile", lambda x, q, dim, interpolation: np.quantile(x, q, axis=dim, method=interpolation), M, 0.4, dim=1, interpolation=how, half=False)
      for how in ("linear", "lower", "higher", "nearest", "midpoint")),
    case("quantiles", lambda x, q, dim: np.quantile(x, q, axis=dim), M, np.array([0.0, 0.25, 1.0]), dim=1, smooth=False, half=False),
    # Running results, differences, integrals.
    *(case("cumprod", lambda x, dim: np.cumprod(x, axis=dim), x, dim) for x in (POSITIVE, I) for dim in (0, -1)),
    case("cummax", running(np.maximum), M, 1),
    case("cummin", running(np.minimum), M, 0),
    case("logcumsumexp", logcumsumexp, M, 1),
    case("diff", np.diff, M),
    case("diff", lambda x, n, dim: np.diff(x, n, axis=dim), M, 2, 0),
    case("diff", lambda x, n, dim, before: np.diff(x, n, dim, prepend=before), M, 1, 0, Y[:1]),
    case("trapezoid_spaced", lambda y, dx: np.trapezoid(y, dx=dx), M, dx=0.5),
    case("trapezoid", np.trapezoid, M, STEPS),
    case("cumulative_trapezoid_spaced", cumulative_trapezoid, M, dx=0.5),
    case("cumulative_trapezoid", cumulative_trapezoid, M, STEPS),
    case("bincount", np.bincount, I.ravel()),
    case("bincount", np.bincount, I.ravel(), minlength=9),
    case("bincount", np.bincount, I.ravel(), spread(0, 1, 15), smooth=False, half=False),
    case("histc", histc, V, 4, half=False, smooth=False),
    case("histc", histc, V, 5, -1.0, 1.0, half=False, smooth=False),
    # Norms.
    case("norm2", lambda x: norm(x), X),
    case("norm2", along(lambda x, axis, keepdims: norm(x, 2, axis, keepdims)), X, dim=1),
    case("mean_square", lambda x: np.mean(x * x), X),
    case("mean_square", along(lambda x, axis, keepdims: np.mean(x * x, axis=axis, keepdims=keepdims)), X, dim=1),
    *(case(name, norm, M, p, 1) for name in ("norm", "vector_norm", "linalg_norm") for p in (1.0, 2.0, 3.0, np.inf, -np.inf)),
    case("norm", norm, X),
    case("norm_named", norm, X, "fro"),
    case("linalg_norm", norm, X),
    case("linalg_norm_named", lambda a, p: np.linalg.norm(a, p), M, "fro"),
    case("vector_norm", norm, X, 0.0, smooth=False),
    case("vector_norm", norm, X, 2.0, (0, 2), True),
    case("matrix_norm", lambda a: np.linalg.norm(a), M),
    *(case("matrix_norm_of", lambda a, p: np.linalg.norm(a, p), M, p) for p in (1.0, -1.0, np.inf, -np.inf)),
    case("dist", lambda a, b: np.linalg.norm(a - b), M, Y),
    case("dist", lambda a, b, p: norm(a - b, p), M, Y, 3.0),
]  # fmt: skip
