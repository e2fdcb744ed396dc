"""snntorch: spiking neurons, their surrogate gradients, encodings and losses."""

import models
import snntorch as snn
import torch
from snntorch import functional, spikegen, surrogate
from torch import nn

PACKAGE = "snntorch"
STEPS = 6


def _spiking(build, **options):
    def run():
        neuron = build(spike_grad=surrogate.fast_sigmoid(slope=5), init_hidden=True, output=True, **options)
        network = models.filled(nn.Sequential(nn.Linear(5, 6)))
        found = [neuron(3 * network(models.uniform(4, 5, name=f"input {step}"))) for step in range(STEPS)]
        spikes, potentials = (torch.stack([step[place] for step in found]) for place in (0, -1))
        (spikes * models.uniform(*spikes.shape)).sum().backward()
        return models.arrays([spikes, potentials, *(parameter.grad for parameter in network.parameters())])

    return run


def _surrogate(build):
    def run():
        x = models.normal(4, 5).requires_grad_()
        y = build()(x)
        (y * models.uniform(4, 5)).sum().backward()
        return models.arrays([y, x.grad])

    return run


def _loss(build):
    def run():
        spikes = models.uniform(STEPS, 4, 3).requires_grad_()
        loss = build()(spikes, models.integers(3, 4))
        loss.backward()
        return models.arrays([loss, spikes.grad])

    return run


def _encoded():
    x = models.uniform(3, 4)
    return models.arrays(
        [
            spikegen.latency(x, num_steps=5, tau=5, threshold=0.01, normalize=True),
            spikegen.delta(models.normal(6, 4), threshold=0.3),
            spikegen.targets_convert(models.integers(3, 4), 3),
        ]
    )


CASES = {
    "Leaky": _spiking(snn.Leaky, beta=0.9),
    "Leaky, reset to zero": _spiking(snn.Leaky, beta=0.8, reset_mechanism="zero"),
    "Synaptic": _spiking(snn.Synaptic, alpha=0.8, beta=0.9),
    "Alpha": _spiking(snn.Alpha, alpha=0.9, beta=0.8),
    "Lapicque": _spiking(snn.Lapicque, beta=0.9),
    "RLeaky": _spiking(snn.RLeaky, beta=0.9, V=0.5, all_to_all=False),
    "encodings": _encoded,
    "rate loss": _loss(functional.ce_rate_loss),
    "count loss": _loss(functional.ce_count_loss),
    "MSE of counts": _loss(lambda: functional.mse_count_loss(correct_rate=0.8, incorrect_rate=0.2)),
} | {
    name: _surrogate(getattr(surrogate, name))
    for name in ("atan", "fast_sigmoid", "sigmoid", "triangular", "straight_through_estimator", "spike_rate_escape")
}
