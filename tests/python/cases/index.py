"""Elements that other tensors name."""

import numpy as np

from . import case, spread, whole

X = spread(-2, 2, 3, 4)
Y = spread(-2, 2, 2, 4, seed=1)
V = spread(-2, 2, 6)
ROWS = np.array([2, 0])
I = whole(-5, 6, 3, 4)
TRUTH = whole(0, 2, 3, 4).astype(bool)
PLACES = np.array([[0, 2, 1, 0], [1, 1, 0, 2]])
SORTED = np.array([-1.0, 0.0, 0.5, 2.0])
TIES = np.array([3, 1, 2, 3, 1, 1])


def put(x, indices, values, accumulate=False):
    out = x.copy()
    key = tuple(slice(None) if i is None else i for i in indices)
    if accumulate:
        np.add.at(out, key, values)
    else:
        out[key] = values
    return out


def index_add(x, dim, index, source, alpha=1):
    out = np.moveaxis(x.copy(), dim, 0)
    np.add.at(out, index, alpha * np.moveaxis(source, dim, 0))
    return np.moveaxis(out, 0, dim)


def index_copy(x, dim, index, source):
    out = np.moveaxis(x.copy(), dim, 0)
    out[index] = np.moveaxis(np.broadcast_to(source, np.moveaxis(out, 0, dim).take(index, dim).shape), dim, 0)
    return np.moveaxis(out, 0, dim)


def scatter(x, dim, index, src, reduce=None, include_self=True):
    """PyTorch's documented loop: `out[index[i][j]][j] = src[i][j]` along dimension 0."""
    out, counts = x.copy(), np.ones_like(x)
    fold = {None: lambda a, b: b, "add": np.add, "sum": np.add, "multiply": np.multiply, "prod": np.multiply, "amax": max, "amin": min, "mean": np.add}[reduce]
    seen = set() if not include_self else None
    for place in np.ndindex(index.shape):
        to = list(place)
        to[dim] = index[place]
        to, value = tuple(to), src if np.isscalar(src) else src[place]
        if seen is not None and to not in seen:
            seen.add(to)
            out[to], counts[to] = value, 1
        else:
            out[to], counts[to] = fold(out[to], value), counts[to] + 1
    return out / counts if reduce == "mean" else out


def masked_scatter(x, mask, source):
    out = x.copy()
    out[mask] = source.ravel()[: mask.sum()]
    return out


def order(x, dim=-1, descending=False):
    return np.argsort(-x if descending else x, axis=dim, kind="stable")


def sort(x, dim=-1, descending=False):
    places = order(x, dim, descending)
    return np.take_along_axis(x, places, dim), places


def topk(x, k, dim=-1, largest=True):
    places = np.take(order(x, dim, largest), range(k), axis=dim)
    return np.take_along_axis(x, places, dim), places


def unique(x, return_inverse=False, return_counts=False, dim=None):
    values = np.unique(x, return_inverse=return_inverse, return_counts=return_counts, axis=dim)
    if not isinstance(values, tuple):
        return values
    return [values[0], *(v.reshape(x.shape) if i == 0 and return_inverse and dim is None else v for i, v in enumerate(values[1:]))]


def unique_consecutive(x, return_counts=False):
    starts = np.flatnonzero(np.r_[True, x[1:] != x[:-1]])
    return (x[starts], np.diff(np.r_[starts, len(x)])) if return_counts else x[starts]


