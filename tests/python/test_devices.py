"""`torch.device`: any can be named, one that is not there cannot be used; the device of new tensors for which none is named."""

import pickle
import threading

import numpy as np
import pytest

import opforge as torch

ABSENT = ["cuda", "cuda:0", "mps", "xpu:3", "hpu", "privateuseone:1", "cpu:1"]


@pytest.fixture(autouse=True)
def restored():
    yield
    torch.set_default_device(None)


@pytest.mark.parametrize("name", [*ABSENT, "cpu", "cpu:0", "meta", "meta:0"])
def test_any_device_can_be_named(name):
    device = torch.device(name)
    kind, _, index = name.partition(":")
    assert (device.type, device.index, str(device)) == (kind, int(index) if index else None, name)
    assert device == torch.device(device) == torch.device(kind, device.index) == eval(repr(device), {"device": torch.device})
    assert hash(device) == hash(torch.device(name)) and pickle.loads(pickle.dumps(device)) == device


def test_devices_differ_by_type_and_index():
    assert torch.device("cuda") != torch.device("cuda:0") != torch.device("cuda:1")
    assert torch.device("cpu") != "cpu"
    assert (repr(torch.device("cuda", 1)), repr(torch.device(2))) == ("device(type='cuda', index=1)", "device(type='cuda', index=2)")


@pytest.mark.parametrize("name", ["abacus", "", "cuda:", "cuda:-1", "cuda:01", "cuda:a", "cuda:999", ":0"])
def test_other_names_are_refused(name):
    with pytest.raises(torch.DeviceError):
        torch.device(name)


def test_index_is_given_once():
    with pytest.raises(torch.DeviceError):
        torch.device("cuda:0", 1)


USES = [
    lambda device: torch.zeros(2, device=device),
    lambda device: torch.rand(2, device=device),
    lambda device: torch.tensor([1.0], device=device),
    lambda device: torch.as_tensor([1.0], device=device),
    lambda device: torch.zeros(2).new_zeros(2, device=device),
    lambda device: torch.zeros_like(torch.zeros(2), device=device),
    lambda device: torch.zeros(2).to(device),
    lambda device: torch.zeros(2).to(device, torch.float64),
    lambda device: torch.zeros(2).to(device=device),
    lambda device: torch.nn.Linear(2, 2, device=device),
    lambda device: torch.nn.Linear(2, 2).to(device),
]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ABSENT)
def test_using_an_absent_device_says_which_there_are(use, name):
    for device in (name, torch.device(name)):
        with pytest.raises(torch.DeviceError, match=f"'{name}'.*'cpu' or 'meta'"):
            use(device)


# New tensors for which no device is named.

FACTORIES = [
    lambda: torch.zeros(2),
    lambda: torch.ones(2),
    lambda: torch.empty(2),
    lambda: torch.full((2,), 3),
    lambda: torch.empty_strided((2, 2), (1, 2)),
    lambda: torch.eye(3),
    lambda: torch.arange(3),
    lambda: torch.linspace(0, 1, 3),
    lambda: torch.logspace(0, 1, 3),
    lambda: torch.rand(2),
    lambda: torch.randn(2),
    lambda: torch.randint(3, (2,)),
    lambda: torch.randperm(4),
    lambda: torch.normal(0.0, 1.0, (2,)),
    lambda: torch.tril_indices(3, 3),
    lambda: torch.triu_indices(3, 3),
    lambda: torch.tensor([1.0, 2.0]),
    lambda: torch.tensor(np.zeros(2)),
    lambda: torch.as_tensor([1.0]),
    lambda: torch.asarray([1.0]),
    lambda: torch.scalar_tensor(2),
    lambda: torch.hann_window(4),
    lambda: torch.kaiser_window(4),
    lambda: torch.nn.Parameter(torch.zeros(2)),
    lambda: torch.nn.Linear(2, 3).weight,
    lambda: torch.nn.LSTM(2, 3).weight_hh_l0,
    lambda: torch.nn.BatchNorm1d(2).running_mean,
    lambda: torch.zeros(2) + torch.ones(2),
]


@pytest.mark.parametrize("make", FACTORIES)
def test_device_as_a_context(make):
    with torch.device("meta") as device:
        assert make().device == device == torch.get_default_device()
    assert make().device == torch.get_default_device() == torch.device("cpu")


@pytest.mark.parametrize("make", FACTORIES)
def test_absent_device_as_a_context(make):
    with torch.device("cuda"), pytest.raises(torch.DeviceError, match="'cuda'.*'cpu' or 'meta'"):
        make()


def test_what_has_a_device_already_keeps_it():
    x = torch.zeros(2)
    with torch.device("meta"):
        made = [x + 1, torch.zeros_like(x), x.new_ones(2), torch.zeros(2, device="cpu"), torch.from_numpy(np.zeros(2)), torch.Tensor(2, 3)]
        made += [torch.pdist(torch.eye(3, device="cpu")), torch.kaiser_window(4, device="cpu"), torch.histc(x, 4)]
    assert all(y.device == x.device for y in made)


def test_contexts_nest_and_end_with_errors():
    with torch.device("meta"):
        with torch.device("cpu"):
            assert not torch.zeros(2).is_meta
        with pytest.raises(ZeroDivisionError), torch.device("cpu"):
            raise ZeroDivisionError
        assert torch.zeros(2).is_meta
    assert not torch.zeros(2).is_meta


def test_absent_context_without_new_tensors_is_none():
    with torch.device("cuda"):
        assert (torch.zeros(2, device="cpu") + 1).tolist() == [1.0, 1.0]
        assert torch.get_default_device() == torch.device("cuda")


def test_set_default_device():
    torch.set_default_device("meta")
    assert torch.zeros(2).is_meta and torch.get_default_device() == torch.device("meta")
    with torch.device("cpu"):
        assert not torch.zeros(2).is_meta
    assert torch.zeros(2).is_meta
    torch.set_default_device(None)
    assert not torch.zeros(2).is_meta
    torch.set_default_device("cuda:1")
    with pytest.raises(torch.DeviceError):
        torch.zeros(2)
    with pytest.raises(torch.DeviceError):
        torch.set_default_device("abacus")
    with pytest.raises(TypeError):
        torch.set_default_device(1.5)


def test_default_device_is_one_of_its_thread():
    seen = []
    with torch.device("meta"):
        thread = threading.Thread(target=lambda: seen.append(torch.zeros(2).is_meta))
        thread.start()
        thread.join()
    assert seen == [False]
