"""Result dtypes: PyTorch's documented rules, for every pair of dtypes and for numbers; integer arithmetic in every width."""

import itertools
import math

import numpy as np
import pytest

import opforge as torch

INTS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
KINDS = {"bool": 0, **dict.fromkeys(INTS, 1), **dict.fromkeys(FLOATS, 2)}
DTYPES = list(KINDS)
PAIRS = list(itertools.product(DTYPES, DTYPES))


def promoted(a, b):
    """The higher kind wins; within a kind the wider dtype; what neither holds, the next that holds both."""
    if KINDS[a] != KINDS[b]:
        return max(a, b, key=KINDS.get)
    if a == b:
        return a
    if {a, b} == {"float16", "bfloat16"}:
        return "float32"
    if KINDS[a] == 2:
        return max(a, b, key=lambda d: int(d.lstrip("bfloat")))
    return str(np.promote_types(a, b))


def ones(dtype, *shape):
    return torch.ones(*shape or (2,), dtype=getattr(torch, dtype))


def name(tensor):
    return repr(tensor.dtype).removeprefix("opforge.")


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_two_tensors(a, b):
    wanted = promoted(a, b)
    for f in (torch.add, torch.mul, torch.maximum, lambda x, y: torch.where(x.bool(), x, y), lambda x, y: torch.cat([x, y])):
        assert name(f(ones(a), ones(b))) == wanted
    assert name(ones(a) / ones(b)) == (wanted if KINDS[wanted] == 2 else "float32")
    assert name(ones(a) == ones(b)) == "bool"


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_a_tensor_without_dimensions_only_lends_its_kind(a, b):
    scalar = torch.tensor(1, dtype=getattr(torch, b))
    wanted = a if KINDS[a] >= KINDS[b] else b
    assert name(ones(a) + scalar) == wanted
    assert name(scalar + ones(a)) == wanted


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_only_lend_their_kind(dtype):
    kind = KINDS[dtype]
    assert name(ones(dtype) + True) == dtype
    assert name(ones(dtype) * 2) == (dtype if kind else "int64")
    assert name(ones(dtype) * 2.0) == (dtype if kind == 2 else "float32")
    assert name(2.0 * ones(dtype)) == (dtype if kind == 2 else "float32")


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_floats_make_floats(dtype):
    wanted = dtype if KINDS[dtype] == 2 else "float32"
    for f in (torch.sin, torch.exp, torch.sqrt, torch.sigmoid, torch.erf, torch.log1p):
        assert name(f(ones(dtype))) == wanted
    for f in (torch.sum, torch.prod):
        assert name(f(ones(dtype))) == (dtype if KINDS[dtype] == 2 else "int64")
    assert name(torch.argmax(ones(dtype).to(torch.float32))) == "int64"


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("f", ["add", "sub", "mul", "floor_divide", "remainder", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor", "fmod"])
def test_integers_wrap_as_machines_do(dtype, f):
    info = np.iinfo(dtype)
    values = np.array([info.min, info.min + 1, 0, 1, 2, 7, info.max - 1, info.max], dtype)
    divisors = np.array([1, 2, 3, 5, 7, info.max], dtype)
    a, b = np.meshgrid(values, divisors if f in ("floor_divide", "remainder", "fmod") else values)
    wanted = getattr(np, {"sub": "subtract", "mul": "multiply"}.get(f, f))(a, b)
    got = getattr(torch, f)(torch.tensor(a), torch.tensor(b)).numpy()
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_casts(a, b):
    values = [0, 1] if a == "bool" else [0, 1, 2, 100]
    cast = torch.tensor(values, dtype=getattr(torch, a)).to(getattr(torch, b))
    assert name(cast) == b
    assert cast.tolist() == ([bool(v) for v in values] if b == "bool" else values)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_in_place_results_keep_the_receivers_dtype(dtype):
    x = ones(dtype)
    x += 1
    assert name(x) == dtype and x.tolist() == [2, 2]
    x *= ones("bool")
    assert name(x) == dtype
    if KINDS[dtype] == 1:
        for change in (lambda: x.add_(0.5), lambda: x.mul_(ones("float32")), lambda: x.div_(2)):
            with pytest.raises(TypeError):
                change()
    else:
        assert name(x.add_(ones("float64"))) == dtype


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [(0.5, torch.int64, 0), (-1.7, torch.int64, -1), (-1, torch.uint8, 255), (2, torch.bool, True), (1.5, torch.bool, True)],
)
def test_what_is_assigned_is_converted(value, dtype, expected):
    """Filling and assignment cut and wrap, as PyTorch's do; arithmetic with such numbers is refused."""
    zeros = torch.zeros(2, dtype=dtype)
    assert torch.full((1,), value, dtype=dtype).tolist() == [expected]
    assert torch.full_like(zeros, value).tolist() == zeros.new_full((2,), value).tolist() == [expected] * 2
    assert zeros.clone().fill_(value).tolist() == [expected] * 2
    zeros[0] = value
    assert zeros.tolist() == [expected, 0]


@pytest.mark.parametrize(("value", "dtype"), [(300, torch.uint8), (-300, torch.uint8), (math.nan, torch.int64), (1e30, torch.int64), (200, torch.int8), (1j, torch.float32)])
def test_what_is_assigned_lies_within_the_range(value, dtype):
    with pytest.raises((TypeError, RuntimeError, ValueError)):
        torch.full((2,), value, dtype=dtype)
    with pytest.raises((TypeError, RuntimeError, ValueError)):
        torch.zeros(2, dtype=dtype).fill_(value)


def test_truths_of_bytes_are_bytes():
    x = torch.tensor([[0, 3], [1, 2]], dtype=torch.uint8)
    assert x.any(1).dtype is torch.uint8 and x.any(1).tolist() == [1, 1] and x.all(1).tolist() == [0, 1]
    assert x.int().all().dtype is torch.bool


def test_a_tensor_beats_a_dimension():
    assert torch.max(torch.tensor(2), torch.tensor(4)).item() == 4
    assert torch.min(torch.tensor([2.0, 5.0]), torch.tensor(4)).tolist() == [2.0, 4.0]
    assert torch.max(torch.tensor([2.0, 5.0]), 0).indices.item() == 1


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "uint64", "float32", "float64"])
def test_products_are_of_the_dtype_that_is_asked_for(dtype):
    product = torch.prod(torch.tensor([[3, 100], [50, 7]], dtype=torch.uint8), 0, dtype=getattr(torch, dtype))
    assert name(product) == dtype and product.tolist() == np.asarray([150, 700]).astype(dtype).tolist()


