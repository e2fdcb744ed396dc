"""Shifts beyond the width, modes with NaN, and quotients of complex numbers at their limits."""

import math

import numpy as np
import pytest

import opforge as torch

INTEGERS = {torch.uint8: 8, torch.int8: 8, torch.int16: 16, torch.int32: 32, torch.int64: 64}


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_any_number(dtype):
    bits = INTEGERS[dtype]
    signed = dtype is not torch.uint8
    most = torch.iinfo(dtype).max
    numbers = [1, 3, most, 0] + ([-1, -5, torch.iinfo(dtype).min] if signed else [])
    x = torch.tensor(numbers, dtype=dtype)
    for shift in (bits, bits + 1, 100, most) + ((-1, -bits, torch.iinfo(dtype).min) if signed else ()):
        if not torch.iinfo(dtype).min <= shift <= most:
            continue
        sign = [-1 if number < 0 else 0 for number in numbers]
        shifts = torch.full_like(x, shift)
        for left in (x << shifts, x << shift, x.bitwise_left_shift(shifts), x.clone().bitwise_left_shift_(shift)):
            assert left.dtype is dtype and left.tolist() == [0] * len(numbers), shift
        for right in (x >> shifts, x >> shift, x.bitwise_right_shift(shifts), x.clone().bitwise_right_shift_(shift)):
            assert right.dtype is dtype and right.tolist() == sign, shift
    assert (x >> (bits - 1)).tolist() == [-1 if n < 0 else n >> (bits - 1) for n in numbers]
    assert (torch.tensor([1], dtype=dtype) << (bits - 2)).tolist() == [1 << (bits - 2)]


def test_modes_with_nan():
    """Each NaN is a value of its own, after all numbers."""
    nan = math.nan
    for numbers, mode, index in [([nan, nan, 1.0], 1.0, 2), ([nan, 2.0, 1.0, 2.0, nan], 2.0, 3), ([3.0, nan], 3.0, 0)]:
        for x in (torch.tensor(numbers), torch.tensor([numbers, numbers]).T[:, 0]):
            value, place = x.mode()
            assert (value.item(), place.item()) == (mode, index)
    assert math.isnan(torch.tensor([nan, nan]).mode().values.item()) and math.isnan(torch.tensor(nan).mode().values.item())


def same(result, expected):
    return np.array_equal(result.numpy(), np.array(expected, result.numpy().dtype), equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_quotients_at_their_limits(dtype):
    inf, nan = math.inf, math.nan
    x = torch.tensor([1 + 1j, 1 + 0j, -1 + 2j, 0j], dtype=dtype)
    expected = [complex(inf, inf), complex(inf, nan), complex(-inf, inf), complex(nan, nan)]
    assert same(x / 0, expected) and same(x / torch.zeros(4, dtype=dtype), expected) and same(x / 0j, expected)
    large, small = (1e30, 1e-30) if dtype is torch.complex64 else (1e250, 1e-250)
    for scale in (large, small):
        y = torch.tensor([3 + 4j, 4 - 3j, 2j, -5 + 0j], dtype=dtype) * scale
        assert np.allclose((y / y).numpy(), 1) and np.allclose((y / scale).numpy(), [3 + 4j, 4 - 3j, 2j, -5])
        assert np.allclose((y / (y * 1j)).numpy(), -1j)
    infinite = torch.tensor([complex(inf, 0), complex(0, -inf), complex(inf, 1)], dtype=dtype)
    assert not (torch.tensor(1 + 1j, dtype=dtype) / infinite).numpy().any()


def test_complex_quotients_have_gradients():
    numbers = np.array([3 + 4j, 4 - 3j, 2j, -5], np.complex128)
    a = torch.tensor(numbers, requires_grad=True)
    b = torch.tensor(numbers[::-1].copy(), requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: a / b, (a, b))
    (a / b).sum().real.backward()
    assert np.allclose(a.grad.numpy(), np.conj(1 / numbers[::-1])) and np.allclose(b.grad.numpy(), np.conj(-numbers / numbers[::-1] ** 2))
