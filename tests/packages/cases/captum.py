"""captum: attributions of a network's output to inputs, layers and neurons."""

import captum.attr
import models
import torch
from torch import nn

PACKAGE = "captum"


class _Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 6, 3, padding=1)
        self.relu, self.pool = nn.ReLU(), nn.MaxPool2d(2)
        self.hidden, self.relu2, self.last = nn.Linear(6 * 16, 12), nn.ReLU(), nn.Linear(12, 4)

    def forward(self, x):
        x = self.pool(self.relu(self.convolution(x)))
        return self.last(self.relu2(self.hidden(x.flatten(1))))


def _attributed(method, layer=None, **options):
    def run():
        network = models.filled(_Network()).eval()
        x = models.normal(models.BATCH, 3, 8, 8).requires_grad_()
        places = [getattr(network, layer)] if layer else []
        torch.manual_seed(0)
        return models.arrays(getattr(captum.attr, method)(network, *places).attribute(x, target=1, **options))

    return run


def _neuron():
    network = models.filled(_Network()).eval()
    x = models.normal(models.BATCH, 3, 8, 8)
    found = [captum.attr.NeuronGradient(network, network.hidden).attribute(x, 3), captum.attr.NeuronConductance(network, network.hidden).attribute(x, 3, target=1)]
    return models.arrays(found)


def _texts():
    """Attributions to words, through their embeddings."""

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.last = nn.Embedding(20, 6), nn.Linear(6, 3)

        def forward(self, tokens):
            return self.last(self.embedding(tokens).tanh().mean(1))

    network = models.filled(Reader())
    found = captum.attr.LayerIntegratedGradients(network, network.embedding).attribute(models.integers(20, 2, 5), target=1)
    return models.arrays(found)


CASES = {
    "IntegratedGradients": _attributed("IntegratedGradients", return_convergence_delta=True),
    "Saliency": _attributed("Saliency"),
    "InputXGradient": _attributed("InputXGradient"),
    "DeepLift": _attributed("DeepLift"),
    "GuidedBackprop": _attributed("GuidedBackprop"),
    "Deconvolution": _attributed("Deconvolution"),
    "LRP": _attributed("LRP"),
    "Occlusion": _attributed("Occlusion", sliding_window_shapes=(3, 3, 3)),
    "FeatureAblation": _attributed("FeatureAblation", feature_mask=torch.arange(4).reshape(2, 2).repeat_interleave(4, 0).repeat_interleave(4, 1)),
    "GuidedGradCam": _attributed("GuidedGradCam", "convolution"),
    "LayerGradCam": _attributed("LayerGradCam", "convolution"),
    "LayerActivation": lambda: models.arrays(
        (lambda network: captum.attr.LayerActivation(network, network.hidden).attribute(models.normal(2, 3, 8, 8)))(models.filled(_Network()))
    ),
    "LayerConductance": _attributed("LayerConductance", "hidden"),
    "LayerDeepLift": _attributed("LayerDeepLift", "hidden"),
    "LayerGradientXActivation": _attributed("LayerGradientXActivation", "hidden"),
    "InternalInfluence": _attributed("InternalInfluence", "hidden"),
    "neurons": _neuron,
    "words": _texts,
}
