"""torchviz: drawings of what gradients are computed by: as many nodes of parameters and functions."""

import models
import numpy
import torch
import torchviz

PACKAGE = "torchviz"


def _drawn():
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    text = torchviz.make_dot(network(models.normal(2, 3)).mean(), params=dict(network.named_parameters())).source
    names = sorted(name for name, _ in network.named_parameters() if name in text)
    return models.arrays([numpy.array([name in text for name in names]), text.count("TanhBackward"), text.count("lightblue")])


CASES = {"a network": _drawn}
