"""What `Module.to` converts, and which arguments it takes."""

import pytest

import opforge as torch
from opforge import nn
from opforge._C._nn import _parse_to


class Mixed(nn.Module):
    """Parameters of each kind of dtype."""

    def __init__(self):
        super().__init__()
        self.real, self.complex = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2, dtype=torch.complex64))
        self.whole = nn.Buffer(torch.ones(2, dtype=torch.int64))


def dtypes(module):
    return module.real.dtype, module.complex.dtype, module.whole.dtype


def test_real_and_complex_numbers_are_converted_and_whole_ones_are_not():
    assert dtypes(Mixed().to(torch.complex128)) == (torch.complex128, torch.complex128, torch.int64)
    assert dtypes(Mixed().to(torch.ones(1, dtype=torch.complex128))) == (torch.complex128, torch.complex128, torch.int64)
    for unchanged in (Mixed().to("cpu"), Mixed().to(dtype=None), Mixed().to(non_blocking=True), Mixed().to()):
        assert dtypes(unchanged) == (torch.float32, torch.complex64, torch.int64)
    assert dtypes(Mixed().double()) == (torch.float64, torch.complex64, torch.int64)


def test_what_is_on_meta_leaves_it_by_to_empty():
    layer = nn.Linear(2, 2, device="meta")
    for leave in (lambda: layer.to("cpu"), layer.cpu):
        with pytest.raises(NotImplementedError, match=r"to_empty\(device='cpu'\)"):
            leave()
    assert layer.to("meta").double().weight.dtype is torch.float64 and layer.to_empty(device="cpu").weight.device.type == "cpu"


def test_elements_are_put_in_the_order_of_a_memory_format():
    layer = nn.Conv2d(2, 3, 2)
    before = layer.weight.detach().clone()
    assert layer.to(memory_format=torch.channels_last) is layer
    assert layer.weight.stride() == (8, 1, 4, 2) and torch.equal(layer.weight, before)
    assert layer.weight.is_leaf and layer.weight.requires_grad and layer.bias.stride() == (1,)
    with pytest.raises(RuntimeError, match="rank 4"):
        nn.Conv3d(2, 3, 2).to(memory_format=torch.channels_last)


def test_what_arguments_ask_for():
    cpu = torch.device("cpu")
    assert _parse_to("cpu") == (cpu, None, False, None)
    assert _parse_to(torch.float64, True) == (None, torch.float64, True, None)
    assert _parse_to("cpu", torch.float16, True) == (cpu, torch.float16, True, None)
    assert _parse_to(None, torch.float16) == (None, torch.float16, False, None)
    assert _parse_to(torch.ones(1, dtype=torch.float64)) == _parse_to(tensor=torch.ones(1, dtype=torch.float64)) == (cpu, torch.float64, False, None)
    assert _parse_to(device="cpu", memory_format=torch.channels_last) == (cpu, None, False, torch.channels_last)


@pytest.mark.parametrize("wrong", [{"foo": 1}, {"memory_format": "channels_last"}])
def test_other_arguments_are_errors(wrong):
    with pytest.raises(TypeError, match="accepted"):
        Mixed().to(**wrong)
    with pytest.raises(TypeError, match="accepted"):
        Mixed().to(1.5)
    with pytest.raises(TypeError, match="dtype"):
        Mixed().to(torch.int32)
