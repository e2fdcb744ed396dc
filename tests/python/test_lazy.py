"""Modules that learn the width of their input from the first one."""

import copy
import pickle

import pytest

import opforge as torch
from opforge import nn

LAYERS = [
    (nn.LazyLinear, nn.Linear, (4,), {}, (2, 3)),
    (nn.LazyConv1d, nn.Conv1d, (4, 3), {"bias": False}, (2, 3, 8)),
    (nn.LazyConv2d, nn.Conv2d, (4, 3), {"stride": 2}, (3, 8, 8)),
    (nn.LazyConv3d, nn.Conv3d, (4, 3), {}, (2, 3, 5, 5, 5)),
    (nn.LazyConvTranspose1d, nn.ConvTranspose1d, (4, 3), {}, (2, 3, 8)),
    (nn.LazyConvTranspose2d, nn.ConvTranspose2d, (4, 3), {}, (2, 3, 8, 8)),
    (nn.LazyConvTranspose3d, nn.ConvTranspose3d, (4, 3), {}, (2, 3, 5, 5, 5)),
    (nn.LazyBatchNorm1d, nn.BatchNorm1d, (), {}, (2, 3)),
    (nn.LazyBatchNorm2d, nn.BatchNorm2d, (1e-3,), {"affine": False}, (2, 3, 4, 4)),
    (nn.LazyBatchNorm3d, nn.BatchNorm3d, (), {}, (2, 3, 4, 4, 4)),
    (nn.LazyInstanceNorm1d, nn.InstanceNorm1d, (), {"affine": True}, (3, 8)),
    (nn.LazyInstanceNorm2d, nn.InstanceNorm2d, (), {"track_running_stats": True, "affine": True}, (2, 3, 4, 4)),
    (nn.LazyInstanceNorm3d, nn.InstanceNorm3d, (), {"affine": True}, (2, 3, 4, 4, 4)),
]


@pytest.mark.parametrize("lazy, eager, args, options, shape", LAYERS, ids=lambda value: getattr(value, "__name__", ""))
def test_becomes_the_module_that_was_meant(lazy, eager, args, options, shape):
    layer, plain = lazy(*args, **options), eager(3, *args, **options)
    parameters = dict(layer.named_parameters())
    assert layer.has_uninitialized_params() and all(nn.parameter.is_lazy(p) for p in parameters.values())
    x = torch.randn(shape)
    y = layer(x)
    assert type(layer) is eager and repr(layer) == repr(plain) and y.shape == plain(x).shape
    assert {name: tuple(t.shape) for name, t in layer.state_dict().items()} == {n: tuple(t.shape) for n, t in plain.state_dict().items()}
    assert all(p is parameters[name] and type(p) is nn.Parameter for name, p in layer.named_parameters())
    plain.load_state_dict(layer.state_dict())
    again = lazy(*args, **options)
    again.load_state_dict(layer.state_dict())
    assert type(again) is eager
    layer.eval()
    again.eval()
    assert again(x).tolist() == layer(x).tolist()


def test_optimizers_and_copies_see_the_parameters():
    net = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(1)).double()
    twin = copy.deepcopy(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    before = None
    for _ in range(5):
        loss = net(torch.ones(3, 2, dtype=torch.float64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert before is None or loss.item() < before
        before = loss.item()
    assert isinstance(twin[0], nn.LazyLinear) and twin(torch.ones(1, 7, dtype=torch.float64)).dtype is torch.float64


def test_the_wrong_rank_is_refused():
    with pytest.raises(RuntimeError):
        nn.LazyConv2d(4, 3)(torch.ones(3, 3))
    with pytest.raises(ValueError):
        nn.LazyBatchNorm2d()(torch.ones(3, 3))


class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
    """A lazy module as users write them: by `initialize_parameters`."""

    cls_to_become = None

    def __init__(self):
        super().__init__()
        self.weight = nn.UninitializedParameter(dtype=torch.float64)
        self.register_buffer("total", nn.UninitializedBuffer())

    def initialize_parameters(self, x, *, start=1.0):
        self.weight.materialize(x.shape[-1:])
        self.total.materialize(x.shape[-1:])
        nn.init.constant_(self.weight, start)
        nn.init.zeros_(self.total)

    def forward(self, x, *, start=1.0):
        self.total += x.sum(0)
        return x * self.weight


def test_modules_of_users():
    layer, twin = Scale(), Scale()
    weight = layer.weight
    assert layer.has_uninitialized_params() and isinstance(nn.LazyLinear(2), nn.modules.lazy.LazyModuleMixin)
    assert layer(torch.ones(2, 3), start=2.0).tolist() == [[2.0] * 3] * 2
    assert layer.weight is weight and type(weight) is nn.Parameter and weight.dtype is torch.float64 and not layer.has_uninitialized_params()
    assert type(layer.total) is torch.Tensor and layer.total.tolist() == [2.0] * 3
    twin.load_state_dict(layer.state_dict())
    assert twin.weight.tolist() == [2.0] * 3 and twin.total.tolist() == [2.0] * 3
    assert nn.modules.lazy.LazyModuleMixin.cls_to_become is None


def test_what_stays_uninitialized_is_an_error():
    class Forgetful(Scale):
        def initialize_parameters(self, x):
            self.weight.materialize((3,))

    with pytest.raises(RuntimeError, match="Forgetful has not been fully initialized"):
        Forgetful()(torch.ones(2, 3))


def test_materialize():
    parameter = nn.UninitializedParameter()
    again = pickle.loads(pickle.dumps(parameter))
    parameter.materialize((2, 3), dtype=torch.float16)
    assert parameter.shape == (2, 3) and parameter.dtype is torch.float16 and parameter.requires_grad and parameter.is_leaf
    assert type(again) is nn.UninitializedParameter
    buffer = copy.deepcopy(nn.UninitializedBuffer(dtype=torch.int64))
    buffer.materialize(4)
    assert type(buffer) is torch.Tensor and buffer.shape == (4,) and buffer.dtype is torch.int64 and not buffer.requires_grad
