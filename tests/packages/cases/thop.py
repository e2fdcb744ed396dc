"""thop: operations and parameters of models."""

import models
import thop
import torch
from torch import nn

PACKAGE = "thop"


def _counted(build, *inputs):
    return lambda: models.arrays(list(thop.profile(build(), inputs=inputs, verbose=False)))


class _Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.reader, self.last = nn.Embedding(9, 4), nn.LSTM(4, 5, batch_first=True, bidirectional=True), nn.Linear(10, 3)

    def forward(self, tokens):
        return self.last(self.reader(self.embedding(tokens))[0]).softmax(-1)


IMAGES = torch.zeros(2, 3, 16, 16)
CASES = {
    "convolutions": _counted(
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.PReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(392, 4), nn.Softmax(1)),
        IMAGES,
    ),
    "upsampling": _counted(
        lambda: nn.Sequential(nn.ConvTranspose2d(3, 4, 2, 2), nn.InstanceNorm2d(4), nn.AdaptiveAvgPool2d(4), nn.Upsample(scale_factor=2)), IMAGES
    ),
    "activations": _counted(lambda: nn.Sequential(nn.CELU(), nn.LogSoftmax(1), nn.ZeroPad2d(1), nn.MaxPool2d(2), nn.Softshrink()), IMAGES),
    "recurrent": _counted(_Reader, torch.zeros(2, 5, dtype=torch.int64)),
}
