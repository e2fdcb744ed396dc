"""accelerate: training on one process, weights from and to files."""

import tempfile

import accelerate
import models
import torch

PACKAGE = "accelerate"


def _network():
    return models.filled(torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)))


def _data():
    return torch.utils.data.TensorDataset(models.normal(24, 6), models.integers(3, 24))


def _trained(**options):
    accelerator = accelerate.Accelerator(cpu=True, **options)
    network = _network()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    network, optimizer, loader, schedule = accelerator.prepare(network, optimizer, torch.utils.data.DataLoader(_data(), batch_size=4), schedule)
    losses = []
    for x, y in loader:
        with accelerator.accumulate(network):
            loss = torch.nn.functional.cross_entropy(network(x), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            losses.append(loss)
    return models.arrays([losses, dict(network.named_parameters())])


def _state():
    accelerator = accelerate.Accelerator(cpu=True)
    network, optimizer = accelerator.prepare(_network(), torch.optim.SGD(_network().parameters(), 0.1))
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        with torch.no_grad():
            network[0].weight.zero_()
        accelerator.load_state(folder)
    return models.arrays(dict(network.named_parameters()))


def _empty():
    with accelerate.init_empty_weights():
        network = torch.nn.Linear(1000, 1000)
    assert network.weight.device.type == "meta"
    network.to_empty(device="cpu")
    return models.arrays(models.filled(network)(models.normal(2, 1000)))


CASES = {
    "training": _trained,
    "gradient accumulation": lambda: _trained(gradient_accumulation_steps=2),
    "save_state": _state,
    "init_empty_weights": _empty,
}
