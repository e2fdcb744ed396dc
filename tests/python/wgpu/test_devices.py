"""Tensors of devices by wgpu: made there, moved, read, named, pickled, saved."""

import copy
import io
import pickle

import numpy as np
import pytest

import opforge as torch
from opforge import nn

WGPU = torch.device("wgpu", 0)


def test_devices_answer():
    assert torch.wgpu.is_available() and torch.wgpu.device_count() >= 1 and torch.wgpu.get_device_name() and torch.wgpu.current_device() == 0
    torch.ones(2, device="wgpu")
    torch.wgpu.synchronize("wgpu:0")
    assert torch.wgpu.is_initialized()
    with pytest.raises(ValueError, match="no device 77"):
        torch.wgpu.get_device_name(77)
    with pytest.raises(torch.DeviceError, match="77"):
        torch.zeros(2, device="wgpu:77")
    with pytest.raises(ValueError, match="wgpu device"):
        torch.wgpu.get_device_name("cpu")


def test_tensors_move():
    x = torch.arange(6.0).reshape(2, 3)
    for y in (x.to("wgpu"), x.to(WGPU), x.to("wgpu:0", non_blocking=True), torch.tensor(x.tolist(), device="wgpu")):
        assert y.device == WGPU and torch.equal(y.cpu(), x) and y.tolist() == x.tolist() and y.to("wgpu") is y
    assert x.to("wgpu", torch.float16).dtype is torch.float16
    strided = x.to(WGPU).t()[1:]
    assert strided.cpu().tolist() == x.t()[1:].tolist() and (strided + 1).tolist() == (x.t()[1:] + 1).tolist()
    assert repr(torch.ones(2, device=WGPU)) == "tensor([1., 1.], device='wgpu:0')"


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int16", "float16", "bfloat16", "int32", "int64", "float64", "complex64"])
def test_bytes_are_read_and_written_in_the_midst_of_words(dtype):
    x = torch.arange(1, 14).to(getattr(torch, dtype))
    y = x.to(WGPU)
    assert torch.equal(y[3:8].cpu(), x[3:8]) and torch.equal(y[1::3].cpu(), x[1::3])
    y[5:6] = x[:1].to(WGPU)
    x[5:6] = x[:1].clone()
    assert torch.equal(y.cpu(), x)


def test_new_tensors_are_where_they_are_to_be():
    with WGPU:
        assert torch.ones(2).device == WGPU == nn.Linear(2, 3).weight.device == torch.rand(2).device
    assert torch.ones(2, device="wgpu").new_zeros(3).device == WGPU == torch.zeros_like(torch.ones(2, device="wgpu")).device


def test_other_devices_are_not_mixed_in():
    x = torch.ones(2, device="wgpu")
    assert (x + torch.tensor(2.0)).tolist() == [3.0, 3.0] and (3 - x).tolist() == [2.0, 2.0]
    with pytest.raises(torch.DeviceError, match="wgpu:0.*cpu"):
        x + torch.ones(2)
    with pytest.raises(TypeError, match="can't convert wgpu:0 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(TypeError):
        np.asarray(x)
    with pytest.raises((RuntimeError, BufferError)):
        x.__dlpack__()


def test_what_is_found_in_elements_is_an_error_there():
    x = torch.ones(3, device="wgpu")
    with pytest.raises((IndexError, RuntimeError), match="7"):
        x[torch.tensor([7], device="wgpu")].tolist()
    assert (x + 1).tolist() == [2.0] * 3


def test_draws_are_those_of_the_cpu():
    torch.manual_seed(5)
    cpu = torch.rand(6), torch.randint(9, (4,)), torch.randperm(5)
    torch.manual_seed(5)
    gpu = torch.rand(6, device="wgpu"), torch.randint(9, (4,), device="wgpu"), torch.randperm(5, device="wgpu")
    assert all(torch.equal(a, b.cpu()) for a, b in zip(cpu, gpu))


def test_copies_pickles_and_files_stay_on_the_device():
    x = torch.arange(4.0, device="wgpu")
    shared = {"x": x, "part": x[1:3]}
    file = io.BytesIO()
    torch.save(shared, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    for made in (copy.deepcopy(shared), pickle.loads(pickle.dumps(shared)), torch.load(file)):
        assert made["x"].device == WGPU and made["x"].tolist() == x.tolist()
        made["part"].zero_()
        assert made["x"].tolist() == [0.0, 0.0, 0.0, 3.0]
    file.seek(0)
    assert torch.load(file, map_location="cpu")["x"].device.type == "cpu"
