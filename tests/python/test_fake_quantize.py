"""Numbers as integers of few bits hold them, and their gradients."""

import numpy as np
import pytest

import opforge as torch


def reference(x, scale, zero_point, low, high):
    integers = np.round(x / scale) + zero_point
    return (np.clip(integers, low, high) - zero_point) * scale, (integers >= low) & (integers <= high)


@pytest.mark.parametrize("of_tensors", [False, True])
def test_tensors_are_rounded_and_clamped(of_tensors):
    x = torch.linspace(-3, 3, 41, dtype=torch.float64).requires_grad_()
    scale, zero_point = (torch.tensor(0.13, dtype=torch.float64), torch.tensor(2)) if of_tensors else (0.13, 2)
    y = torch.fake_quantize_per_tensor_affine(x, scale, zero_point, -8, 15)
    y.sum().backward()
    expected, is_inside = reference(x.detach().numpy(), 0.13, 2, -8, 15)
    np.testing.assert_allclose(y.detach().numpy(), expected)
    assert x.grad.tolist() == is_inside.astype(float).tolist() and 0 < is_inside.sum() < 41


def test_channels_have_their_own_scales():
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    scale, zero_point = torch.tensor([0.1, 0.5, 0.01], dtype=torch.float64), torch.tensor([0, 3, -1])
    y = torch.fake_quantize_per_channel_affine(x, scale, zero_point, 1, -8, 7)
    y.sum().backward()
    expected, is_inside = reference(x.detach().numpy(), scale.numpy()[:, None], zero_point.numpy()[:, None], -8, 7)
    np.testing.assert_allclose(y.detach().numpy(), expected)
    assert x.grad.tolist() == is_inside.astype(float).tolist()


def test_what_cannot_be_is_refused():
    x, ones = torch.ones(2, 3), torch.ones(3)
    for call in (
        lambda: torch.fake_quantize_per_tensor_affine(x, 0.1, 9, 0, 7),
        lambda: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 7, 0),
        lambda: torch.fake_quantize_per_tensor_affine(x.long(), 0.1, 0, 0, 7),
        lambda: torch.fake_quantize_per_channel_affine(x, ones, ones.int(), 0, 0, 7),
    ):
        with pytest.raises(RuntimeError, match="fake_quantize"):
            call()
    with pytest.raises(IndexError, match="axis 2"):
        torch.fake_quantize_per_channel_affine(x, ones, ones.int(), 2, 0, 7)


def test_functions_that_would_be_quantized():
    functions, x = torch.nn.quantized.FloatFunctional(), torch.tensor([-3.0, 2.0])
    assert functions.add_relu(x, x).tolist() == [0.0, 4.0] and functions.mul_scalar(x, 2).tolist() == [-6.0, 4.0]
    assert functions.cat([x, x]).shape == (4,) and list(functions.state_dict()) == []
    with pytest.raises(RuntimeError, match="forward"):
        functions(x)
