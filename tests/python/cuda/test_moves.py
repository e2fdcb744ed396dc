"""Tensors of devices: made there, moved, read, named, pickled, saved."""

import copy
import io
import pickle

import numpy as np
import pytest

import opforge as torch
from opforge import nn

CUDA = torch.device("cuda", 0)


def test_devices_answer():
    assert torch.cuda.is_available() and torch.cuda.device_count() >= 1 and torch.cuda.get_device_name()
    properties = torch.cuda.get_device_properties(0)
    assert properties.total_memory > 0 and (properties.major, properties.minor) == torch.cuda.get_device_capability()
    assert torch.cuda.get_arch_list() == [f"sm_{properties.major}{properties.minor}"] and torch.cuda.is_bf16_supported()
    assert torch.accelerator.is_available() and torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.backends.cuda.is_built()


def test_tensors_move():
    x = torch.arange(6.0).reshape(2, 3)
    for y in (x.cuda(), x.to("cuda"), x.to(CUDA), x.cuda(0), x.to("cuda", non_blocking=True), torch.tensor(x.tolist(), device="cuda"), x.pin_memory().cuda()):
        assert y.device == CUDA and y.is_cuda and y.get_device() == 0 and not x.is_cuda and x.get_device() == -1
        assert torch.equal(y.cpu(), x) and y.tolist() == x.tolist() and y.cuda() is y
    assert x.to("cuda", torch.float16).dtype is torch.float16 and x.cuda().double().device == CUDA
    strided = x.cuda().t()[1:]
    assert strided.cpu().tolist() == x.t()[1:].tolist() and (strided + 1).tolist() == (x.t()[1:] + 1).tolist()


def test_new_tensors_are_where_they_are_to_be():
    with torch.device("cuda"):
        assert torch.ones(2).device == CUDA == nn.Linear(2, 3).weight.device == torch.rand(2).device
    assert torch.ones(2, device="cuda").new_zeros(3).device == CUDA == torch.zeros_like(torch.ones(2, device="cuda")).device
    assert not torch.ones(2).is_cuda
    torch.set_default_device("cuda")
    try:
        assert torch.arange(3).device == CUDA
    finally:
        torch.set_default_device(None)
    with pytest.raises(torch.DeviceError, match="199"):
        torch.zeros(2, device="cuda:199")


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one device")
def test_the_current_device_is_what_cuda_stands_for():
    assert torch.cuda.current_device() == 0
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1 and torch.ones(2, device="cuda").device == torch.device("cuda:1") == torch.ones(2).cuda().device
        with torch.cuda.device_of(torch.ones(2, device="cuda:0")):
            assert torch.cuda.current_device() == 0
        with torch.cuda.device(None), torch.cuda.device(-1):
            assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0
    x = torch.ones(3, device="cuda:0")
    y = x.to("cuda:1") * 2
    assert y.device == torch.device("cuda:1") and y.to("cuda:0").add(x).tolist() == [3.0] * 3
    with pytest.raises(torch.DeviceError, match="cuda:0.*cuda:1"):
        x + y
    with pytest.raises(torch.DeviceError):
        torch.cuda.set_device(5)
    with pytest.raises(ValueError, match="cuda device"):
        torch.cuda.set_device("cpu")


def test_numbers_and_tensors_of_one_number_meet_those_of_devices():
    x = torch.ones(2, device="cuda")
    assert (x + torch.tensor(2.0)).tolist() == [3.0, 3.0] and (torch.tensor(2.0) * x).is_cuda and (3 - x).tolist() == [2.0, 2.0]
    with pytest.raises(torch.DeviceError, match="cuda:0.*cpu"):
        x + torch.ones(2)


def test_numpy_takes_what_is_in_main_memory():
    x = torch.ones(2, device="cuda")
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu"):
        x.numpy()
    with pytest.raises(TypeError):
        np.asarray(x)
    assert x.cpu().numpy().tolist() == [1.0, 1.0]


