"""fastai: layers, networks, losses, metrics and training by its learner."""

import models
import torch
from fastai.layers import AdaptiveConcatPool2d, ConvLayer, PooledSelfAttention2d, SelfAttention, SimpleSelfAttention
from fastai.losses import CrossEntropyLossFlat, DiceLoss, FocalLossFlat, LabelSmoothingCrossEntropy
from fastai.optimizer import Adam, Lamb, RAdam, RMSProp, SGD
from fastai.tabular.model import TabularModel
from fastai.vision.all import DataLoaders, Learner, TensorCategory, TensorImage, TfmdLists, accuracy, xresnet18
from torch import nn

PACKAGE = "fastai"


def _fixed(module):
    """The module with vectors of spectral norms that depend on their names alone."""
    with torch.no_grad():
        for name, buffer in module.named_buffers():
            if name.endswith(("weight_u", "weight_v")):
                buffer.copy_(nn.functional.normalize(models.normal(*buffer.shape, name=name), dim=0))
    return module


def _loss(build, *shape):
    def run():
        scores = models.normal(4, 3, *shape).requires_grad_()
        loss = build()(scores, models.integers(3, 4, *shape))
        loss.backward()
        return models.arrays([loss, scores.grad])

    return run


def _stepped(build, **options):
    def run():
        network = models.filled(nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2)))
        optimizer = build(list(network.parameters()), lr=0.01, **options)
        for step in range(4):
            network(models.normal(4, 5, name=f"input {step}")).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        return models.arrays(dict(network.named_parameters()))

    return run


def _loaders():
    images, kinds = models.normal(24, 3, 8, 8), models.integers(2, 24)
    items = TfmdLists(list(range(24)), lambda i: (TensorImage(images[i]), TensorCategory(kinds[i])))
    return DataLoaders.from_dsets(items, items, bs=8, num_workers=0, shuffle=False, drop_last=False)


def _learned():
    network = models.filled(nn.Sequential(ConvLayer(3, 6), ConvLayer(6, 8, stride=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2)))
    learner = Learner(_loaders(), network, loss_func=CrossEntropyLossFlat(), metrics=accuracy)
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(2, 1e-2)
        predicted, _ = learner.get_preds()
    return models.arrays([*(torch.tensor(list(values)) for values in learner.recorder.values), predicted, dict(network.named_parameters())])


CASES = {
    "ConvLayer": lambda: models.passes(ConvLayer(3, 6), models.normal(2, 3, 8, 8), train=True),
    "SelfAttention": lambda: models.passes(_fixed(SelfAttention(8)), models.normal(2, 8, 4, 4)),
    "SimpleSelfAttention": lambda: models.passes(_fixed(SimpleSelfAttention(8)), models.normal(2, 8, 4, 4)),
    "PooledSelfAttention2d": lambda: models.passes(_fixed(PooledSelfAttention2d(8)), models.normal(2, 8, 4, 4)),
    "AdaptiveConcatPool2d": lambda: models.passes(AdaptiveConcatPool2d(), models.normal(2, 8, 4, 4)),
    "xresnet18": lambda: models.passes(xresnet18(n_out=5), models.normal(2, 3, 32, 32)),
    "TabularModel": lambda: models.passes(TabularModel([(5, 3), (4, 2)], 3, 2, [8, 6]), models.integers(4, 6, 2), models.normal(6, 3), train=True),
    "CrossEntropyLossFlat": _loss(lambda: CrossEntropyLossFlat(axis=1), 5),
    "FocalLossFlat": _loss(lambda: FocalLossFlat(axis=1), 5),
    "LabelSmoothingCrossEntropy": _loss(LabelSmoothingCrossEntropy),
    "DiceLoss": _loss(DiceLoss, 5, 5),
    "SGD": _stepped(SGD, mom=0.9),
    "Adam": _stepped(Adam),
    "RAdam": _stepped(RAdam),
    "RMSProp": _stepped(RMSProp),
    "Lamb": _stepped(Lamb),
    "training": _learned,
}
