"""timm: image models."""

import models
import timm

PACKAGE = "timm"


def _model(name, size=64, **options):
    return lambda: models.passes(timm.create_model(name, num_classes=7, **options), models.normal(models.BATCH, 3, size, size))


CASES = {
    "resnet18": _model("resnet18"),
    "vit_tiny": _model("vit_tiny_patch16_224", img_size=64),
    "convnext_atto": _model("convnext_atto"),
    "efficientnet_b0": _model("efficientnet_b0"),
    "mobilenetv3_small": _model("mobilenetv3_small_050"),
    "swin_tiny": _model("swin_tiny_patch4_window7_224", img_size=56, size=56, embed_dim=24, depths=(1, 1, 1), num_heads=(1, 2, 4)),
    "mixer": _model("mixer_s32_224", img_size=64),
    "regnetx_002": _model("regnetx_002"),
    "eva02_tiny": _model("eva02_tiny_patch14_224", img_size=56, size=56),
    "features": lambda: models.passes(timm.create_model("resnet10t", features_only=True), models.normal(models.BATCH, 3, 64, 64)),
}
