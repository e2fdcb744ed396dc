"""What computes refuses floats of 8 bits by name, and nothing is promoted with them."""

import pytest

import opforge as torch

from test_registry import EXACT, call, each, is_float, leaves, tensors

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
FLOAT8 = [E4M3, E5M2]
OTHERS = [
    torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
]  # fmt: skip

COMPUTING = {
    "add": lambda x: x + x,
    "add number": lambda x: x + 1,
    "mul": lambda x: 2.0 * x,
    "div": lambda x: x / x,
    "sub_": lambda x: x.clone().sub_(x),
    "matmul": lambda x: x @ x,
    "linear": lambda x: torch.nn.functional.linear(x, x),
    "exp": lambda x: x.exp(),
    "abs": lambda x: x.abs(),
    "neg": lambda x: -x,
    "relu": lambda x: x.relu(),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "amax": lambda x: x.amax(),
    "max": lambda x: x.max(),
    "argmax": lambda x: x.argmax(),
    "any": lambda x: x.any(),
    "all": lambda x: x.all(),
    "cumsum": lambda x: x.cumsum(0),
    "sort": lambda x: x.sort(),
    "topk": lambda x: x.topk(1),
    "softmax": lambda x: x.softmax(0),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, (2,)),
    "lt": lambda x: x < x,
    "ge": lambda x: x >= 1,
    "clamp": lambda x: x.clamp(0, 1),
    "clamp tensors": lambda x: x.clamp(x, x),
    "pow": lambda x: x**2,
    "round": lambda x: x.round(),
    "floor": lambda x: x.floor(),
    "sign": lambda x: x.sign(),
    "maximum": lambda x: torch.maximum(x, x),
    "lerp": lambda x: x.lerp(x, 0.5),
    "addcmul": lambda x: torch.addcmul(x, x, x),
    "addmm": lambda x: torch.addmm(x, x, x),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "conv1d": lambda x: torch.nn.functional.conv1d(x[None], x[None]),
    "max_pool1d": lambda x: torch.nn.functional.max_pool1d(x[None], 2),
    "avg_pool1d": lambda x: torch.nn.functional.avg_pool1d(x[None], 2),
    "linear interpolation": lambda x: torch.nn.functional.interpolate(x[None], 4, mode="linear"),
    "index_add": lambda x: x.index_add(0, torch.tensor([0]), x[:1]),
    "scatter_add": lambda x: x.scatter_add(0, torch.tensor([[0]]), x[:1]),
    "index_put accumulate": lambda x: x.index_put((torch.tensor([0]),), x[:1], accumulate=True),
    "bernoulli_": lambda x: x.bernoulli_(),
    "normal_": lambda x: x.normal_(),
    "uniform_": lambda x: x.uniform_(),
    "random_": lambda x: x.random_(0, 2),
    "rand": lambda x: torch.rand(2, dtype=x.dtype),
    "randint": lambda x: torch.randint(0, 2, (2,), dtype=x.dtype),
    "arange": lambda x: torch.arange(3, dtype=x.dtype),
    "logical_not": lambda x: x.logical_not(),
    "isinf": lambda x: x.isinf(),
    "isfinite": lambda x: x.isfinite(),
    "unique": lambda x: x.unique(),
    "dropout": lambda x: torch.nn.functional.dropout(x),
    "cdist": lambda x: torch.cdist(x, x),
    "var": lambda x: x.var(),
    "norm": lambda x: x.norm(),
    "prod": lambda x: x.prod(),
    "median": lambda x: x.median(),
    "searchsorted": lambda x: torch.searchsorted(x, x),
    "bincount": lambda x: x[0].bincount(),
    "fft": lambda x: torch.fft.fft(x),
    "inverse": lambda x: torch.linalg.inv(x),
    "gelu": lambda x: torch.nn.functional.gelu(x),
    "cross_entropy": lambda x: torch.nn.functional.cross_entropy(x, x),
    "attention": lambda x: torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    "nan_to_num": lambda x: x.nan_to_num(),
    "copysign": lambda x: x.copysign(x),
    "bitwise_and": lambda x: x & x,
    "shift": lambda x: x << 1,
    "remainder": lambda x: x % 2,
    "hypot": lambda x: torch.hypot(x, x),
    "heaviside": lambda x: torch.heaviside(x, x),
    "group_norm": lambda x: torch.nn.functional.group_norm(x, 1),
    "batch_norm": lambda x: torch.nn.functional.batch_norm(x, x[0], x[0]),
    "allclose": lambda x: torch.allclose(x, x),
    "index as position": lambda x: torch.zeros(4)[x],
    "conditions": lambda x: torch.where(x, 1, 0),
    "isclose": lambda x: torch.isclose(x, x),
}


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("name", COMPUTING)
def test_what_computes_is_refused(name, dtype):
    x = torch.tensor([[1.0, 2.0], [4.0, 0.5]], dtype=dtype)
    with pytest.raises(torch.OpforgeError) as raised:
        result = COMPUTING[name](x)
        (result[0] if isinstance(result, tuple) else result).tolist()
    assert "f8e" in str(raised.value) or "float8" in str(raised.value), raised.value


