"""Functions whose arguments the core takes in another form."""

from __future__ import annotations

import builtins
import functools
import math
import mmap
import os
from typing import NamedTuple

from .. import _core
from .._tensors.layouts import creates, strided
from .._tensors.size import Size
from .arguments import name_arguments


def in_place(name):
    """A method of tensors as a function, whose first argument may be named `input`."""
    method = getattr(_core.Tensor, name)

    @functools.wraps(method)
    def function(input, *args, **kwargs):
        return method(input, *args, **kwargs)

    return function


def tensordot(a, b, dims=2, *, out=None):
    """The products over dimensions of `a` and `b`, summed: over the last `dims` of `a` and the first of `b`, or over the pairs that two lists
    of dimensions name."""
    if isinstance(dims, _core.Tensor):
        dims = dims.tolist()
    if not isinstance(dims, (tuple, list)):
        return _core.tensordot(a, b, dims, out=out)
    dims_a, dims_b = dims
    return _core.tensordot_over(a, b, dims_a, dims_b, out=out)


class _HistogramDD(NamedTuple):
    hist: _core.Tensor
    bin_edges: tuple[_core.Tensor, ...]


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """How many points, the rows of the last dimension, fall into the boxes of a grid, or what their `weight` adds up to, and the edges of the
    boxes along each coordinate. `bins` is a number of boxes, or one for each coordinate, between the extremes or what `range` says (the least
    and the greatest of each); or vectors of edges. Points beyond the last edges count nowhere; with `density` all adds up to 1."""
    points = input.reshape(-1, input.shape[-1])
    dims = points.shape[1]
    if dims > 32:
        raise ValueError(f"histogramdd: input of {dims} coordinates, expected at most 32: a dimension of the histogram each")
    bins = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(bins) != dims or (range is not None and len(range) != 2 * dims):
        raise ValueError(f"histogramdd: expected bins, and two numbers of range, for each of {dims} coordinates")
    edges, place, inside = [], 0, _core.ones(len(points), dtype=_core.bool, device=input.device)
    for d, n in enumerate(bins):
        x = points[:, d].contiguous()
        edges.append(n if isinstance(n, _core.Tensor) else _even_edges(x, n, range and range[2 * d : 2 * d + 2]))
        last = len(edges[d]) - 2
        inside &= (x >= edges[d][0]) & (x <= edges[d][-1])
        place = place * (last + 1) + (_core.searchsorted(edges[d], x, right=True) - 1).clamp(0, last)
    counts = _core.ones(len(points), dtype=input.dtype, device=input.device) if weight is None else weight.reshape(-1)
    sizes = [len(e) - 1 for e in edges]
    hist = _core.zeros(math.prod(sizes), dtype=input.dtype, device=input.device).index_add(0, place[inside], counts[inside]).reshape(sizes)
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            hist = hist / e.diff().reshape([-1 if k == d else 1 for k in builtins.range(dims)])
    return _HistogramDD(hist, tuple(edges))


def _even_edges(x, count, bounds):
    low, high = bounds if bounds else (x.min().item(), x.max().item()) if len(x) else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return _core.linspace(low, high, count + 1, dtype=x.dtype, device=x.device)


def lu(A, pivot=True, get_infos=False):
    """`L` and `U` in one matrix and the exchanges of rows, as `linalg.lu_factor` has them; and, with `get_infos`, for each matrix 0 or the place,
    counted from 1, of the first 0 on the diagonal of `U`."""
    both, pivots, infos = _core.linalg.lu_factor_ex(A, pivot=pivot)
    return (both, pivots, infos) if get_infos else (both, pivots)


def svd_lowrank(A, q=6, niter=2, M=None):
    """`U`, `S` and `V` of about the `q` largest singular values of `A`, or of `A - M`: from random combinations of its columns, improved `niter`
    times (Halko, Martinsson and Tropp, "Finding structure with randomness", 2011, 5.1)."""
    A = A if M is None else A - M
    if not 0 <= q <= min(A.shape[-2:]):
        raise ValueError(f"svd_lowrank: q={q}, expected 0 to {min(A.shape[-2:])}, the shorter side")
    if niter < 0:
        raise ValueError(f"svd_lowrank: niter={niter}, expected 0 or more")
    basis = _core.linalg.qr(A @ _core.randn(A.shape[-1], q, dtype=A.dtype, device=A.device))[0]
    for _ in range(niter):
        basis = _core.linalg.qr(A.mT @ basis)[0]
        basis = _core.linalg.qr(A @ basis)[0]
    U, S, Vh = _core.linalg.svd(basis.mT @ A, full_matrices=False)
    return basis @ U, S, Vh.mT


def pca_lowrank(A, q=None, center=True, niter=2):
    """[`svd_lowrank`] of a matrix of samples, one a row, from which their mean is taken if `center`: `V` holds the principal directions. Without
    `q`, six of them at most."""
    q = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def lobpcg(
    A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
    ortho_iparams=None, ortho_fparams=None, ortho_bparams=None,
):  # fmt: skip
    """The `k` greatest eigenvalues of symmetric matrices `A`, the greatest first, or with `largest=False` the least, and their vectors, the columns
    of a matrix; with a positive definite `B` those of `A x = lambda B x`. `k` is as many as `X` has columns, or else 1. All are computed, by
    `linalg.eigh`, and nothing is guessed: where an iteration begins (`X`), how and when it ends (`iK`, `niter`, `tol`, `method`, `tracker`, `ortho_*`)
    makes no difference, nor does `n`."""
    A, B = (t.to_dense() if t is not None and t.layout is not strided else t for t in (A, B))
    k = (1 if X is None else X.shape[-1]) if k is None else k
    if not 0 < k <= A.shape[-1]:
        raise ValueError(f"lobpcg: k={k}, expected 1 to {A.shape[-1]}, the rows of A")
    if B is None:
        values, vectors = _core.linalg.eigh(A)
    else:
        root = _core.linalg.cholesky(B)
        half = _core.linalg.solve_triangular(root, A, upper=False)
        values, vectors = _core.linalg.eigh(_core.linalg.solve_triangular(root, half.mH, upper=False))
        vectors = _core.linalg.solve_triangular(root.mH, vectors, upper=True)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]


