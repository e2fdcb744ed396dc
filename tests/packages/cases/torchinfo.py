"""torchinfo: tables of a model's layers, shapes, parameters and operations."""

import models
import numpy
import torchinfo
from torch import nn

PACKAGE = "torchinfo"


def _told(build, **options):
    def run():
        summary = torchinfo.summary(
            build(), verbose=0, col_names=("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable"), **options
        )
        text = numpy.frombuffer(str(summary).encode(), dtype="uint8")
        return models.arrays([text, summary.total_params, summary.total_mult_adds, summary.trainable_params, summary.total_output_bytes])

    return run


def _network():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 9, 4))


class _Words(nn.Module):
    """Layers that give tuples."""

    def __init__(self):
        super().__init__()
        self.embedding, self.reader, self.last = nn.Embedding(20, 6), nn.LSTM(6, 7, 2, batch_first=True), nn.Linear(7, 3)

    def forward(self, tokens):
        return self.last(self.reader(self.embedding(tokens))[0])


CASES = {
    "convolutions": _told(_network, input_size=(2, 3, 8, 8)),
    "tree of layers": _told(
        lambda: nn.Sequential(_network(), nn.Sequential(nn.Linear(4, 5), nn.Dropout())),
        input_size=(2, 3, 8, 8),
        depth=2,
        row_settings=("depth", "var_names"),
    ),
    "recurrent": _told(_Words, input_data=models.integers(20, 2, 5)),
    "attention": _told(lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), input_size=(2, 5, 8)),
}
