"""torch-optimizer: optimizers beside PyTorch's own, each for some steps."""

import models
import torch
import torch_optimizer

PACKAGE = "torch-optimizer"
_NAMES = """A2GradExp A2GradInc A2GradUni AccSGD AdaBelief AdaBound Adafactor AdaMod AdamP AggMo Apollo DiffGrad Lamb LARS MADGRAD NovoGrad PID
QHAdam QHM RAdam Ranger RangerQH RangerVA SGDP SGDW Shampoo SWATS Yogi"""
_NEEDS = {"A2GradUni": {"lips": 10.0}, "A2GradExp": {"lips": 10.0}, "A2GradInc": {"lips": 10.0}}


def _trained(name):
    def run():
        torch.manual_seed(0)
        network = models.filled(torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)))
        optimizer = getattr(torch_optimizer, name)(network.parameters(), **_NEEDS.get(name, {"lr": 1e-2}))
        losses = []
        for step in range(5):
            optimizer.zero_grad()
            loss = network(models.normal(8, 6, name=f"input {step}")).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss)
        return models.arrays([losses, dict(network.named_parameters())])

    return run


def _looking_ahead():
    network = models.filled(torch.nn.Linear(6, 3))
    optimizer = torch_optimizer.Lookahead(torch_optimizer.Yogi(network.parameters(), lr=0.1), k=2, alpha=0.5)
    for step in range(5):
        optimizer.zero_grad()
        network(models.normal(8, 6, name=f"input {step}")).square().mean().backward()
        optimizer.step()
    return models.arrays(dict(network.named_parameters()))


CASES = {name: _trained(name) for name in _NAMES.split()} | {"Lookahead": _looking_ahead}