def hash_tensor(input, dim=None, *, keepdim=False, mode=0):
    """The bits of all elements, as numbers of 64 bits, or of those along `dim`, combined by exclusive or; in uint64."""
    if mode != 0:
        raise ValueError(f"hash_tensor: mode={mode}, expected 0")
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    rank = max(input.dim(), 1)
    if wrong := [d for d in dims if not -rank <= d < rank]:
        raise IndexError(f"hash_tensor: dim={wrong[0]}, expected {-rank} to {rank - 1}")
    dims = sorted({d % rank for d in dims} & set(range(input.dim())))
    rest = [d for d in range(input.dim()) if d not in dims]
    wide = input.to(_core.float64 if input.is_floating_point() else _core.int64).view(_core.uint64)
    bits = wide.permute([*rest, *dims]).reshape([*(input.shape[d] for d in rest), -1])
    while (n := bits.shape[-1]) > 1:
        halves = bits[..., : n // 2] ^ bits[..., n // 2 : n // 2 * 2]
        bits = _core.cat([halves, bits[..., n - n % 2 :]], -1)
    bits = bits.sum(-1).to(_core.uint64) if bits.shape[-1] == 0 else bits[..., 0]
    return bits.reshape([1 if d in dims else n for d, n in enumerate(input.shape)]) if keepdim else bits


@creates
def from_file(filename, shared=None, size=0, *, dtype=None, device=None, requires_grad=False):
    """A vector of `size` elements over the bytes of a file: `shared`, changes go to the file, which is made or extended where needed; else they
    stay in memory."""
    if device is not None and _core.device(device).type != "cpu":
        raise RuntimeError(f"from_file(): only CPU memory can be a file's, got device {device}")
    dtype = dtype or _core.get_default_dtype()
    need = size * dtype.itemsize
    if not shared:
        with open(filename, "rb") as file:
            memory = mmap.mmap(file.fileno(), need, access=mmap.ACCESS_COPY)
    else:
        with open(os.open(filename, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
            if os.fstat(file.fileno()).st_size < need:
                file.truncate(need)
            memory = mmap.mmap(file.fileno(), need)
    return _core.frombuffer(memory, dtype=dtype, count=size, requires_grad=requires_grad)


def broadcast_shapes(*shapes):
    """The shape that these broadcast to; a number stands for one dimension."""
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    return _core.broadcast_tensors(*(_core.empty(shape, device="meta") for shape in shapes))[0].shape if shapes else Size()


@creates
def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """A number as a tensor without dimensions, of the default dtype."""
    return _core.full((), s, dtype=dtype or _core.get_default_dtype(), device=device, requires_grad=requires_grad)


def is_same_size(input, other):
    """Whether two tensors have the same shape."""
    return input.shape == other.shape


@creates
def bartlett_window(window_length, periodic=True, *, dtype=None, device=None, requires_grad=False):
    """A triangle of this many numbers, from 0 to 1 and back: to the 0 that would come next, if `periodic`."""
    return _window(window_length, periodic, lambda t: 1 - (2 * t - 1).abs(), dtype, device, requires_grad)


@creates
def blackman_window(window_length, periodic=True, *, dtype=None, device=None, requires_grad=False):
    """Blackman's window: `0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t)`."""
    shape = lambda t: 0.42 - 0.5 * (math.tau * t).cos() + 0.08 * (2 * math.tau * t).cos()  # noqa: E731
    return _window(window_length, periodic, shape, dtype, device, requires_grad)


@creates
def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, device=None, requires_grad=False):
    """Hamming's window: `alpha - beta cos(2 pi t)`."""
    return _window(window_length, periodic, lambda t: alpha - beta * (math.tau * t).cos(), dtype, device, requires_grad)


@creates
def hann_window(window_length, periodic=True, *, dtype=None, device=None, requires_grad=False):
    """Hann's window: `(1 - cos(2 pi t)) / 2`."""
    return _window(window_length, periodic, lambda t: 0.5 - 0.5 * (math.tau * t).cos(), dtype, device, requires_grad)


@creates
def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, device=None, requires_grad=False):
    """Kaiser's window: `I0(beta sqrt(1 - (2 t - 1)^2)) / I0(beta)`."""
    rise = lambda t: (beta * (1 - (2 * t - 1).square()).clamp(min=0).sqrt()).i0()  # noqa: E731
    shape = lambda t: rise(t) / rise(_core.tensor(0.5, dtype=t.dtype, device=t.device))  # noqa: E731
    return _window(window_length, periodic, shape, dtype, device, requires_grad)


def _window(length, periodic, shape, dtype, device, requires_grad):
    """`shape` of times from 0 to 1, computed in f64."""
    if length < 0:
        raise ValueError(f"window_length must be 0 or more, not {length}")
    steps = length if periodic else length - 1
    times = _core.arange(length, dtype=_core.float64, device=device) / max(steps, 1)
    values = shape(times) if length > 1 else _core.ones_like(times)
    return values.to(dtype or _core.get_default_dtype()).requires_grad_(requires_grad)


name_arguments(globals())
