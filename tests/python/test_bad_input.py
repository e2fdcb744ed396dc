"""Bad input gets an error of the right class that says what was wrong; nothing is lost, and the process lives."""

import sys

import numpy as np
import pytest

import opforge as torch
import opforge.linalg as L
import opforge.nn.functional as F

X = torch.arange(6.0).reshape(2, 3)
I = torch.arange(6).reshape(2, 3)
E = torch.zeros(0, 3)
MANY = [1] * 40
BIG = 2**62


def error(call, *classes, words=()):
    """A row: a call, the classes that its error has, words of the message."""
    return pytest.param(call, classes, words)


SHAPE, DTYPE, DEVICE = torch.ShapeError, torch.DTypeError, torch.DeviceError
INDEX, VALUE, MEMORY = torch.IndexError, torch.ArgumentError, torch.OutOfMemoryError

ROWS = [
    # 1 Negative or non-integer dims; two -1 in reshape.
    error(lambda: torch.zeros(-1), ValueError, RuntimeError, words=["zeros", "size", "-1"]),
    error(lambda: torch.zeros(2, 2.5), TypeError, words=["size"]),
    error(lambda: X.reshape(-1, -1), SHAPE, words=["reshape", "-1"]),
    error(lambda: X.reshape(-2, 3), SHAPE, words=["reshape"]),
    error(lambda: X.reshape(4, -1), SHAPE, words=["reshape"]),
    error(lambda: E.reshape(0, -1), SHAPE, words=["reshape"]),
    error(lambda: X.expand(-1, -1, 3), ValueError, words=["expand", "-1"]),
    error(lambda: X.narrow(0, 0, -1), ValueError, words=["narrow", "length", "-1"]),
    # 2 Products that overflow, also with a zero dim.
    error(lambda: torch.zeros(BIG, BIG), (SHAPE, MEMORY), words=["shape"]),
    error(lambda: torch.zeros(2**33, 2**33, 0, 5), SHAPE),
    error(lambda: torch.zeros(2**61), (SHAPE, MEMORY)),
    error(lambda: torch.zeros(1).expand(BIG, BIG), SHAPE),
    error(lambda: X.repeat(BIG, 8), (SHAPE, MEMORY)),
    error(lambda: torch.arange(0, 2**63 - 1), (SHAPE, MEMORY)),
    error(lambda: torch.eye(2**40), (SHAPE, MEMORY)),
    error(lambda: torch.histogramdd(torch.ones(1).expand(2, 2**31), 3), ValueError, words=["histogramdd", "coordinates"]),
    *(error(lambda f=f: f(X, 0, 2), ValueError, words=["norm_type"]) for f in (F.lp_pool1d, F.lp_pool2d)),
    *(error(lambda m=m: F.pad(X, (-(2**63), 0), m), VALUE, words=["pad"]) for m in ("reflect", "replicate", "circular")),
    # 3 Rank 0 where rank is needed; rank above the maximum.
    error(lambda: len(torch.tensor(1.0)), TypeError),
    error(lambda: iter(torch.tensor(1.0)), TypeError),
    error(lambda: torch.tensor(1.0)[0], IndexError),
    *(error(lambda d=d: torch.tensor(1.0).size(d), INDEX, words=["size", "no dim"]) for d in (-1, 0, 1)),
    *(error(lambda d=d: torch.tensor(1.0).stride(d), INDEX, words=["stride", "no dim"]) for d in (-1, 0, 1)),
    *(error(lambda i=i: X[..., ..., i], INDEX, words=["dimension", "..."]) for i in (0, slice(1), [0])),
    error(lambda: torch.tensor(1.0) @ X, SHAPE, words=["matmul"]),
    error(lambda: torch.cat([torch.tensor(1.0), torch.tensor(2.0)]), (SHAPE, INDEX), words=["cat"]),
    error(lambda: torch.zeros(*MANY), SHAPE, words=["rank"]),
    error(lambda: torch.ones(1).reshape(MANY), SHAPE, words=["rank"]),
    # 4 Axis out of range; duplicate axes.
    error(lambda: X.sum(2), IndexError, words=["sum", "dim", "2", "-2 to 1"]),
    error(lambda: X.sum(-3), IndexError),
    error(lambda: X.sum((0, 0)), RuntimeError, words=["sum", "once"]),
    error(lambda: X.sum((0, -2)), RuntimeError),
    error(lambda: X.permute(0, 0), RuntimeError, words=["permute"]),
    error(lambda: X.permute(0), RuntimeError, words=["permute"]),
    error(lambda: X.transpose(0, 2), IndexError),
    error(lambda: torch.softmax(X, 5), IndexError),
    error(lambda: X.unsqueeze(4), IndexError),
    error(lambda: X.sum(2**40), IndexError),
    error(lambda: torch.nn.functional.interpolate(X[None, None], 3, align_corners=True), ValueError, words=["interpolate", "align_corners"]),
    # 5 Extrema of nothing.
    error(lambda: E.amax(0), (SHAPE, INDEX), words=["at least one element"]),
    error(lambda: E.argmin(0), (SHAPE, INDEX)),
    error(lambda: torch.zeros(0).max(), RuntimeError),
    error(lambda: torch.zeros(2, 0).max(1), (SHAPE, INDEX)),
    # 6 Indices out of range.
    error(lambda: X[2], IndexError, words=["2", "-2 to 1"]),
    error(lambda: X[0, -4], IndexError),
    error(lambda: X[torch.tensor([0, 5])].tolist(), IndexError, words=["5"]),
    error(lambda: X.gather(1, torch.tensor([[3]])).tolist(), IndexError, words=["gather", "3"]),
    error(lambda: X.scatter(0, torch.tensor([[9]]), X).tolist(), IndexError, words=["scatter"]),
    error(lambda: X.scatter_add(0, torch.tensor([[-7]]), X).tolist(), IndexError),
    error(lambda: X.index_select(0, torch.tensor([2])).tolist(), IndexError),
    error(lambda: X.index_add(0, torch.tensor([0, 2]), X).tolist(), IndexError),
    error(lambda: X.index_copy(0, torch.tensor([0, 2]), X).tolist(), IndexError),
    error(lambda: X.index_fill(0, torch.tensor([2]), 0.0).tolist(), IndexError),
    error(lambda: X.take(torch.tensor([6])).tolist(), IndexError),
    error(lambda: F.embedding(torch.tensor([2]), X).tolist(), IndexError),
    error(lambda: F.nll_loss(X, torch.tensor([0, 3])).tolist(), IndexError),
    error(lambda: F.cross_entropy(X, torch.tensor([0, -1])).tolist(), IndexError),
    error(lambda: F.one_hot(torch.tensor([3]), 3).tolist(), RuntimeError),
    error(lambda: X.select(0, 2), IndexError),
    # 7 Indices that are no integers; negative counts.
    error(lambda: X[0.5], IndexError, words=["float"]),
    error(lambda: X["a"], (TypeError, IndexError)),
    error(lambda: X[object()], (TypeError, IndexError)),
    error(lambda: X[torch.tensor([float("nan")])], IndexError),
    error(lambda: X.gather(1, X), DTYPE, words=["gather", "index"]),
    error(lambda: X.index_select(0, torch.tensor([0.0])), DTYPE),
    error(lambda: torch.bincount(torch.tensor([-1])).tolist(), RuntimeError),
    error(lambda: X.repeat_interleave(torch.tensor([-1, 2]), 0).tolist(), RuntimeError),
    error(lambda: F.one_hot(torch.tensor([-1])).tolist(), RuntimeError),
    # 8 Shapes that do not broadcast, of optional arguments too.
    error(lambda: X + torch.zeros(2), SHAPE, words=["add", "[2, 3]", "[2]"]),
    error(lambda: torch.where(X > 0, X, torch.zeros(4)), SHAPE),
    error(lambda: torch.lerp(X, X, torch.zeros(5)), SHAPE),
    error(lambda: F.linear(X, torch.zeros(4, 2)), SHAPE, words=["linear"]),
    error(lambda: F.linear(X, torch.zeros(4, 3), torch.zeros(5)), SHAPE, words=["linear"]),
    error(lambda: F.layer_norm(X, (2,)), SHAPE),
    error(lambda: F.layer_norm(X, (3,), torch.zeros(2)), SHAPE),
    error(lambda: F.conv1d(torch.zeros(1, 2, 5), torch.zeros(3, 2, 3), torch.zeros(2)), SHAPE),
    error(lambda: X @ X, SHAPE, words=["matmul"]),
    error(lambda: torch.cat([X, torch.zeros(2, 2, 2)]), SHAPE),
    error(lambda: F.cross_entropy(X, torch.tensor([0, 1, 2])), SHAPE),
    error(lambda: X.masked_fill(torch.tensor([True, False]), 0), SHAPE),
    # 9 Dtypes that do not go; values that would be lost.
    error(lambda: torch.arange(3).add_(0.5), TypeError, words=["add", "int64"]),
    error(lambda: X.add_(1j), TypeError),
    error(lambda: I & X, TypeError),
    error(lambda: X.masked_fill(X, 0), DTYPE),
    error(lambda: torch.full((1,), 300, dtype=torch.uint8), RuntimeError),
    error(lambda: torch.full((2,), 300, dtype=torch.int8), RuntimeError),
    error(lambda: torch.tensor([300], dtype=torch.uint8), RuntimeError),
    error(lambda: torch.zeros(1, dtype="float99"), TypeError),
    error(lambda: torch.gcd(X, X), TypeError),
    error(lambda: torch.tensor(1 + 2j) < 1, (TypeError, RuntimeError)),
    # 10 Devices that differ or are unknown.
    error(lambda: X + torch.zeros(2, 3, device="meta"), DEVICE, words=["add"]),
    error(lambda: X @ torch.zeros(3, 2, device="meta"), DEVICE),
    error(lambda: torch.cat([X, X.to("meta")]), DEVICE),
    error(lambda: torch.zeros(2, device="cuda:3"), DEVICE, words=["cuda:3"]),
    error(lambda: X.to("meta").tolist(), RuntimeError, words=["meta"]),
    error(lambda: float(torch.zeros((), device="meta")), RuntimeError),
    # 11, 12 Overlapping and stride-0 destinations, read-only memory.
    error(lambda: torch.zeros(1).expand(3).add_(1), RuntimeError, words=["share memory"]),
    error(lambda: torch.zeros(5).as_strided((2, 3), (1, 1)).mul_(2), RuntimeError),
    error(lambda: torch.zeros(1).expand(3).exp_(), RuntimeError),
    # 13 Views beyond the storage.
    error(lambda: X.as_strided((7,), (1,)), RuntimeError, words=["as_strided"]),
    error(lambda: X.as_strided((2,), (1,), 5), RuntimeError),
    error(lambda: X.as_strided((2,), (BIG,)), RuntimeError),
    error(lambda: X.as_strided((2,), (-1,)), RuntimeError),
    error(lambda: X.as_strided((2,), (1,), -1), RuntimeError),
    error(lambda: X.unfold(0, 3, 1), RuntimeError),
    error(lambda: X.unfold(0, 1, 0), RuntimeError),
    error(lambda: X.T.view(6), SHAPE, words=["view"]),
    # 15 Memory that cannot be had.
    error(lambda: torch.empty(2**45), MemoryError, words=["bytes"]),
    error(lambda: torch.ones(1).expand(2**40).clone(), MemoryError),
    error(lambda: (torch.zeros(2**25, 1) @ torch.zeros(1, 2**25)), MemoryError),
    # 16 Convolutions and pools.
    *(error(lambda o=o: F.conv1d(torch.zeros(1, 2, 5), torch.zeros(2, 2, 3), **o), RuntimeError, words=["conv"])
      for o in [{"stride": 0}, {"stride": -1}, {"dilation": 0}, {"groups": 0}, {"groups": 3}, {"padding": -1}, {"dilation": 3},
                {"padding": 2**62}, {"stride": (1, 2)}, {"padding": "valid ", "stride": 1}, {"dilation": 2**62}]),
    error(lambda: F.conv2d(torch.zeros(1, 2, 5), torch.zeros(2, 2, 3)), SHAPE),
    error(lambda: F.conv1d(torch.zeros(1, 3, 5), torch.zeros(2, 2, 3)), SHAPE),
    error(lambda: F.conv_transpose1d(torch.zeros(1, 2, 5), torch.zeros(2, 2, 3), output_padding=5), RuntimeError),
    # Matrices: not square, of too few dimensions, that do not go together, singular, not finite, of integers.
    *(error(lambda f=f: f(X), SHAPE, words=["square matrices"])
      for f in (L.eig, L.eigvals, L.eigh, L.eigvalsh, L.cholesky, L.cholesky_ex, L.inv_ex, L.slogdet, L.matrix_exp)),
    *(error(lambda f=f: f(X[0]), SHAPE, words=["matrices"]) for f in (L.qr, L.svd, L.svdvals, L.pinv, L.lu_factor, L.matrix_rank, L.cond)),
    error(lambda: L.lstsq(X, torch.zeros(3, 1)), SHAPE, words=["lstsq", "[2, 3]", "[3, 1]"]),
    error(lambda: L.solve_triangular(torch.eye(3), torch.zeros(2, 1), upper=True), SHAPE, words=["solve_triangular"]),
    error(lambda: L.solve(torch.zeros(2, 2), torch.zeros(2, 1)).tolist(), L.LinAlgError, words=["matrix 0", "singular"]),
    *(error(lambda f=f: f(torch.full((2, 2, 2), float("nan")))[0].tolist(), L.LinAlgError, words=["matrix 0", "finite"])
      for f in (L.svd, L.eigh, L.eig, L.pinv, L.svdvals)),
    *(error(lambda f=f: f(torch.eye(2).long()), torch.UnsupportedError, words=[f.__name__]) for f in (L.qr, L.svd, L.eigh, L.eig, L.eigvals, L.lu_factor)),
    error(lambda: L.eigh(torch.eye(2), "X"), VALUE, words=["UPLO"]),
    error(lambda: torch.cdist(X, X, compute_mode="fast"), VALUE, words=["compute_mode", "fast"]),
    # 17 Integer division by zero, shifts by the width.
    error(lambda: (I // 0).tolist(), RuntimeError, words=["floor_divide"]),
    error(lambda: (I % torch.zeros_like(I)).tolist(), RuntimeError),
    error(lambda: torch.fmod(I, 0).tolist(), RuntimeError),
    error(lambda: (I // torch.zeros_like(I)).tolist(), RuntimeError),
    # 18 Lengths and sections that do not add up.
    error(lambda: X.split([1, 1], 1), RuntimeError, words=["split"]),
    error(lambda: X.split(0), RuntimeError),
    error(lambda: X.split(-1), RuntimeError),
    error(lambda: X.split([3, -1]), RuntimeError),
    error(lambda: X.chunk(0), RuntimeError),
    error(lambda: X.unflatten(1, (2, 2)), RuntimeError),
    error(lambda: X.repeat_interleave(torch.tensor([1, 2, 3]), 0).tolist(), RuntimeError),
    error(lambda: X.topk(9), RuntimeError),
    error(lambda: X.kthvalue(0), RuntimeError),
    # Texts and numbers out of their range.
    error(lambda: F.mse_loss(X, X, reduction="average"), ValueError, words=["average"]),
    error(lambda: torch.div(X, 2, rounding_mode="up"), ValueError, words=["up"]),
    error(lambda: F.dropout(X, 1.5), ValueError, words=["dropout", "1.5"]),
    error(lambda: F.gelu(X, approximate="exact"), ValueError),
    error(lambda: torch.quantile(X, 1.5), ValueError),
    error(lambda: torch.einsum("ij,jk", X), RuntimeError),
    error(lambda: torch.einsum("i?->", X), RuntimeError),
    error(lambda: torch.einsum("ij->k", X), RuntimeError),
]  # fmt: skip


@pytest.mark.parametrize(("call", "classes", "words"), ROWS)
def test_errors(call, classes, words):
    with pytest.raises(Exception) as raised:
        call()
    given = raised.value
    assert type(given) is not Exception and all(isinstance(given, c) for c in classes), f"{type(given).__name__}: {given}"
    text = str(given)
    assert len(text) > 10 and "bug" not in text
    assert not [word for word in words if word not in text], text


def test_nothing_is_lost():
    """After all of these errors the machine still computes, and tensors in use are as they were."""
    assert X.tolist() == [[0, 1, 2], [3, 4, 5]] and I.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (X @ X.T).tolist() == [[5, 14], [14, 50]]


# 5 What is defined on nothing


def test_reductions_of_nothing():
    assert E.sum(0).tolist() == [0, 0, 0] and E.prod(0).tolist() == [1, 1, 1]
    assert E.all().item() and not E.any().item()
    assert np.isnan(E.mean().item())


# 11, 12 Overlap and read-only memory


def test_overlapping_arguments_are_refused_or_right():
    x = torch.arange(5.0)
    try:
        x[1:].add_(x[:-1])
    except RuntimeError as error:
        assert "overlap" in str(error) or "add" in str(error)
        assert x.tolist() == [0, 1, 2, 3, 4]
    else:
        assert x.tolist() == [0, 1, 3, 5, 7]


def test_read_only_arrays_stay_as_they_are():
    array = np.arange(3.0)
    array.flags.writeable = False
    tensor = torch.tensor(array)
    tensor.add_(1)
    assert array.tolist() == [0, 1, 2]
    try:
        shared = torch.from_numpy(array)
    except (TypeError, RuntimeError, ValueError):
        return
    with pytest.raises(RuntimeError):
        shared.add_(1)
    assert array.tolist() == [0, 1, 2]


# 14 Autograd


def test_leaves_that_need_a_gradient_are_not_changed():
    x = torch.ones(3, requires_grad=True)
    for change in (lambda: x.add_(1), lambda: x.__setitem__(0, 5.0), lambda: x[:2].mul_(2)):
        with pytest.raises(torch.AutogradError, match="leaf"):
            change()
    assert x.tolist() == [1, 1, 1]


def test_saved_tensors_that_were_changed():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(torch.AutogradError, match="modified by an inplace operation"):
        z.backward()


def test_a_graph_used_twice():
    x = torch.ones(3, requires_grad=True)
    z = (x.exp() * x).sum()
    z.backward()
    with pytest.raises(torch.AutogradError, match="second time"):
        z.backward()


def test_backward_of_what_has_no_gradient():
    with pytest.raises(torch.AutogradError):
        X.sum().backward()
    with pytest.raises(RuntimeError):
        torch.ones(3, requires_grad=True).exp().backward()
    with pytest.raises((RuntimeError, TypeError)):
        torch.tensor([1, 2], requires_grad=True)


# 12 Statistics that cannot be written


@pytest.mark.parametrize("norm", [F.batch_norm, F.instance_norm])
@pytest.mark.parametrize("wrong", [torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.complex64), torch.ones(1).expand(3), torch.ones(2)], ids=str)
def test_refused_statistics_leave_the_others_as_they_were(norm, wrong):
    x, right = torch.ones(2, 3, 4), torch.zeros(3)
    option = {"training": True} if norm is F.batch_norm else {"use_input_stats": True}
    for mean, var, words in ((right, wrong, "running_var"), (wrong, right, "running_mean")):
        with pytest.raises(RuntimeError, match=words):
            norm(x, mean, var, **option)
        assert right.tolist() == [0, 0, 0]


# 17 The least integer


def test_the_least_integer_divided_by_minus_one_wraps_or_is_refused():
    least = torch.tensor([-(2**63)])
    for divide in (lambda: (least // -1).tolist(), lambda: (least % -1).tolist(), lambda: least.abs().tolist(), lambda: (-least).tolist()):
        try:
            assert divide() in ([-(2**63)], [0])
        except RuntimeError as error:
            assert len(str(error)) > 10


def test_recursion_in_data_is_refused():
    data = []
    data.append(data)
    with pytest.raises((ValueError, TypeError, RuntimeError, RecursionError)):
        torch.tensor(data)
    deep = 1.0
    for _ in range(sys.getrecursionlimit() * 2):
        deep = [deep]
    with pytest.raises((ValueError, TypeError, RuntimeError, RecursionError)):
        torch.tensor(deep)


def test_indices_of_triangles_of_long_matrices_are_refused_or_few():
    """They were counted row by row, for minutes."""
    for indices in torch.tril_indices, torch.triu_indices:
        with pytest.raises(RuntimeError):
            indices(2**62, 2**62)
        assert indices(2**62, 0).shape == indices(2**62, 0, offset=-(2**61)).shape == (2, 0)
    assert torch.triu_indices(2**62, 1).tolist() == [[0], [0]]
    assert torch.tril_indices(2**62, 3, offset=2 - 2**62).tolist() == [[2**62 - 2, 2**62 - 1, 2**62 - 1], [0, 0, 1]]
