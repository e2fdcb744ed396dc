"""Integers beyond a dtype, as Python's numbers beside tensors: what PyTorch 2.15 gives. Arithmetic and comparisons wrap; what is written must fit."""

import pytest

import opforge as torch


def of(dtype, *values):
    return torch.tensor(values, dtype=getattr(torch, dtype))


def wraps(source, values, dtype="uint8"):
    """A row: an expression of `b` (5, 255, uint8), `c` (5, int8), `i` (5, int32), `l` (5, int64)."""
    return pytest.param(source, values, dtype, id=source)


ROWS = [
    wraps("b & -32", [0, 224]),
    wraps("-32 & b", [0, 224]),
    wraps("b | 300", [45, 255]),
    wraps("b ^ -1", [250, 0]),
    wraps("b + -1", [4, 254]),
    wraps("b - 300", [217, 211]),
    wraps("300 - b", [39, 45]),
    wraps("b * 300", [220, 212]),
    wraps("b * -1", [251, 1]),
    wraps("b // 300", [0, 5]),
    wraps("b // -2", [0, 1]),
    wraps("300 // b", [8, 0]),
    wraps("b % 300", [5, 35]),
    wraps("b % -3", [5, 2]),
    wraps("300 ** b", [0, 0]),
    wraps("torch.fmod(b, -3)", [5, 2]),
    wraps("torch.add(b, -1, alpha=3)", [2, 252]),
    wraps("torch.rsub(b, -1)", [250, 0]),
    wraps("torch.add(b, b, alpha=-1)", [0, 0]),
    wraps("torch.div(b, 300, rounding_mode='trunc')", [0, 5]),
    wraps("c + 128", [-123], "int8"),
    wraps("c + 1000", [-19], "int8"),
    wraps("c % 200", [-51], "int8"),
    wraps("i + 2**31", [-2147483643], "int32"),
    wraps("i * 2**31", [-2147483648], "int32"),
    wraps("i - 2**40", [5], "int32"),
    wraps("l + 2**63", [-9223372036854775803], "int64"),
    wraps("b < 300", [True, False], "bool"),
    wraps("b > -1", [False, False], "bool"),
    wraps("b == -1", [False, True], "bool"),
    wraps("b != 261", [False, True], "bool"),
    wraps("300 > b", [True, False], "bool"),
    wraps("i == 2**40 + 5", [True], "bool"),
    wraps("torch.isin(b, -1)", [False, True], "bool"),
    wraps("b.add_(300)", [49, 43]),
    wraps("b.sub_(300)", [217, 211]),
    wraps("b.mul_(-1)", [251, 1]),
    wraps("b.bitwise_and_(-32)", [0, 224]),
    wraps("b.floor_divide_(300)", [0, 5]),
    wraps("b.eq_(-1)", [0, 1]),
    # Bounds beyond the range do not bind.
    wraps("b.clamp(-1, 300)", [5, 255]),
    wraps("b.clamp_(min=-1)", [5, 255]),
    wraps("i.clamp(max=2**40)", [5], "int32"),
    # What is written wraps below 0 in unsigned dtypes.
    wraps("b.fill_(-1)", [255, 255]),
    wraps("b.masked_fill(b > 5, -1)", [5, 255]),
    wraps("torch.where(b > 5, b, -1)", [255, 255]),
    wraps("torch.full((2,), -1, dtype=torch.uint8)", [255, 255]),
    wraps("b.copy_(300)", [44, 44]),
    # Floats are not wrapped: the result is one of floats.
    wraps("b + 300.0", [305.0, 555.0], "float32"),
    wraps("b / 300", [5 / 300, 0.85], "float32"),
]


def names():
    return {"torch": torch, "b": of("uint8", 5, 255), "c": of("int8", 5), "i": of("int32", 5), "l": of("int64", 5)}


@pytest.mark.parametrize("source, values, dtype", ROWS)
def test_numbers_wrap(source, values, dtype):
    result = eval(source, names())
    assert result.dtype is getattr(torch, dtype)
    assert torch.allclose(result.double(), torch.tensor(values, dtype=torch.float64), rtol=1e-6)


REFUSED = [
    "b.fill_(300)",
    "b.fill_(-300)",
    "b.fill_(float('nan'))",
    "c.fill_(128)",
    "b.masked_fill(b > 5, 300)",
    "torch.where(b > 5, b, 300)",
    "torch.full((2,), 300, dtype=torch.uint8)",
    "torch.full_like(b, 300)",
    "b.index_fill(0, torch.tensor([0]), 300)",
    "b.scatter(0, torch.tensor([0]), 300)",
    "b.__setitem__(0, 300)",
    "torch.add(b, b, alpha=300)",
    "b ** 300",
    "b ** -1",
    "c ** 200",
    "b.clamp(max=-1)",
    "b.clamp(min=300)",
    "b // 256",
]


@pytest.mark.parametrize("source", REFUSED)
def test_what_is_written_or_raised_to_must_fit(source):
    with pytest.raises(RuntimeError):
        eval(source, names()).tolist()


def test_gradient_of_a_wrapped_number_is_untouched():
    x = torch.tensor([2.0], requires_grad=True)
    (x * (of("uint8", 5) + -1)).sum().backward()
    assert x.grad.tolist() == [4.0]
