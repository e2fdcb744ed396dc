"""vit-pytorch: vision transformers of many papers."""

import importlib

import models

PACKAGE = "vit-pytorch"

_TRANSFORMER = {"dim": 32, "depth": 2, "heads": 4, "mlp_dim": 48}
_PATCHES = {"image_size": 32, "patch_size": 8, "num_classes": 5, **_TRANSFORMER}


def _model(module, name, size=32, **options):
    def build():
        return getattr(importlib.import_module(f"vit_pytorch.{module}"), name)(**options)

    return lambda: models.passes(build(), models.normal(models.BATCH, 3, size, size))


def _masked():
    from vit_pytorch import MAE, ViT

    model = MAE(encoder=models.filled(ViT(**_PATCHES)), decoder_dim=16, decoder_depth=1, decoder_heads=2, decoder_dim_head=8, masking_ratio=0.75)
    images = models.normal(models.BATCH, 3, 32, 32)
    return models.arrays([model.encoder(images), model.enc_to_dec(model.encoder.to_patch_embedding(images)).shape[1]])


CASES = {
    "ViT": _model("vit", "ViT", **_PATCHES),
    "SimpleViT": _model("simple_vit", "SimpleViT", **_PATCHES),
    "SimpleViT, query and key normalized": _model("simple_vit_with_qk_norm", "SimpleViT", **_PATCHES),
    "DeepViT": _model("deepvit", "DeepViT", **_PATCHES),
    "CaiT": _model("cait", "CaiT", **_PATCHES, cls_depth=1),
    "CCT": _model(
        "cct", "CCT", img_size=32, embedding_dim=32, n_conv_layers=2, kernel_size=3, stride=1, padding=1, pooling_kernel_size=3, pooling_stride=2,
        pooling_padding=1, num_layers=2, num_heads=4, mlp_ratio=2.0, num_classes=5, positional_embedding="learnable",
    ),
    "T2TViT": _model("t2t", "T2TViT", image_size=32, num_classes=5, **_TRANSFORMER, t2t_layers=((7, 4), (3, 2))),
    "PiT": _model("pit", "PiT", image_size=64, size=64, patch_size=16, dim=16, num_classes=5, depth=(1, 1), heads=2, mlp_dim=24),
    "LeViT": _model("levit", "LeViT", image_size=64, size=64, num_classes=5, stages=2, dim=(32, 48), depth=1, heads=(2, 3), mlp_mult=2),
    "CvT": _model("cvt", "CvT", num_classes=5, s1_emb_dim=8, s1_depth=1, s2_emb_dim=16, s2_heads=2, s2_depth=1, s3_emb_dim=24, s3_heads=2, s3_depth=1),
    "CrossViT": _model(
        "cross_vit", "CrossViT", image_size=32, num_classes=5, depth=1, sm_dim=16, sm_patch_size=8, sm_enc_depth=1, sm_enc_heads=2, sm_enc_mlp_dim=16,
        lg_dim=32, lg_patch_size=16, lg_enc_depth=1, lg_enc_heads=2, lg_enc_mlp_dim=32, cross_attn_depth=1, cross_attn_heads=2,
    ),
    "CrossFormer": _model("crossformer", "CrossFormer", 224, num_classes=5, dim=(32, 32, 48, 64), depth=(1, 1, 1, 1)),
    "MobileViT": _model(
        "mobile_vit", "MobileViT", 64, image_size=(64, 64), dims=[32, 40, 48], channels=[8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 48], num_classes=5,
    ),
    "XCiT": _model("xcit", "XCiT", **_PATCHES, cls_depth=1),
    "MaxViT": _model("max_vit", "MaxViT", 64, num_classes=5, dim=16, dim_head=8, depth=(1, 1), window_size=4, mbconv_expansion_rate=2),
    "NesT": _model("nest", "NesT", image_size=32, patch_size=4, dim=16, heads=2, num_hierarchies=2, block_repeats=(1, 1), num_classes=5),
    "SepViT": _model("sep_vit", "SepViT", 112, num_classes=5, dim=16, dim_head=8, heads=(1, 2), depth=(1, 1)),
    "MAE's encoder": _masked,
}  # fmt: skip
