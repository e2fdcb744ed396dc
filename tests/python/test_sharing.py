"""Results have memory of their own, unless the declaration says `view`: writing to one never changes an argument."""

import numpy as np
import pytest

import opforge as torch
import opforge.nn.functional as F
from opforge import _core, nn
from test_registry import CASES, array, call, each, leaves, tensors

QUIET = [case for case in CASES if not case.entry["python_name"].endswith("_") and case.function.__name__[-1] != "_"]


def held(objects):
    return [leaf for leaf in leaves(objects) if isinstance(leaf, torch.Tensor)]


def shares(a, b):
    return a.untyped_storage() is b.untyped_storage()


def shared_results():
    """How many results the binding had to copy, since their functions gave shared memory away."""
    return _core._shared_results()


@each(QUIET)
def test_only_views_share_memory_with_arguments(case):
    args, before = tensors(case.args), shared_results()
    results = held(call(case, args))
    assert shared_results() == before, "shares memory, but is not declared as a view"
    if not case.entry["view"]:
        assert not any(shares(result, arg) for result in results for arg in held(args))


@each([case for case in QUIET if not case.entry["view"]])
def test_writing_to_a_result_leaves_the_arguments_alone(case):
    args = tensors(case.args)
    before = [array(arg).copy() for arg in held(args)]
    for result in held(call(case, args)):
        result.detach().zero_()
    for arg, value in zip(held(args), before, strict=True):
        np.testing.assert_array_equal(array(arg), value)


@each([case for case in QUIET if not case.entry["view"] and case.entry["returns"].startswith("tuple")])
def test_writing_to_a_result_leaves_the_other_results_alone(case):
    results = held(call(case, tensors(case.args)))
    before = [array(result).copy() for result in results]
    for i, result in enumerate(results):
        result.detach().zero_()
        for other, value in zip(results[i + 1 :], before[i + 1 :]):
            np.testing.assert_array_equal(array(other), value)


def grid(*shape, dtype=torch.float64):
    return torch.arange(1, 1 + int(np.prod(shape)), dtype=dtype).reshape(shape)


