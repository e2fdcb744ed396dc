"""captum: what inputs and neurons a network's answer comes from."""

import models
import torch
from captum import attr

PACKAGE = "captum"


def _network():
    return models.filled(
        torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(36, 5))
    ).eval()


def _plain():
    return models.filled(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 5))).eval()


def _explained(kind, **options):
    def case():
        inputs = models.normal(2, 3, 8, 8)
        return models.arrays(kind(_network()).attribute(inputs, target=torch.tensor([1, 3]), **options))

    return case


def _layer():
    network = _network()
    inputs = models.normal(2, 3, 8, 8)
    found = [attr.LayerGradCam(network, network[0]).attribute(inputs, target=1), attr.LayerActivation(network, network[2]).attribute(inputs)]
    return models.arrays([*found, attr.LayerConductance(network, network[0]).attribute(inputs, target=1, n_steps=8)])


CASES = {
    "Saliency": _explained(attr.Saliency),
    "InputXGradient": _explained(attr.InputXGradient),
    "IntegratedGradients": _explained(attr.IntegratedGradients, n_steps=12),
    "DeepLift": _explained(attr.DeepLift),
    "GuidedBackprop": _explained(attr.GuidedBackprop),
    "Deconvolution": _explained(attr.Deconvolution),
    "Occlusion": _explained(attr.Occlusion, sliding_window_shapes=(3, 4, 4), strides=(3, 2, 2)),
    "FeatureAblation": _explained(attr.FeatureAblation),
    "LRP": lambda: models.arrays(attr.LRP(_plain()).attribute(models.normal(2, 8), target=1)),
    "layers": _layer,
}
