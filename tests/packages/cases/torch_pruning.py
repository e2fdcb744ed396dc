"""torch-pruning: structured pruning along the dependencies that the graph of gradients tells."""

import models
import torch_pruning as tp
from torch import nn

PACKAGE = "torch-pruning"


class _Block(nn.Module):
    """Convolutions with a shortcut, so that channels depend on each other."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.last = nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8, 4)

    def forward(self, x):
        x = self.norm(self.first(x)).relu()
        x = x + self.second(x).relu()
        return self.last(x.mean((2, 3)))


IMAGES = models.normal(2, 3, 8, 8)


def _group():
    network = models.filled(_Block())
    graph = tp.DependencyGraph().build_dependency(network, example_inputs=IMAGES)
    group = graph.get_pruning_group(network.first, tp.prune_conv_out_channels, idxs=[1, 5])
    group.prune()
    return models.passes(network, IMAGES)


def _pruned(importance, **options):
    def run():
        network = models.filled(_Block())
        if isinstance(importance(), tp.importance.TaylorImportance):
            network(IMAGES).square().sum().backward()
        tp.pruner.MagnitudePruner(network, IMAGES, importance=importance(), pruning_ratio=0.5, ignored_layers=[network.last], **options).step()
        return models.arrays([network(IMAGES), [parameter.shape for parameter in network.parameters()], dict(network.named_parameters())])

    return run


CASES = {
    "a group": _group,
    "by magnitude": _pruned(lambda: tp.importance.MagnitudeImportance(p=2)),
    "by Taylor's expansion": _pruned(tp.importance.TaylorImportance),
    "of all layers": _pruned(lambda: tp.importance.MagnitudeImportance(p=1), global_pruning=True),
    "counted": lambda: models.arrays(list(tp.utils.count_ops_and_params(_Block(), IMAGES))),
}