# Calls with arguments for which there is nothing to do: where a function might hand its argument back.
NOTHING_TO_DO = {
    "repeat": lambda x: x.repeat(1, 1),
    "repeat rows": lambda x: x.repeat(3, 1),
    "tile": lambda x: torch.tile(x, (1,)),
    "tile rows": lambda x: torch.tile(x, (2, 1)),
    "cat": lambda x: torch.cat([x]),
    "cat with nothing": lambda x: torch.cat([x, torch.empty(0, dtype=x.dtype)]),
    "concat": lambda x: torch.concat([x], 1),
    "stack": lambda x: torch.stack([x]),
    "hstack": lambda x: torch.hstack([x]),
    "vstack": lambda x: torch.vstack([x]),
    "dstack": lambda x: torch.dstack([x]),
    "column_stack": lambda x: torch.column_stack([x]),
    "row_stack": lambda x: torch.row_stack([x]),
    "block_diag": lambda x: torch.block_diag(x),
    "cartesian_prod": lambda x: torch.cartesian_prod(x[0]),
    "combinations": lambda x: torch.combinations(x[0], 1),
    "pad": lambda x: F.pad(x, (0, 0)),
    "pad reflecting": lambda x: F.pad(x[None], (0, 0), mode="reflect"),
    "pad repeating": lambda x: F.pad(x[None], (0, 0), mode="replicate"),
    "pad wrapping": lambda x: F.pad(x[None], (0, 0), mode="circular"),
    "pad cutting": lambda x: F.pad(x, (-1, 0)),
    "repeat_interleave": lambda x: torch.repeat_interleave(x, 1, 0),
    "repeat_interleave all": lambda x: torch.repeat_interleave(x, 1),
    "repeat_interleave each": lambda x: x.repeat_interleave(torch.tensor([1]), 0),
    "diff": lambda x: torch.diff(x, n=0),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x[None], 1),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x[None], 1),
    "channel_shuffle": lambda x: F.channel_shuffle(x[None, :, :, None], 1),
    "roll": lambda x: torch.roll(x, 0),
    "roll along": lambda x: torch.roll(x, 0, 0),
    "flip": lambda x: torch.flip(x, ()),
    "rot90": lambda x: torch.rot90(x, 0),
    "matrix_power": lambda x: torch.matrix_power(x[:, :3], 1),
    "multi_dot": lambda x: torch.linalg.multi_dot([x, torch.eye(4, dtype=x.dtype)]),
    "chain_matmul": lambda x: torch.chain_matmul(x),
    "sum of a number": lambda x: x[0, 0].sum(),
    "mean of a number": lambda x: x[0, 0].mean(),
    "amax of a number": lambda x: x[0, 0].amax(),
    "cumsum": lambda x: x[0, 0].cumsum(0),
    "cumprod": lambda x: x[0, 0].cumprod(0),
    "cummax": lambda x: x[0, 0].cummax(0)[0],
    "logcumsumexp": lambda x: x[0, 0].logcumsumexp(0),
    "sort": lambda x: x[0, 0].sort()[0],
    "sort one": lambda x: x[:, :1].sort()[0],
    "topk": lambda x: x[:, :1].topk(1)[0],
    "median": lambda x: x[0, 0].median(),
    "mode": lambda x: x[0, 0].mode()[0],
    "kthvalue": lambda x: x[0, 0].kthvalue(1)[0],
    "max of a number": lambda x: x[0, 0].max(),
    "clamp": lambda x: x.clamp(min=-1e9),
    "round": lambda x: x.round(),
    "round integers": lambda x: x.long().round(),
    "floor integers": lambda x: x.long().floor(),
    "nan_to_num": lambda x: x.long().nan_to_num(),
    "abs": lambda x: x.abs(),
    "pow": lambda x: x.pow(1),
    "tril": lambda x: x.tril(9),
    "triu": lambda x: x.triu(-9),
    "masked_fill": lambda x: x.masked_fill(torch.tensor(False), 0.0),
    "where": lambda x: torch.where(torch.tensor(True), x, x),
    "index_select": lambda x: x.index_select(0, torch.arange(3)),
    "index": lambda x: x[torch.arange(3)],
    "index by all": lambda x: x[torch.ones(3, dtype=torch.bool)],
    "take_along_dim": lambda x: torch.take_along_dim(x, torch.zeros(3, 1, dtype=torch.int64), 1),
    "gather": lambda x: x[0, 0].gather(0, torch.tensor(0)),
    "index_add": lambda x: x.index_add(0, torch.empty(0, dtype=torch.int64), x[:0]),
    "scatter": lambda x: x.scatter(0, torch.empty(0, 4, dtype=torch.int64), x),
    "scatter_add": lambda x: x.scatter_add(0, torch.empty(0, 4, dtype=torch.int64), x),
    "slice_scatter": lambda x: x.slice_scatter(x[:0], 0, 0, 0),
    "sum_to_size": lambda x: x.sum_to_size(3, 4),
    "interpolate": lambda x: F.interpolate(x[None, None], size=(3, 4)),
    "avg_pool": lambda x: F.avg_pool1d(x[None], 1),
    "max_pool": lambda x: F.max_pool1d(x[None], 1),
    "adaptive_avg_pool": lambda x: F.adaptive_avg_pool1d(x[None], 4),
    "unfold": lambda x: F.unfold(x[None, None], 1),
    "fold": lambda x: F.fold(x[None].reshape(1, 1, 12), (3, 4), 1),
    "softmax of one": lambda x: x[:, :1].softmax(1),
    "logsumexp": lambda x: x[:, :1].logsumexp(1),
    "norm": lambda x: x[0, 0].norm(),
    "mul by one": lambda x: x * 1,
    "add nothing": lambda x: x + 0,
    "add": lambda x: torch.add(x, torch.zeros(3, 4, dtype=x.dtype), alpha=0),
    "addmm": lambda x: torch.addmm(x, x[:, :0], x[:0], beta=1),
    "lerp": lambda x: x.lerp(x, 0.0),
    "histogram": lambda x: torch.histogram(x, x[0])[1],
    "searchsorted": lambda x: torch.searchsorted(x[0], x[0]),
    "vander": lambda x: torch.vander(x[0], 1),
    "tensor_split copy": lambda x: x.narrow_copy(0, 0, 3),
    "unique": lambda x: torch.unique(x),
    "clone": lambda x: x.clone(),
    "copysign": lambda x: x.copysign(x),
    "trapezoid": lambda x: torch.trapezoid(x[:, :2]),
    "cov": lambda x: torch.cov(x[:1]),
    "std": lambda x: x.var(unbiased=False),
    "put": lambda x: x.put(torch.empty(0, dtype=torch.int64), x[:0, 0]),
    "kron": lambda x: torch.kron(x, torch.ones(1, 1, dtype=x.dtype)),
    "tensordot": lambda x: torch.tensordot(x, torch.ones((), dtype=x.dtype), 0),
    "outer": lambda x: torch.outer(x[0], x[0, :1]),
    "cdist": lambda x: torch.cdist(x, x),
    "deg2rad": lambda x: torch.deg2rad(x),
    "normalize": lambda x: F.normalize(x),
    "threshold": lambda x: F.threshold(x, -9.0, 0.0),
    "batch_norm": lambda x: F.batch_norm(x, torch.zeros(4, dtype=x.dtype), torch.ones(4, dtype=x.dtype), eps=0.0),
    "embedding": lambda x: F.embedding(torch.arange(3), x),
    "linear": lambda x: F.linear(x, torch.eye(4, dtype=x.dtype)),
    "bilinear": lambda x: F.bilinear(x, x, torch.ones(1, 4, 4, dtype=x.dtype)),
    "loss unreduced": lambda x: F.l1_loss(x, x, reduction="none"),
    "Upsample": lambda x: nn.Upsample(scale_factor=1)(x[None]),
    "ConstantPad": lambda x: nn.ConstantPad1d(0, 0.0)(x[None]),
    "Softmax": lambda x: nn.Softmax(-1)(x),
}


