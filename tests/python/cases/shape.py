"""The same elements in other shapes: views, joins, splits."""

import itertools

import numpy as np

from . import case, spread, whole

X = spread(-2, 2, 2, 3, 4)
Y = spread(-2, 2, 2, 3, 4, seed=1)
M = spread(-2, 2, 3, 4)
S = spread(-2, 2, 4, 4)
V = spread(-2, 2, 5)
I = whole(-5, 6, 3, 4)


def reshape(x, *shape):
    return x.reshape(shape[0] if isinstance(shape[0], tuple) else shape)


def strided(x, size, stride, offset=0):
    return np.lib.stride_tricks.as_strided(x.ravel()[offset:], size, [s * x.itemsize for s in stride])


def unfold(x, dim, size, step):
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dim)
    return np.take(windows, range(0, windows.shape[dim], step), axis=dim)


def diagonal(x, offset=0, dim1=0, dim2=1):
    return np.diagonal(x, offset, dim1, dim2)


def diag_embed(x, offset=0):
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return out


def diagonal_scatter(x, src, offset=0):
    out = x.copy()
    np.einsum("ii->i", out)[...] = src
    return out


def select_scatter(x, src, dim, index):
    out = x.copy()
    np.moveaxis(out, dim, 0)[index] = src
    return out


def slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    out = x.copy()
    np.moveaxis(out, dim, 0)[start:end:step] = np.moveaxis(src, dim, 0)
    return out


def tensor_split(x, sections, dim=0):
    return np.array_split(x, list(sections) if isinstance(sections, tuple) else sections, axis=dim)


def split(x, size, dim=0):
    return np.split(x, list(range(size, x.shape[dim], size)), axis=dim)


def split_sections(x, sizes, dim=0):
    return np.split(x, np.cumsum(sizes)[:-1], axis=dim)


def extend(x, before, after, mode):
    return np.pad(x, list(zip(before, after)), {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


def pad(x, widths, mode="constant", value=0.0):
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2) + list(zip(widths[::2], widths[1::2]))[::-1]
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape))
    grown = [(max(a, 0), max(b, 0)) for a, b in pairs]
    kind = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    return np.pad(x[cut], grown, kind, **({"constant_values": value} if mode == "constant" else {}))


