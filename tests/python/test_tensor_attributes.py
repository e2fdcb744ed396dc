"""Attributes of tensors that tell what they are and what they are not; types of tensors under older names."""

import pytest

import opforge as torch


def test_attributes_that_tell_what_a_tensor_is_not():
    x = torch.ones(2, 3)
    assert not (x.is_sparse or x.is_quantized or x.is_mps or x.is_nested) and x.layout is torch.strided and x.get_device() == -1
    assert x.t().dim_order() == (1, 0) and x.t().dim_order(ambiguity_check=True) == (1, 0)
    assert x[:1].dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last]) == (0, 1)
    with pytest.raises(RuntimeError, match="unique dim order"):
        x[:1].dim_order(ambiguity_check=True)
    with pytest.raises(TypeError, match="ambiguity_check"):
        x.dim_order(ambiguity_check="yes")
    with pytest.raises(RuntimeError, match="cuda"):
        x.cuda()


def test_types_of_tensors():
    assert torch.LongTensor([2**53 + 1]).tolist() == [2**53 + 1] and torch.FloatTensor(2, 3).shape == (2, 3) and torch.ByteTensor().numel() == 0
    assert isinstance(torch.ones(1), torch.FloatTensor) and not isinstance(torch.ones(1), torch.DoubleTensor) and not isinstance(1, torch.FloatTensor)
    assert torch.typename(torch.ones(1, dtype=torch.complex64)) == "torch.ComplexFloatTensor" and torch.typename([]) == "list"
    assert not isinstance(torch.ones(1), torch.cuda.FloatTensor) and torch.typename(torch.ones(1)) == "torch.FloatTensor"
    with pytest.raises(TypeError, match="float32"):
        torch.FloatTensor(torch.ones(1, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="cuda"):
        torch.cuda.FloatTensor(1)
    torch.set_default_tensor_type(torch.DoubleTensor)
    assert torch.ones(1).dtype is torch.float64
    torch.set_default_tensor_type("torch.FloatTensor")
    with pytest.raises(TypeError, match="floating"):
        torch.set_default_tensor_type(torch.LongTensor)


def test_the_type_of_tensors_is_the_default_dtype():
    from opforge._tensors.typed import place_of

    assert place_of(torch.Tensor) == (torch.get_default_dtype(), None)


def test_reversed_is_by_the_first_dimension():
    x = torch.arange(6).reshape(3, 2)
    assert reversed(x).tolist() == [[4, 5], [2, 3], [0, 1]] and reversed(torch.tensor(3)).item() == 3


def test_functions_of_attributes():
    assert torch.is_signed(torch.ones(1)) and not torch.is_signed(torch.ones(1, dtype=torch.uint8))
    for name in ("is_conj", "is_neg", "is_inference", "is_distributed"):
        assert getattr(torch, name)(torch.ones(1)) is getattr(torch.ones(1), name)() is False
    assert torch.get_device(torch.ones(1)) == -1
    with pytest.raises(TypeError, match="argument 'input' is a int, expected a tensor"):
        torch.is_signed(3)