def test_tensors_show_their_device():
    assert repr(torch.ones(2, device="cuda")) == "tensor([1., 1.], device='cuda:0')"
    assert "torch.cuda.FloatTensor" in torch.typename(torch.ones(2, device="cuda"))
    assert isinstance(torch.ones(2, device="cuda"), torch.cuda.FloatTensor) and not isinstance(torch.ones(2), torch.cuda.FloatTensor)
    assert torch.cuda.LongTensor([1, 2]).is_cuda


def test_copies_and_pickles_stay_on_the_device():
    x = torch.arange(4.0, device="cuda")
    shared = {"x": x, "part": x[1:3]}
    for made in (copy.deepcopy(shared), pickle.loads(pickle.dumps(shared)), pickle.loads(pickle.dumps(shared, protocol=2))):
        assert made["x"].device == CUDA and made["x"].tolist() == x.tolist()
        made["part"].zero_()
        assert made["x"].tolist() == [0.0, 0.0, 0.0, 3.0]
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def through_file(obj, as_pytorch, **options):
    file = io.BytesIO()
    torch.save(obj, file, _use_new_zipfile_serialization=as_pytorch)
    file.seek(0)
    return torch.load(file, **options)


@pytest.mark.parametrize("as_pytorch", [True, False])
def test_files_bring_tensors_back_to_where_they_were(as_pytorch):
    x = torch.arange(4.0)
    tree = {"x": x.cuda(), "cpu": x, "w": nn.Parameter(x.cuda())}
    tree["part"] = tree["x"][1:3]
    back = through_file(tree, as_pytorch)
    assert back["x"].device == CUDA == back["w"].device and not back["cpu"].is_cuda and isinstance(back["w"], nn.Parameter) and back["w"].requires_grad
    back["part"].zero_()
    assert back["x"].tolist() == [0.0, 0.0, 0.0, 3.0]
    seen = []
    for location in ("cpu", {"cuda:0": "cpu"}, lambda storage, name: seen.append(name) or storage):
        assert not through_file(tree, as_pytorch, map_location=location)["x"].is_cuda
    assert set(seen) == {"cpu", "cuda:0"}
    for location in ("cuda", {"cpu": "cuda:0"}, lambda storage, name: storage.cuda()):
        back = through_file(tree, as_pytorch, map_location=location)
        assert back["cpu"].device == CUDA and back["cpu"].tolist() == x.tolist()


def test_dlpack_shares_memory():
    x = torch.arange(4.0, device="cuda")
    assert x.__dlpack_device__() == (2, 0)
    y = torch.from_dlpack(x)
    y[1] = 7
    assert y.device == CUDA and x.tolist() == [0.0, 7.0, 2.0, 3.0] and y.data_ptr() == x.data_ptr()
    again = torch.from_dlpack(x[1:].__dlpack__())
    assert again.tolist() == [7.0, 2.0, 3.0]
    assert np.from_dlpack(x.cpu()).tolist() == x.tolist() and not torch.from_dlpack(x, device="cpu").is_cuda
    del x
    assert (again * 2).tolist() == [14.0, 4.0, 6.0]


def test_draws_are_those_of_the_cpu():
    torch.manual_seed(5)
    cpu = torch.rand(6), torch.randint(9, (4,)), torch.randperm(5)
    torch.cuda.manual_seed_all(5)
    assert torch.cuda.initial_seed() == 5
    gpu = torch.rand(6, device="cuda"), torch.randint(9, (4,), device="cuda"), torch.randperm(5, device="cuda")
    assert all(torch.equal(a, b.cpu()) for a, b in zip(cpu, gpu))
    state = torch.cuda.get_rng_state()
    first = torch.rand(2, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(2, device="cuda"))
    generator = torch.Generator(device="cuda")
    assert generator.device == torch.device("cuda")
    assert torch.rand(2, device="cuda", generator=generator.manual_seed(3)).tolist() == torch.rand(2, generator=torch.Generator().manual_seed(3)).tolist()