def block_diag(blocks):
    blocks = [np.atleast_2d(b) for b in blocks]
    out = np.zeros(np.sum([b.shape for b in blocks], axis=0))
    row = column = 0
    for b in blocks:
        out[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return out


def named(f, **fixed):
    return lambda x, *args: f(x, *args, **fixed)


CASES = [
    *(case(name, reshape, X, *shape) for name in ("reshape", "view_size") for shape in [(6, 4), ((2, 12),), (-1,), (4, -1, 2)]),
    case("reshape_as", lambda x, y: x.reshape(y.shape), X, spread(0, 1, 6, 4)),
    case("view_as", lambda x, y: x.reshape(y.shape), X, spread(0, 1, 6, 4)),
    case("view_dtype", lambda x, dtype: x.view(dtype), X, "int64", smooth=False, half=False),
    case("flatten", np.ravel, X),
    case("flatten", lambda x, start_dim: x.reshape(2, 12), X, start_dim=1),
    case("ravel", np.ravel, X),
    case("unflatten", lambda x, dim, sizes: x.reshape(2, 3, 2, 2), X, 2, (2, 2)),
    case("unflatten", lambda x, dim, sizes: x.reshape(2, 3, 2, 2), X, -1, (-1, 2)),
    case("squeeze", np.squeeze, X[:1, :, :1]),
    case("squeeze", np.squeeze, X[:1, :, :1], 0),
    case("squeeze", lambda x, dim: np.squeeze(x, dim) if x.shape[dim] == 1 else x, X, 1),
    case("unsqueeze", np.expand_dims, X, 1),
    case("unsqueeze", np.expand_dims, X, -1),
    case("permute", lambda x, *dims: np.transpose(x, dims), X, 2, 0, 1),
    case("permute", np.transpose, X, (2, -3, 1)),
    *(case(name, np.swapaxes, X, 0, -1) for name in ("transpose", "swapaxes", "swapdims")),
    case("t", np.transpose, M),
    case("t", np.transpose, V),
    *(case(name, np.moveaxis, X, *dims) for name in ("movedim", "moveaxis") for dims in [(0, 2), ((0, 1), (2, 0))]),
    case("expand", lambda x, *size: np.broadcast_to(x, (5, 3, 4)), M, 5, -1, 4),
    case("expand", np.broadcast_to, M[:1], (3, 4)),
    case("expand_as", lambda x, y: np.broadcast_to(x, y.shape), M[:1], M),
    case("broadcast_to", np.broadcast_to, M[:, :1], (2, 3, 4)),
    case("narrow", lambda x, dim, start, length: x[:, 1:3], X, 1, 1, 2),
    case("select", lambda x, dim, index: np.take(x, index, dim), X, 1, 2),
    case("select", lambda x, dim, index: np.take(x, index, dim), X, -1, -1),
    case("slice", lambda x, dim, start, end, step: x[:, :, 1:4:2], X, 2, 1, 9, 2),
    case("window", lambda x, starts, lengths: x[0:2, 1:3, 1:2], X, (0, 1, 1), (2, 2, 1)),
    case("unfold", unfold, X, 2, 2, 1),
    case("unfold", unfold, V, 0, 3, 2),
    case("as_strided", strided, M, (2, 3), (4, 1), 1),
    case("as_strided", strided, M, (3, 3), (1, 2)),
    case("diagonal", diagonal, X),
    case("diagonal", diagonal, X, 1, 2, 1),
    case("diag", np.diag, V),
    case("diag", np.diag, V, 1),
    case("diag", np.diag, M, -1),
    case("diagflat", np.diagflat, M),
    case("diag_embed", diag_embed, M),
    case("diag_embed", diag_embed, M, -2),
    case("diagonal_scatter", diagonal_scatter, S, S[0]),
    case("select_scatter", select_scatter, M, V[:3], 1, 2),
    case("slice_scatter", slice_scatter, M, Y[0, :2], 0, 1),
    case("slice_scatter", slice_scatter, M, Y[0, :, :2], 1, 0, 4, 2),
    case("tril", np.tril, X),
    case("tril", np.tril, M, -1),
    case("triu", np.triu, X),
    case("triu", np.triu, M, 1),
    case("flip", np.flip, X, (0, 2)),
    case("flip", np.flip, X, 1),
    case("flipud", np.flipud, X),
    case("fliplr", np.fliplr, X),
    case("rot90", np.rot90, X),
    case("rot90", np.rot90, X, 3, (1, 2)),
    case("roll", np.roll, X, 5),
    case("roll", np.roll, X, (1, -2), (0, 2)),
    case("repeat", lambda x, *n: np.tile(x, n), M, 2, 1, 3),
    case("tile", lambda x, *n: np.tile(x, n), X, 2, 3),
    case("repeat_interleave", np.repeat, M, 2),
    case("repeat_interleave", lambda x, n, dim: np.repeat(x, n, axis=dim), M, 3, dim=1),
    case("repeat_interleave_each", lambda x, n, dim: np.repeat(x, n, axis=dim), M, np.array([1, 0, 2]), dim=0),
    case("repeated_positions", lambda n: np.repeat(np.arange(3), n), np.array([2, 0, 3])),
    case("pad", pad, X, (1, 2)),
    case("pad", pad, X, (1, -1, 0, 2), value=0.5),
    case("pad", pad, X, (-1, 2, 2, -1), mode="circular"),
    *(case("extend", extend, X, (1, 0, 2), (0, 1, 1), mode) for mode in ("reflect", "replicate", "circular")),
    *(case("pad", pad, X, (1, 2), mode=mode) for mode in ("reflect", "replicate", "circular")),
    *(case(f"{name}_each", lambda tensors, f=f: list(map(f, tensors)), [M, V]) for name, f in [("atleast_1d", np.atleast_1d), ("atleast_2d", np.atleast_2d)]),
    case("atleast_3d_each", lambda tensors: list(map(np.atleast_3d, tensors)), [M, V]),
    *(case(name, f, M) for name, f in [("atleast_1d", np.atleast_1d), ("atleast_2d", np.atleast_2d), ("atleast_3d", np.atleast_3d)]),
    case("atleast_3d", np.atleast_3d, V),
    # Joins.
    *(case(name, np.concatenate, [X, Y]) for name in ("cat", "concat", "concatenate")),
    case("cat", lambda parts, dim: np.concatenate(parts, dim), [X, Y[..., :1]], dim=-1),
    case("stack", np.stack, [X, Y]),
    case("stack", lambda parts, dim: np.stack(parts, dim), [X, Y], dim=-1),
    *(case(name, f, parts) for parts in ([M, M], [V, V]) for name, f in [("hstack", np.hstack), ("vstack", np.vstack),
      ("row_stack", np.vstack), ("dstack", np.dstack), ("column_stack", np.column_stack)]),
    case("block_diag", block_diag, [M, S, V]),
    case("broadcast_tensors", lambda *t: list(np.broadcast_arrays(*t)), M[:1], M[:, :1]),
    case("meshgrid", lambda *t, indexing: np.meshgrid(*t, indexing=indexing), V, V[:3], indexing="ij"),
    case("meshgrid", lambda *t, indexing: np.meshgrid(*t, indexing=indexing), V, V[:3], indexing="xy"),
    case("cartesian_prod", lambda *t: np.array(list(itertools.product(*t))), V, V[:3]),
    case("combinations", lambda x: np.array(list(itertools.combinations(x, 2))), V),
    case("combinations", lambda x, r, with_replacement: np.array(list(itertools.combinations_with_replacement(x, r))), V[:3], r=3, with_replacement=True),
    # Splits.
    case("split", split, X, 2, dim=2),
    case("split", split, V, 2),
    case("split_sections", split_sections, X, [1, 3], dim=2),
    case("split_with_sizes", split_sections, V, [2, 0, 3]),
    case("chunk", lambda x, chunks: np.split(x, [2, 4]), V, 3),
    case("chunk", lambda x, chunks, dim: np.split(x, 2, axis=dim), X, 2, dim=-1),
    case("tensor_split", tensor_split, V, 3),
    case("tensor_split_at", tensor_split, X, (1, 3), dim=2),
    case("tensor_split_by", tensor_split, X, np.array([1, 3]), dim=2),
    case("tensor_split_by", lambda x, parts: np.array_split(x, int(parts)), V, np.array(3)),
    *(case(name, lambda x, n, f=f: f(x, list(n) if isinstance(n, tuple) else n), X, n) for name, f, n in [
      ("hsplit", np.hsplit, 3), ("hsplit_at", np.hsplit, (1, 2)), ("vsplit", np.vsplit, 2), ("vsplit_at", np.vsplit, (1,)),
      ("dsplit", np.dsplit, 2), ("dsplit_at", np.dsplit, (1, 3))]),
    case("unbind", lambda x: list(x), X),
    case("unbind", lambda x, dim: list(np.moveaxis(x, dim, 0)), X, 1),
]
