"""Compiled functions and steps on a device."""

import pytest
from chosen_device import DEVICE

import opforge as torch
from opforge import nn
from opforge.nn import functional as F

pytestmark = pytest.mark.usefixtures("no_warnings")


def test_functions_of_elements_are_one_kernel():
    @torch.compile(fullgraph=True)
    def function(x, w, b):
        return F.gelu(x * w + b).tanh() * torch.tensor([2.0, 3.0, 4.0], device=DEVICE)

    x, w, b = (torch.randn(4, 3, device=DEVICE) for _ in range(3))
    torch.testing.assert_close(function(x, w, b), F.gelu(x * w + b).tanh() * torch.tensor([2.0, 3.0, 4.0], device=DEVICE))
    assert function.explain().count("kernel ") == 1 and "5 calls" in function.explain()
    halves = function(x.half(), w.half(), b.half())
    assert halves.dtype is torch.float32 and halves.device.type == DEVICE


def test_a_compiled_module_moves_with_its_module():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3)), torch.randn(2, 4)
    compiled = torch.compile(model, fullgraph=True)
    gradients = []
    for device in ("cpu", DEVICE, "cpu"):
        model.to(device).zero_grad()
        y = compiled(x.to(device))
        y.square().sum().backward()
        assert y.device.type == device == model[0].weight.grad.device.type
        gradients.append(model[0].weight.grad.cpu())
    torch.testing.assert_close(gradients[1], gradients[0])
    assert torch.equal(gradients[2], gradients[0])


def test_random_numbers_are_new_in_each_call():
    @torch.compile(fullgraph=True)
    def function(x):
        return F.dropout(x, 0.5) + torch.rand_like(x)

    x = torch.ones(8, device=DEVICE)
    torch.manual_seed(1)
    drawn = [function(x) for _ in range(2)]
    torch.manual_seed(1)
    assert all(torch.allclose(a, F.dropout(x, 0.5) + torch.rand_like(x)) for a in drawn)


class Step(nn.Graph):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.add_optimizer(torch.optim.Adam(model.parameters(), lr=0.05))

    def build(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        return loss


def test_steps_of_training_are_those_of_the_cpu():
    losses = []
    for device in ("cpu", DEVICE):
        torch.manual_seed(0)
        step = Step(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(device))
        x, y = torch.randn(6, 4).to(device), (torch.arange(6) % 3).to(device)
        losses.append([step(x, y).item() for _ in range(4)])
    assert losses[1] == pytest.approx(losses[0], rel=1e-5) and losses[1][-1] < losses[1][0]


def test_tensors_of_two_devices_run_as_they_are():
    @torch.compile
    def function(x, y):
        return x + y.to(x.device)

    with pytest.warns(UserWarning, match="one device"):
        assert function(torch.ones(2, device=DEVICE), torch.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.skipif(DEVICE != "cuda" or torch.cuda.get_device_name().startswith("Host"), reason="hosts take 20 s to measure what they can do as GPUs")
def test_kernels_are_timed():
    @torch.compile(fullgraph=True)
    def function(x):
        return x.exp().sum()

    assert "sum" in function.profile(torch.ones(3, device=DEVICE))
