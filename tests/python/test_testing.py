"""`opforge.testing`: what is close and what is not."""

import numpy
import pytest

import opforge as torch
from opforge.testing import assert_allclose, assert_close, make_tensor

X = torch.tensor([1.0, 2.0, 3.0])

CLOSE = [
    (X, X.clone()), (X, X * (1 + 1e-6)), (1, 1), (1.0, 1.0), ([X, 2], [X, 2]), ({"a": X}, {"a": X}), (numpy.ones(3), numpy.ones(3)), (torch.nn.Parameter(X), X),
    (1 + 2j, 1 + 2j), (torch.tensor([True]), torch.tensor([True])), (None, None), (torch.empty(0), torch.empty(0)),
    (torch.tensor(float("inf")), torch.tensor(float("inf"))),
]  # fmt: skip
APART = [
    (X, X + 1e-3, "Mismatched elements: 3 / 3"), (X, X.double(), "dtype"), (X, X[:2], "shape"), ([X], [X, X], "length"), ({"a": X}, {"b": X}, "keys"),
    (1, 2, "Scalars"), (True, False, "Booleans"), (X, None, "None"), (1 + 2j, 1 + 3j, "Scalars"),
    (torch.tensor([1, 2]), torch.tensor([1, 3]), "1 / 2"), ([X, [X]], [X, [X + 1]], r"\[1\]\[0\]"),
    (torch.tensor(float("nan")), torch.tensor(float("nan")), "Scalars"), (torch.tensor([True]), torch.tensor([False]), "1 / 1"),
]  # fmt: skip


@pytest.mark.parametrize("actual, expected", CLOSE)
def test_close(actual, expected):
    assert_close(actual, expected)


@pytest.mark.parametrize("actual, expected, text", APART)
def test_apart(actual, expected, text):
    with pytest.raises(AssertionError, match=text):
        assert_close(actual, expected)


def test_options():
    assert_close(X, X.double(), check_dtype=False)
    assert_close(X, X + 1e-3, rtol=0, atol=2e-3)
    assert_close(torch.tensor(float("nan")), torch.tensor(float("nan")), equal_nan=True)
    assert_allclose(X, X.double())
    with pytest.raises(AssertionError, match="stride"):
        assert_close(torch.ones(2, 3), torch.ones(3, 2).t(), check_stride=True)
    with pytest.raises(AssertionError, match="^mine: Tensor"):
        assert_close(X, X + 1, msg=lambda text: "mine: " + text)
    with pytest.raises(ValueError, match="rtol"):
        assert_close(X, X, rtol=1e-3)
    with pytest.raises(TypeError, match="object"):
        assert_close(object(), object())


def test_only_what_is_related_is_compared():
    for pair in (X.numpy(), X), (1.0, torch.tensor(1.0)), (X, [1.0, 2.0, 3.0]):
        with pytest.raises(TypeError, match="No comparison pair"):
            assert_close(*pair)
    with pytest.raises(TypeError, match="Parameter"):
        assert_close(torch.nn.Parameter(X), X, allow_subclasses=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64])
def test_made_tensors(dtype):
    made = make_tensor(50, 4, dtype=dtype, device="cpu", noncontiguous=True)
    assert made.shape == (50, 4) and made.dtype is dtype and not made.is_contiguous()
    numbers = torch.view_as_real(made) if dtype.is_complex else made
    assert float(numbers.max()) <= 9 and float(numbers.min()) >= (0 if dtype in (torch.uint8, torch.bool) else -9)
    assert len(set(numbers.flatten().tolist())) > 1


def test_bounds_of_made_tensors():
    made = make_tensor((100,), dtype=torch.int32, device="cpu", low=0, high=2, exclude_zero=True)
    assert set(made.tolist()) == {1}
    with pytest.raises(ValueError, match="low"):
        make_tensor((1,), dtype=torch.float32, device="cpu", low=2, high=1)
    assert make_tensor(2, dtype=torch.float32, device="cpu", requires_grad=True).requires_grad
