"""ptflops: operations and parameters of models, by layers and functions."""

import models
import ptflops
import torch
from torch import nn

PACKAGE = "ptflops"


class _Functional(nn.Module):
    """A model of functions beside layers."""

    def __init__(self):
        super().__init__()
        self.convolution, self.attention = nn.Conv2d(3, 8, 3, padding=1), nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        x = nn.functional.relu(self.convolution(x))
        x = nn.functional.avg_pool2d(x, 2).flatten(2).transpose(1, 2)
        return torch.matmul(self.attention(x, x, x)[0], torch.ones(8, 4)) + 1


def _counted(build, shape, **options):
    def run():
        found = ptflops.get_model_complexity_info(
            build(), shape, as_strings=False, print_per_layer_stat=False, verbose=False, backend="pytorch", **options
        )
        return models.arrays(list(found))

    return run


CASES = {
    "layers": _counted(
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(392, 4)), (3, 16, 16)
    ),
    "functions": _counted(_Functional, (3, 8, 8)),
    "recurrent": _counted(lambda: nn.GRU(4, 6, batch_first=True), (5, 4)),
    "upsampling": _counted(lambda: nn.Sequential(nn.ConvTranspose2d(3, 4, 2, 2), nn.PReLU(), nn.Upsample(scale_factor=2)), (3, 8, 8)),
}
