"""backpack: what backward computes beside gradients: of each example, curvature."""

import backpack
import models
from backpack import extensions
from torch import nn

PACKAGE = "backpack-for-pytorch"
_STATISTICS = {"BatchGrad": "grad_batch", "BatchL2Grad": "batch_l2", "SumGradSquared": "sum_grad_squared", "Variance": "variance"}
_CURVES = {
    "DiagGGNExact": "diag_ggn_exact",
    "DiagHessian": "diag_h",
    "KFLR": "kflr",
    "BatchDiagGGNExact": "diag_ggn_exact_batch",
    "BatchDiagHessian": "diag_h_batch",
}


def _extended(extension, place, build):
    def run():
        network = models.filled(backpack.extend(build()))
        loss = backpack.extend(nn.CrossEntropyLoss())(network(models.normal(4, 1, 6, 6)), models.integers(3, 4))
        with backpack.backpack(getattr(extensions, extension)()):
            loss.backward()
        return models.arrays({name: getattr(parameter, place) for name, parameter in network.named_parameters()})

    return run


def _dense():
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 5), nn.Sigmoid(), nn.Linear(5, 3))


def _convolutional():
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3))


CASES = {extension: _extended(extension, place, _dense) for extension, place in (_STATISTICS | _CURVES).items()} | {
    f"{extension}, convolutions": _extended(extension, place, _convolutional) for extension, place in (_STATISTICS | _CURVES).items()
}
