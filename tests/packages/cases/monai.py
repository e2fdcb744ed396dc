"""monai: networks, losses, metrics and transforms of medical images."""

import models
import torch
from monai import inferers, losses, metrics, transforms
from monai.networks import nets

PACKAGE = "monai"


def _volume(size=32, channels=1):
    return models.normal(1, channels, size, size, size)


def _masks():
    return (models.uniform(2, 3, 12, 12, name="mask") > 0.5).float()


def _loss(build):
    def case():
        scores = models.normal(2, 3, 12, 12).requires_grad_()
        loss = build()(scores, _masks())
        loss.backward()
        return models.arrays([loss, scores.grad])

    return case


def _transforms():
    image = models.uniform(1, 20, 22)
    pipeline = transforms.Compose(
        [
            transforms.ScaleIntensity(), transforms.Resize((16, 18)), transforms.Flip(0), transforms.Rotate90(), transforms.Zoom(1.2),
            transforms.GaussianSmooth(1.0), transforms.NormalizeIntensity(), transforms.SpatialPad((24, 24)), transforms.CenterSpatialCrop((14, 14)),
        ]
    )  # fmt: skip
    return models.arrays(torch.as_tensor(pipeline(image)))


def _metrics():
    predicted, expected = _masks(), _masks().flip(-1)
    dice = metrics.DiceMetric()(predicted, expected)
    return models.arrays([dice, metrics.MeanIoU()(predicted, expected), metrics.compute_hausdorff_distance(predicted, expected)])


def _windows():
    network = models.filled(torch.nn.Conv2d(1, 2, 3, padding=1)).eval()
    with torch.no_grad():
        return models.arrays(inferers.sliding_window_inference(models.normal(1, 1, 30, 26), (16, 16), 2, network, overlap=0.5, mode="gaussian"))


CASES = {
    "UNet": lambda: models.passes(nets.UNet(3, 1, 2, (4, 8, 16), (2, 2), num_res_units=1), _volume(16)),
    "SegResNet": lambda: models.passes(nets.SegResNet(init_filters=8, blocks_down=(1, 1), blocks_up=(1,)), _volume(16)),
    "UNETR": lambda: models.passes(
        nets.UNETR(1, 2, 32, feature_size=4, hidden_size=16, mlp_dim=16, num_heads=2), _volume()
    ),
    "SwinUNETR": lambda: models.passes(nets.SwinUNETR(1, 2, feature_size=12, spatial_dims=2, depths=(1, 1, 1, 1)), models.normal(1, 1, 64, 64)),
    "DenseNet": lambda: models.passes(nets.DenseNet(2, 1, 3, 8, 4, (2, 2)), models.normal(2, 1, 32, 32)),
    "Dice": _loss(lambda: losses.DiceLoss(sigmoid=True)),
    "DiceCE": _loss(lambda: losses.DiceCELoss(softmax=True)),
    "focal": _loss(lambda: losses.FocalLoss()),
    "Tversky": _loss(lambda: losses.TverskyLoss(sigmoid=True)),
    "transforms": _transforms,
    "metrics": _metrics,
    "sliding windows": _windows,
}