def test_alpha_multiplies_in_the_dtype_of_the_result():
    whole = torch.tensor([200], dtype=torch.uint8)
    assert torch.add(torch.ones(1), whole, alpha=2).tolist() == [401.0]
    assert torch.ones(1).add_(whole, alpha=0.5).tolist() == [101.0]
    assert torch.sub(1.5, whole, alpha=2).tolist() == [-398.5]
    assert torch.add(torch.ones(1, dtype=torch.int64), whole, alpha=2).tolist() == [401]
    with pytest.raises(torch.OpforgeError):
        torch.add(torch.ones(1, dtype=torch.int64), whole, alpha=0.5)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize(("norm", "count"), [("layer_norm", 2), ("layer_norm", 1), ("rms_norm", 1)])
def test_norms_of_halves_take_parameters_of_f32(norm, count, half):
    """As computed in f32, and rounded once; gradients too."""
    x = torch.linspace(-2, 3, 60).reshape(4, 15).to(getattr(torch, half)).requires_grad_()
    params = [torch.linspace(0.5, 1.5, 15, requires_grad=True), torch.linspace(-1, 1, 15, requires_grad=True)][:count]
    function = getattr(torch.nn.functional, norm)
    y, wide = function(x, (15,), *params, eps=1e-3), function(x.float(), (15,), *params, eps=1e-3)
    assert y.dtype == x.dtype and torch.equal(y, wide.to(y.dtype))
    found, expected = (torch.autograd.grad(result.sum(), [x, *params]) for result in (y, wide))
    assert [g.dtype for g in found] == [x.dtype, *[torch.float32] * count]
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_rms_norm_of_small_halves_adds_the_epsilon_of_f32(half):
    """Theirs, thousands of times larger, would be most of the sum."""
    x = torch.linspace(-2e-3, 3e-3, 60).reshape(4, 15).to(getattr(torch, half))
    wide = torch.nn.functional.rms_norm(x.float(), (15,))
    assert torch.equal(torch.nn.functional.rms_norm(x, (15,)), wide.to(x.dtype))
    assert not torch.allclose(wide, torch.nn.functional.rms_norm(x.float(), (15,), eps=torch.finfo(x.dtype).eps), rtol=0.5)


def test_a_bias_needs_no_weight():
    x = torch.linspace(-2, 3, 12).reshape(4, 3)
    bias = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.nn.functional.layer_norm(x, (3,), None, bias)
    assert torch.allclose(y, torch.nn.functional.layer_norm(x, (3,)) + bias)
    y.sum().backward()
    assert bias.grad.tolist() == [4.0, 4.0, 4.0]


@pytest.mark.parametrize("loss", ["margin_ranking_loss", "gaussian_nll_loss"])
def test_losses_are_of_the_widest_dtype_of_three(loss):
    x, y, z = torch.full((2,), 0.5, dtype=torch.float16), torch.full((2,), 0.25), torch.full((2,), 1.0, dtype=torch.float64)
    assert getattr(torch.nn.functional, loss)(x, y, z).dtype == torch.float64
    assert getattr(torch.nn.functional, loss)(x, y, y).dtype == torch.float32


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout2d", "alpha_dropout", "feature_alpha_dropout"])
def test_nothing_is_dropped_outside_of_training_whatever_the_dtype(name):
    x = torch.arange(6).reshape(1, 2, 3)
    assert torch.equal(getattr(torch.nn.functional, name)(x, 0.5, False), x)
    with pytest.raises(TypeError):
        getattr(torch.nn.functional, name)(x, 0.5, True)


@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_norms_take_no_integers(norm):
    function, ones = getattr(torch.nn.functional, norm), torch.ones(3)
    whole, half = torch.ones(3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.float16)
    for x, params in [(torch.ones(2, 3, dtype=torch.int64), [ones]), (half, [whole]), (half, [whole, ones]), (half, [ones, whole])]:
        if norm == "layer_norm" or len(params) == 1:
            with pytest.raises(TypeError):
                function(x, (3,), *params)


def test_addcmul_promotes_all_three():
    small, wide = torch.full((2,), 1 + 2**-23), torch.zeros(2, dtype=torch.float64)
    got = torch.addcmul(wide, small, small)
    assert got.dtype is torch.float64 and got[0].item() == (1 + 2**-23) ** 2
    assert torch.addcdiv(wide, small, torch.full((2,), 3.0))[0].item() == (1 + 2**-23) / 3
