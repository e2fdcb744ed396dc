"""Programs of networks on a device give what they give on the CPU."""

import pytest
from chosen_device import DEVICE

import opforge as torch
from opforge import nn
from opforge.nn import functional as F


def both(program):
    """What a program gives on either device, from the same seed."""
    results = []
    for device in ("cpu", DEVICE):
        torch.manual_seed(0)
        made = program(device)
        assert all(tensor.device.type == device for tensor in made)
        results.append([tensor.detach().cpu() for tensor in made])
    return results


def assert_same(program, tolerance=1e-4):
    for cpu, device in zip(*both(program)):
        torch.testing.assert_close(device, cpu, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name, options", [("SGD", {"momentum": 0.9}), ("AdamW", {"amsgrad": True}), ("RMSprop", {})])
def test_optimizers_train(name, options):
    def train(device):
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.05, **options)
        x, y = torch.randn(16, 4).to(device), (torch.arange(16) % 3).to(device)
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return list(model.parameters())

    assert_same(train)


def test_convolutions_train():
    def train(device):
        layers = [nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(48, 2)]
        model = nn.Sequential(*layers).to(device)
        loss = model(torch.randn(2, 1, 8, 8).to(device)).square().sum()
        loss.backward()
        return [loss, *(p.grad for p in model.parameters()), *model.buffers()][:-1]

    assert_same(train)


def test_transformers_train():
    def train(device):
        model = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).to(device)
        loss = model(torch.randn(2, 5, 8).to(device)).square().sum()
        loss.backward()
        return [loss, *(p.grad for p in model.parameters())]

    assert_same(train)


def test_recurrent_layers_train():
    def train(device):
        embedding, cell = nn.Embedding(10, 4).to(device), nn.LSTM(4, 5, batch_first=True).to(device)
        y, _ = cell(embedding((torch.arange(12).reshape(3, 4) % 10).to(device)))
        y.sum().backward()
        return [y, embedding.weight.grad, *(p.grad for p in cell.parameters())]

    assert_same(train)


def test_modules_move_and_their_optimizer_s_state_with_them():
    model = nn.Linear(2, 2).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2, device=DEVICE)).sum().backward()
    optimizer.step()
    assert all(state["exp_avg"].device.type == DEVICE for state in optimizer.state.values())
    other = nn.Linear(2, 2)
    other.load_state_dict(model.state_dict())
    assert other.weight.device.type == "cpu" and torch.equal(other.weight, model.weight.cpu())
    again = torch.optim.Adam(model.parameters())
    again.load_state_dict(optimizer.state_dict())
    assert all(state["exp_avg"].device.type == DEVICE for state in again.state.values())
    assert model.cpu().weight.device.type == "cpu" and model.to(f"{DEVICE}:0").bias.device.type == DEVICE


def test_functions_of_functions():
    x = torch.ones(3, 2, device=DEVICE)
    assert torch.vmap(lambda row: row.sum())(x).tolist() == [2.0] * 3
    assert torch.func.grad(lambda t: (t**3).sum())(x).tolist() == [[3.0, 3.0]] * 3
    leaf = x.clone().requires_grad_()
    torch.utils.checkpoint.checkpoint(lambda t: t.sin().sum(), leaf, use_reentrant=False).backward()
    torch.testing.assert_close(leaf.grad, x.cos())


def test_what_has_no_kernel_is_computed_on_the_cpu():
    def program(device):
        x = torch.tensor([[4.0, 1.0], [1.0, 3.0]], device=device, requires_grad=True)
        y = torch.linalg.cholesky(x).sum() + torch.linalg.inv(x).sum() + torch.linalg.det(x)
        y.backward()
        z = torch.fft.fft(x) * torch.complex(x, x)
        return [y, x.grad, z.abs(), torch.poisson(x.detach())]

    assert_same(program)
