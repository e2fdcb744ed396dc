"""ema-pytorch: averages of weights over the steps of training."""

import ema_pytorch
import models
import torch
from torch import nn

PACKAGE = "ema-pytorch"


def _averaged(build, read, steps=6):
    def run():
        network = models.filled(nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 2)))
        average = build(network)
        optimizer = torch.optim.SGD(network.parameters(), 0.1)
        for step in range(steps):
            optimizer.zero_grad()
            network(models.normal(4, 5, name=f"input {step}")).square().mean().backward()
            optimizer.step()
            average.update()
        return models.arrays(read(average))

    return run


def _model(average):
    return average.ema_model.state_dict()


CASES = {
    "EMA": _averaged(lambda network: ema_pytorch.EMA(network, beta=0.9, update_after_step=1, update_every=1), _model),
    "EMA by lerp, every 2": _averaged(
        lambda network: ema_pytorch.EMA(network, beta=0.99, power=3 / 4, inv_gamma=10.0, update_after_step=0, update_every=2, use_foreach=True),
        _model,
    ),
    "PostHocEMA": _averaged(
        lambda network: ema_pytorch.PostHocEMA(network, sigma_rels=(0.05, 0.28), update_every=1, checkpoint_every_num_steps=100),
        lambda average: [inner.ema_model.state_dict() for inner in average.ema_models],
    ),
}
