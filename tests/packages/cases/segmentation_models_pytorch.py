"""segmentation-models-pytorch: decoders over encoders, losses, metrics."""

import models
import segmentation_models_pytorch as smp
import torch

PACKAGE = "segmentation-models-pytorch"


def _model(name, size=64, encoder="resnet18", **options):
    build = lambda: smp.create_model(name, encoder_name=encoder, encoder_weights=None, classes=3, **options)
    return lambda: models.passes(build(), models.normal(models.BATCH, 3, size, size))


def _loss(build, **options):
    def run():
        scores = models.normal(2, 3, 12, 12).requires_grad_()
        loss = build(mode="multiclass", **options)(scores, models.integers(3, 2, 12, 12))
        loss.backward()
        return models.arrays([loss, scores.grad])

    return run


def _metrics():
    told, meant = models.integers(3, 2, 12, 12), models.integers(3, 2, 12, 12, name="other")
    counts = smp.metrics.get_stats(told, meant, mode="multiclass", num_classes=3)
    return models.arrays([*counts, smp.metrics.iou_score(*counts, reduction="micro"), smp.metrics.f1_score(*counts, reduction="macro-imagewise")])


def _trained():
    """Steps of training with batch statistics."""
    model = models.filled(smp.Unet("resnet18", encoder_weights=None, classes=1, encoder_depth=3, decoder_channels=(32, 16, 8)))
    optimizer, loss = torch.optim.SGD(model.parameters(), lr=1e-2), smp.losses.DiceLoss("binary")
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        losses.append(loss(model(models.normal(2, 3, 32, 32)), models.uniform(2, 1, 32, 32).round()))
        losses[-1].backward()
        optimizer.step()
    return models.arrays(losses)


CASES = {
    "Unet": _model("unet"),
    "UnetPlusPlus": _model("unetplusplus"),
    "FPN": _model("fpn", 96),
    "PSPNet": _model("pspnet"),
    "DeepLabV3Plus": _model("deeplabv3plus"),
    "LinkNet": _model("linknet"),
    "MAnet": _model("manet"),
    "PAN": _model("pan", 128),
    "UPerNet": _model("upernet"),
    "Segformer": _model("segformer", encoder="mit_b0"),
    "Unet over EfficientNet": _model("unet", encoder="efficientnet-b0"),
    "Dice": _loss(smp.losses.DiceLoss),
    "Jaccard": _loss(smp.losses.JaccardLoss),
    "focal": _loss(smp.losses.FocalLoss),
    "Tversky": _loss(smp.losses.TverskyLoss),
    "Lovasz": _loss(smp.losses.LovaszLoss),
    "metrics": _metrics,
    "training": _trained,
}
