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
    (nn.LazyInstanceNorm1d, nn.InstanceNorm1d, (1e-4, 0.2, True, True), {}, (3, 8)),
    (nn.LazyInstanceNorm2d, nn.InstanceNorm2d, (), {"track_running_stats": True, "affine": True}, (2, 3, 4, 4)),
    (nn.LazyInstanceNorm3d, nn.InstanceNorm3d, (), {"track_running_stats": False, "affine": True, "bias": False}, (2, 3, 4, 4, 4)),
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


def test_lazy_instance_norms_have_parameters_and_statistics_unless_told_otherwise():
    for lazy, rank in (nn.LazyInstanceNorm1d, 1), (nn.LazyInstanceNorm2d, 2), (nn.LazyInstanceNorm3d, 3):
        layer = lazy()
        layer(torch.randn(2, 3, *[4] * rank))
        assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
        assert [name for name, _ in layer.named_buffers()] == ["running_mean", "running_var", "num_batches_tracked"]


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


@pytest.mark.parametrize("make", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_what_has_no_shape_yet_says_so(make):
    tensor = make()
    with pytest.raises(RuntimeError, match=f"shape: an {make.__name__} has none yet"):
        tensor.shape
    for use in (lambda: tensor.numel(), lambda: tensor.norm(), lambda: tensor + 1, lambda: len(tensor), lambda: tensor[0], lambda: nn.init.zeros_(tensor)):
        with pytest.raises(ValueError, match=f"an {make.__name__} has no elements yet"):
            use()
    assert tensor.dtype is torch.float32 and tensor.device.type == "cpu" and tensor.double().dtype is torch.float64
    tensor.materialize((2,))
    assert tensor.numel() == 2 and tensor.shape == (2,)


@pytest.mark.parametrize("make", [lambda: nn.LazyLinear(3), nn.LazyBatchNorm1d, Scale], ids=["linear", "norm", "own"])
def test_states_of_lazy_modules_stay_uninitialized(make, tmp_path):
    layer, other = make(), make()
    state = layer.state_dict()
    unknown = [name for name, value in state.items() if nn.parameter.is_lazy(value)]
    assert unknown == [name for name in state if name != "num_batches_tracked"]
    torch.save(state, tmp_path / "state")
    for saved in state, torch.load(tmp_path / "state"):
        other.load_state_dict(saved)
        assert all(nn.parameter.is_lazy(other.state_dict()[name]) for name in unknown)
    x = torch.ones(2, 5, dtype=torch.float64)
    assert other.double()(x).shape[0] == 2 and not any(map(nn.parameter.is_lazy, other.state_dict().values()))
    with pytest.raises(RuntimeError, match="shape: an Uninitialized"):
        other.load_state_dict(state)


def test_materialize():
    parameter = nn.UninitializedParameter()
    again = pickle.loads(pickle.dumps(parameter))
    parameter.materialize((2, 3), dtype=torch.float16)
    assert parameter.shape == (2, 3) and parameter.dtype is torch.float16 and parameter.requires_grad and parameter.is_leaf
    assert type(again) is nn.UninitializedParameter
    buffer = copy.deepcopy(nn.UninitializedBuffer(dtype=torch.int64))
    buffer.materialize(4)
    assert type(buffer) is torch.Tensor and buffer.shape == (4,) and buffer.dtype is torch.int64 and not buffer.requires_grad