def test_errors_say_what_to_do():
    x = torch.ones(2, dtype=E4M3)
    with pytest.raises(TypeError, match=r"add, input: f8e4m3 \(accepted: .*convert") as raised:
        x + x
    assert isinstance(raised.value, (torch.UnsupportedError, NotImplementedError))
    with pytest.raises(TypeError, match=r"add, lhs: f8e4m3, rhs: f32 \(accepted: equal dtypes.*not promoted; convert"):
        x + torch.ones(2)


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("other", OTHERS + FLOAT8)
def test_no_promotion(dtype, other):
    x, y = torch.ones(2, dtype=dtype), torch.ones(2).to(other)
    if dtype is other:
        assert torch.promote_types(dtype, other) is dtype and torch.result_type(x, y) is dtype
        return
    calls = [
        lambda: torch.promote_types(dtype, other), lambda: torch.promote_types(other, dtype), lambda: torch.result_type(x, y), lambda: torch.cat([x, y]),
        lambda: torch.stack([y, x]), lambda: x + y, lambda: y * x, lambda: torch.where(torch.tensor([True, False]), x, y), lambda: torch.addcmul(x, y, y),
        lambda: x == y, lambda: y @ x,
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError, match="f8e"):
            call()


def test_numbers_do_not_change_the_dtype():
    x = torch.ones(2, dtype=E5M2)
    assert torch.result_type(x, 2) is E5M2 and torch.result_type(x, 2.5) is E5M2
    with pytest.raises(TypeError, match="f8e5m2"):
        torch.result_type(x, 1j)
    assert torch.where(torch.tensor([True, False]), x, 3.0).tolist() == [1, 3]


OF_FLOATS = [case for case in EXACT if any(is_float(leaf) for leaf in leaves(case.args))]


@each(OF_FLOATS)
@pytest.mark.parametrize("dtype", FLOAT8)
def test_every_function_refuses_it_or_gives_what_it_gives_in_float32(case, dtype):
    stored = tensors(case.args, dtype)
    widened = [leaf.float() if isinstance(leaf, torch.Tensor) and leaf.dtype is dtype else leaf for leaf in leaves(stored)]
    try:
        got = call(case, stored)
        shown = [leaf.tolist() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves(got)]
    except (torch.OpforgeError, TypeError, ValueError, RuntimeError) as error:
        assert "f8e" in str(error) or "float8" in str(error) or isinstance(error, torch.OpforgeError), error
        return
    rest = iter(widened)
    again = tuple([next(rest) for _ in part] if isinstance(part, (list, tuple)) else next(rest) for part in stored)
    wanted = [leaf.tolist() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves(call(case, again))]
    assert repr(shown) == repr(wanted)