@pytest.mark.parametrize("name", NOTHING_TO_DO)
@pytest.mark.parametrize("leaf", [False, True], ids=["plain", "leaf"])
def test_a_function_with_nothing_to_do_copies(name, leaf):
    x, before = grid(3, 4).requires_grad_(leaf), shared_results()
    result = NOTHING_TO_DO[name](x)
    assert shared_results() == before, "handed out shared memory, which the binding copied"
    assert not shares(result, x)
    values = x.tolist()
    result.detach().fill_(7)
    assert x.tolist() == values
    # Each element is one of its own: writing the first changes no other.
    flat = result.detach().reshape(-1)
    if result.is_contiguous() and flat.numel() > 1:
        flat[0] = 0
        assert flat[1:].eq(7).all()
    assert not any(step == 0 and length > 1 for step, length in zip(result.stride(), result.shape))


def test_repeated_rows_of_a_parameter_are_copies():
    weight = nn.Parameter(torch.ones(2))
    rows = weight.repeat(3, 1)
    rows.detach()[0] = 5
    assert weight.tolist() == [1, 1] and rows[1].tolist() == [1, 1]
    rows.sum().backward()
    assert weight.grad.tolist() == [3, 3]


VIEWS = {
    "reshape": lambda x: x.reshape(4, 3), "flatten": lambda x: x.flatten(), "transpose": lambda x: x.T, "expand": lambda x: x.expand(2, 3, 4),
    "narrow": lambda x: x.narrow(0, 1, 2), "select": lambda x: x.select(0, 1), "diagonal": lambda x: x.diagonal(), "split": lambda x: x.split(2)[0],
    "unbind": lambda x: x.unbind()[0], "index": lambda x: x[1:, ::2], "squeeze": lambda x: x.squeeze(), "detach": lambda x: x.detach(),
    "contiguous": lambda x: x.contiguous(), "einsum": lambda x: torch.einsum("ij->ji", x), "chunk": lambda x: x.chunk(2)[0], "data": lambda x: x.data,
    "positive": lambda x: +x, "real": lambda x: x.real, "dropout": lambda x: F.dropout(x, training=False), "as_strided": lambda x: x.as_strided((2,), (1,)),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(name):
    x = grid(3, 4)
    assert shares(VIEWS[name](x), x)


@pytest.mark.parametrize("base", [False, True], ids=["whole", "view"])
@pytest.mark.parametrize("name", ["t", "real", "flatten", "positive", "moveaxis", "reshape", "contiguous"])
def test_an_empty_out_never_becomes_a_view(name, base):
    x, out = grid(3, 4), torch.empty(0, dtype=torch.float64)
    x = x if base else x.clone()
    more = {"moveaxis": (0, 1), "reshape": ((4, 3),)}.get(name, ())
    assert getattr(torch if hasattr(torch, name) else torch.Tensor, name)(x, *more, out=out) is out
    assert not shares(x, out) and out.numel() == 12


def test_no_out_is_written_unless_all_can_be():
    x, values = grid(3, 4), torch.full((3, 4), 7.0, dtype=torch.float64)
    with pytest.raises(torch.OpforgeError):
        torch.sort(x, out=(values, torch.empty(3, 4, dtype=torch.bool)))
    assert values.eq(7).all()
    with pytest.raises(TypeError):
        torch.sort(x, out=(values, None))
    assert values.eq(7).all()