CASES = [
    case("gather", lambda x, dim, i: np.take_along_axis(x, i, dim), X, 0, PLACES),
    case("gather_as", lambda x, dim, i, sparse_grad: np.take_along_axis(x, i, dim), X, 0, PLACES, sparse_grad=True),
    case("gather", lambda x, dim, i: np.take_along_axis(x, i, dim), X, 1, PLACES[:, :2].repeat(2, 0)[:3]),
    case("take_along_dim", lambda x, i, dim: np.take_along_axis(x, i, dim), X, PLACES, dim=0),
    case("take_along_dim", lambda x, i, dim: np.take_along_axis(x, i, dim), X, PLACES - 3, dim=0),
    case("take_along_dim", lambda x, i: x.ravel()[i], X, np.array([11, 0])),
    case("take", np.take, X, np.array([[11, 0], [-1, 5]])),
    case("index_select", lambda x, dim, i: np.take(x, i, dim), X, 0, ROWS),
    case("index_select", lambda x, dim, i: np.take(x, i, dim), X, 1, np.array([3, 3, 0])),
    case("index_get", lambda x, key: x[tuple(slice(None) if k is None else k for k in key)], X, [ROWS]),
    case("index_get", lambda x, key: x[:, key[1]], X, [None, np.array([1, 3, 3])]),
    case("index_get", lambda x, key: x[key[0]], X, [TRUTH]),
    case("index_put", put, X, [ROWS], Y),
    case("index_put_in_place", put, X, [ROWS], Y, smooth=False),
    case("index_put", put, X, [np.array([0, 0])], Y, accumulate=True),
    case("index_add", index_add, X, 0, np.array([0, 0]), Y),
    case("index_add", index_add, X, 1, np.array([3, 1]), Y.T[:3, :2], alpha=0.5),
    case("index_copy", index_copy, X, 0, ROWS, Y),
    case("index_fill", lambda x, dim, i, value: index_copy(x, dim, i, np.full((), value)), X, 0, ROWS, 0.5),
    case("put", lambda x, i, v: np.put(c := x.copy(), i, v) or c, X, np.array([0, 5]), V[:2]),
    case("scatter", scatter, X, 0, np.array([[0, 2, 1, 0]]), Y),
    case("scatter", scatter, X, 0, PLACES, Y, reduce="add", smooth=False),
    case("scatter_value", scatter, X, 0, PLACES, 0.5),
    case("scatter_add", lambda *a: scatter(*a, "add"), X, 0, PLACES, Y),
    *(case("scatter_reduce", scatter, X, 0, PLACES, Y, r, include_self=s) for r in ("sum", "prod", "mean", "amax", "amin") for s in (True, False)),
    case("masked_fill", lambda x, mask, value: np.where(mask, value, x), X, TRUTH, 0.25),
    case("masked_select", lambda x, mask: x[mask], X, TRUTH),
    case("masked_scatter", masked_scatter, X, TRUTH, spread(-1, 1, 12)),
    case("nonzero", np.argwhere, I),
    case("argwhere", np.argwhere, TRUTH),
    *(case(name, np.nonzero, x) for name, x in [("nonzero_tuple", I), ("where_places", TRUTH)]),
    case("nonzero_as", lambda x, as_tuple: np.nonzero(x), I, as_tuple=True),
    case("nonzero_as", lambda x, as_tuple: np.argwhere(x), TRUTH, as_tuple=False),
    case("embedding", lambda i, w: w[i], whole(0, 3, 2, 5), X),
    case("one_hot", lambda i: np.eye(4, dtype=int)[i], np.array([[0, 3], [1, 1]])),
    case("one_hot", lambda i, n: np.eye(n, dtype=int)[i], np.array([0, 3]), 5),
    # In order.
    case("argplace", lambda x, dim, place, count: order(x, dim).take(range(place, place + count), dim), X, 1, 2, 1),
    case("argplace", lambda x, dim, place, count: order(x, dim).take(range(place, place + count), dim), X, 0, 0, 2),
    case("argsort", order, X),
    case("argsort", order, X, 0, True),
    case("argsort", lambda x, stable: order(x), TIES, stable=True),
    case("sort", sort, X),
    case("sort", sort, X, 0, True),
    case("sort", sort, I, 1),
    case("msort", lambda x: np.sort(x, axis=0), X),
    case("topk", topk, X, 2),
    case("topk", topk, X, 3, 0, largest=False),
    case("searchsorted", np.searchsorted, SORTED, X),
    case("searchsorted", np.searchsorted, SORTED, 0.25),
    case("searchsorted", lambda s, x, right: np.searchsorted(s, x, "right"), SORTED, SORTED, right=True),
    case("bucketize", lambda x, b: np.searchsorted(b, x), X, SORTED),
    case("bucketize", lambda x, b: np.searchsorted(b, x), 0.25, SORTED),
    case("bucketize", lambda x, b, right: np.searchsorted(b, x, "right"), SORTED, SORTED, right=True),
    case("unique", np.unique, TIES),
    case("unique", unique, TIES, return_inverse=True, return_counts=True),
    case("unique", unique, I[:, :1] % 2, dim=0, return_counts=True),
    case("unique", unique, I.reshape(2, 2, 3) % 2, dim=2),
    case("unique_consecutive", unique_consecutive, TIES),
    case("unique_consecutive", unique_consecutive, TIES, return_counts=True),
]
