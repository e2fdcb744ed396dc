"""Operators whose arithmetic needs more digits than their arguments have."""

import pytest

import opforge as torch


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_rounded_to_decimals_in_single_precision(dtype):
    x = torch.tensor([3.0, 700.0, 0.125, -2.5], dtype=dtype)
    assert x.round(decimals=3).tolist() == x.tolist() and x.round(decimals=-1).tolist() == [0.0, 700.0, 0.0, -0.0]


def test_products_of_integers_that_are_added_to_floats_do_not_wrap():
    vectors = torch.tensor([200, 3], dtype=torch.uint8), torch.tensor([2, 100], dtype=torch.uint8)
    assert torch.addr(torch.zeros(2, 2), *vectors).tolist() == [[400.0, 20000.0], [6.0, 300.0]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_bias_is_added_before_a_product_is_rounded(dtype):
    torch.manual_seed(0)
    a, b = torch.randn(33, 64).to(dtype), torch.randn(64, 48).to(dtype)
    bias = -(a @ b)[0]
    exact = bias.double() + a.double() @ b.double()
    got = torch.addmm(bias, a, b)
    assert got.dtype is dtype
    torch.testing.assert_close(got, exact.to(dtype), rtol=2 * torch.finfo(dtype).eps, atol=1e-5)


def test_places_have_the_dtype_of_their_counts():
    for dtype in (torch.int32, torch.int64):
        places = torch.repeat_interleave(torch.tensor([1, 0, 2], dtype=dtype))
        assert places.dtype is dtype and places.tolist() == [0, 2, 2]
    assert torch.tensor([5.0, 6.0]).repeat_interleave(torch.tensor([2, 1], dtype=torch.int32)).tolist() == [5.0, 5.0, 6.0]


def test_destinations_come_back_under_the_results_names():
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    for out in ((values, indices), [values, indices]):
        found = torch.max(torch.tensor([[1.0, 3.0], [5.0, 2.0]]), 1, out=out)
        assert found.values is values and found.indices is indices and values.tolist() == [3.0, 5.0]
    found = torch.linalg.qr(torch.eye(2), out=(torch.empty(0), torch.empty(0)))
    assert found.Q.shape == found.R.shape == (2, 2)


def test_polynomials_of_degrees_without_end():
    """Their recurrences were followed for hours after they had overflowed, and infinite degrees were an OverflowError."""
    x = torch.tensor([0.5, 1.0], dtype=torch.float64)
    for name in ("hermite_polynomial_h", "hermite_polynomial_he"):
        assert getattr(torch.special, name)(x, 2**40).isnan().all()
    assert torch.special.hermite_polynomial_he(x, torch.tensor([2.0**50, 3.0])).nan_to_num(7.0).tolist() == [7.0, -2.0]
    assert torch.special.laguerre_polynomial_l(x, torch.tensor([float("inf"), float("nan")])).tolist() == [0.0, 0.0]


def test_truth_values_and_names_of_norms():
    torch.manual_seed(0)
    drawn = torch.randint(0, 2, (100,), dtype=torch.bool)
    assert drawn.dtype is torch.bool and drawn.any() and not drawn.all() and torch.randint(1, 2, (3,), dtype=torch.bool).all()
    with pytest.raises((RuntimeError, ValueError)):
        torch.randint(0, 3, (3,), dtype=torch.bool)
    assert torch.linalg.norm(torch.eye(2), "nuc", dim=None).item() == pytest.approx(2.0)


HALVES = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
NUMBERS = {
    "x * 0.3": (lambda x: x * 0.3, lambda x: x * 0.3),
    "0.3 * x": (lambda x: 0.3 * x, lambda x: 0.3 * x),
    "x / 0.3": (lambda x: x / 0.3, lambda x: x / 0.3),
    "0.3 / x": (lambda x: 0.3 / x, lambda x: 0.3 / x),
    "x // 0.3": (lambda x: x // 0.3, lambda x: x // 0.3),
    "trunc": (lambda x: torch.div(x, 0.3, rounding_mode="trunc"), lambda x: torch.div(x, 0.3, rounding_mode="trunc")),
    "mul_": (lambda x: x.clone().mul_(0.3), lambda x: x * 0.3),
    "div_": (lambda x: x.clone().div_(0.3), lambda x: x / 0.3),
    "foreach": (lambda x: torch._foreach_mul([x], 0.3)[0], lambda x: x * 0.3),
    "foreach in place": (lambda x: foreach_div_(x.clone()), lambda x: x / 0.3),
    "a tensor of f32": (lambda x: x * torch.tensor(0.3), lambda x: x * 0.3),
    "a tensor of f64": (lambda x: x / torch.tensor(0.3, dtype=torch.float64), lambda x: x / 0.3),
    "a tensor in place": (lambda x: x.clone().mul_(torch.tensor(0.3)), lambda x: x * 0.3),
}


def foreach_div_(x):
    torch._foreach_div_([x], 0.3)
    return x


@HALVES
@pytest.mark.parametrize("call", NUMBERS)
def test_products_and_quotients_of_halves_do_not_round_numbers(call, dtype):
    x = torch.linspace(0.35, 60.0, 999).to(dtype)
    of_halves, wide = NUMBERS[call]
    found = of_halves(x)
    assert found.dtype is dtype and found.tolist() == wide(x.float()).to(dtype).tolist()


@HALVES
def test_sums_and_comparisons_of_halves_round_numbers(dtype):
    x, rounded = torch.linspace(-2.0, 2.0, 99).to(dtype), torch.tensor(0.3).to(dtype).item()
    assert (x + 0.3).tolist() == (x + rounded).tolist() and (0.3 - x).tolist() == (rounded - x).tolist()
    assert (x % 0.3).tolist() == (x % rounded).tolist() and (x < 0.3).tolist() == (x < rounded).tolist()


def test_numbers_beyond_the_range_of_halves():
    """They were infinite, and 0 as divisors."""
    small, large = torch.tensor([1e-4], dtype=torch.float16), torch.tensor([6e4], dtype=torch.float16)
    assert (small * 65536).item() == 6.5546875 and (large / 70000.0).item() == 0.85693359375
    assert (torch.full((3,), 100.0, dtype=torch.bfloat16) * 0.3).tolist() == [30.0] * 3


@HALVES
def test_gradients_of_halves_do_not_round_numbers(dtype):
    x = torch.linspace(0.35, 4.0, 99).to(dtype)
    for f in (lambda x: x * 0.3, lambda x: x / 0.3):
        leaf, grad = x.clone().requires_grad_(), torch.linspace(-3.0, 3.0, 99).to(dtype)
        f(leaf).backward(grad)
        assert leaf.grad.tolist() == f(grad.float()).to(dtype).tolist()
    leaf, exponent = x.clone().requires_grad_(), torch.tensor(3.3).to(dtype).item()
    (leaf**4.3).sum().backward()
    torch.testing.assert_close(leaf.grad.double(), 4.3 * x.double() ** exponent, rtol=1.1 * torch.finfo(dtype).eps, atol=0)


MATRICES = {
    "addmm": ((20, 24), (20, 31), (31, 24)),
    "a bias": ((24,), (20, 31), (31, 24)),
    "addmv": ((20,), (20, 31), (31,)),
    "addbmm": ((20, 24), (3, 20, 31), (3, 31, 24)),
    "baddbmm": ((3, 20, 24), (3, 20, 31), (3, 31, 24)),
    "addr": ((20, 24), (20,), (24,)),
}


@HALVES
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize(("beta", "alpha"), [(0.7, 0.3), (1, 1), (1, 0.125), (0, 0.3)])
def test_products_are_scaled_and_added_to_before_they_are_rounded(name, dtype, beta, alpha):
    torch.manual_seed(0)
    tensors = [torch.randn(shape).to(dtype) for shape in MATRICES[name]]
    function = getattr(torch, "addmm" if name == "a bias" else name)
    found = function(*tensors, beta=beta, alpha=alpha)
    exact = function(*(t.double() for t in tensors), beta=beta, alpha=alpha)
    assert found.dtype is dtype
    torch.testing.assert_close(found.double(), exact, rtol=0.51 * torch.finfo(dtype).eps, atol=1e-5)
    leaves = [t.double().to(dtype).requires_grad_() for t in tensors]
    function(*leaves, beta=beta, alpha=alpha).float().square().sum().backward()
    wide = [t.double().requires_grad_() for t in tensors]
    function(*wide, beta=beta, alpha=alpha).square().sum().backward()
    for leaf, expected in zip(leaves, wide):
        assert leaf.grad.dtype is dtype
        scale = expected.grad.abs().max().item()
        torch.testing.assert_close(leaf.grad.double(), expected.grad, rtol=0.02, atol=4 * torch.finfo(dtype).eps * scale)


@HALVES
def test_gates_and_scaled_norms_of_halves_are_rounded_once(dtype):
    torch.manual_seed(0)
    x, eps = torch.randn(40, 32).to(dtype), torch.finfo(dtype).eps
    for f in (torch.nn.functional.glu, lambda x: torch.renorm(x, 2, 0, 1.5)):
        found = f(x)
        assert found.dtype is dtype
        torch.testing.assert_close(found.double(), f(x.double()), rtol=0.51 * eps, atol=1e-7)
