"""opacus: gradients of each example, private training without noise and its account."""

import models
import opacus
import torch
from opacus.accountants import RDPAccountant
from opacus.accountants.utils import get_noise_multiplier
from opacus.grad_sample import GradSampleModule
from opacus.layers import DPGRU, DPLSTM, DPMultiheadAttention
from torch import nn

PACKAGE = "opacus"


def _of_examples(build, *inputs, read=lambda y: y):
    def run():
        module = GradSampleModule(models.filled(build()))
        output = read(module(*inputs))
        (output * models.uniform(*output.shape)).sum().backward()
        return models.arrays(
            [output, {name: parameter.grad_sample for name, parameter in module.named_parameters() if parameter.grad_sample is not None}]
        )

    return run


def _trained(**options):
    """Private steps whose noise is zero."""

    def run():
        network = models.filled(nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3)))
        data = torch.utils.data.TensorDataset(models.normal(12, 5), models.integers(3, 12))
        optimizer = torch.optim.SGD(network.parameters(), 0.1)
        network, optimizer, loader = opacus.PrivacyEngine().make_private(
            module=network,
            optimizer=optimizer,
            data_loader=torch.utils.data.DataLoader(data, 4),
            noise_multiplier=0.0,
            max_grad_norm=0.5,
            poisson_sampling=False,
            **options,
        )
        losses = []
        for x, y in loader:
            optimizer.zero_grad()
            losses.append(nn.functional.cross_entropy(network(x), y))
            losses[-1].backward()
            optimizer.step()
        return models.arrays([losses, *network.parameters()])

    return run


def _account():
    accountant = RDPAccountant()
    for _ in range(10):
        accountant.step(noise_multiplier=1.1, sample_rate=0.05)
    return models.arrays([accountant.get_epsilon(1e-5), get_noise_multiplier(target_epsilon=2.0, target_delta=1e-5, sample_rate=0.05, epochs=2)])


def _validated():
    fixed = opacus.validators.ModuleValidator.fix(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()))
    return models.passes(fixed, models.normal(2, 3, 6, 6))


IMAGES, TOKENS = models.normal(3, 4, 6, 6), models.integers(9, 3, 5)
CASES = {
    "Linear": _of_examples(lambda: nn.Linear(5, 4), models.normal(3, 5)),
    "Linear, of sequences": _of_examples(lambda: nn.Linear(5, 4), models.normal(3, 7, 5)),
    "Conv2d": _of_examples(lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), IMAGES),
    "Conv1d": _of_examples(lambda: nn.Conv1d(4, 6, 3, dilation=2), models.normal(3, 4, 9)),
    "Embedding": _of_examples(lambda: nn.Embedding(9, 4), TOKENS),
    "LayerNorm": _of_examples(lambda: nn.LayerNorm(5), models.normal(3, 7, 5)),
    "GroupNorm": _of_examples(lambda: nn.GroupNorm(2, 4), IMAGES),
    "InstanceNorm": _of_examples(lambda: nn.InstanceNorm2d(4, affine=True), IMAGES),
    "DPLSTM": _of_examples(lambda: DPLSTM(5, 4, batch_first=True), models.normal(3, 6, 5), read=lambda y: y[0]),
    "DPGRU": _of_examples(lambda: DPGRU(5, 4, batch_first=True), models.normal(3, 6, 5), read=lambda y: y[0]),
    "DPMultiheadAttention": _of_examples(lambda: DPMultiheadAttention(4, 2), *[models.normal(6, 3, 4)] * 3, read=lambda y: y[0]),
    "make_private": _trained(),
    "account": _account,
    "fixed": _validated,
}
