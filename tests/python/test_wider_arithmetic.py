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
