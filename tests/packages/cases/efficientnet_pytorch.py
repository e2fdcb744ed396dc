"""efficientnet-pytorch: classifiers and their features."""

import models
from efficientnet_pytorch import EfficientNet

PACKAGE = "efficientnet_pytorch"


def _network():
    network = EfficientNet.from_name("efficientnet-b0", num_classes=5, depth_coefficient=0.3, width_coefficient=0.5, image_size=32)
    return network


CASES = {
    "classifier": lambda: models.passes(_network(), models.normal(2, 3, 32, 32)),
    "features": lambda: models.arrays(models.filled(_network()).eval().extract_endpoints(models.normal(1, 3, 64, 64))),
}
