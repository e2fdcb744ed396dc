"""vit-pytorch: vision transformers."""

import models
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT
from vit_pytorch.cross_vit import CrossViT
from vit_pytorch.cvt import CvT
from vit_pytorch.deepvit import DeepViT
from vit_pytorch.levit import LeViT
from vit_pytorch.max_vit import MaxViT
from vit_pytorch.mobile_vit import MobileViT
from vit_pytorch.pit import PiT

PACKAGE = "vit-pytorch"
_SMALL = {"num_classes": 5, "dim": 32, "depth": 2, "heads": 4, "mlp_dim": 37}


def _model(build, size=32, **options):
    return lambda: models.passes(build(**options), models.normal(models.BATCH, 3, size, size))


CASES = {
    "ViT": _model(ViT, image_size=32, patch_size=8, **_SMALL),
    "SimpleViT": _model(SimpleViT, image_size=32, patch_size=8, **_SMALL),
    "DeepViT": _model(DeepViT, image_size=32, patch_size=8, **_SMALL),
    "CaiT": _model(CaiT, image_size=32, patch_size=8, cls_depth=1, **_SMALL),
    "CCT": _model(
        CCT, img_size=32, embedding_dim=32, n_conv_layers=1, kernel_size=7, stride=2, padding=3, pooling_kernel_size=3, pooling_stride=2,
        pooling_padding=1, num_layers=2, num_heads=4, mlp_ratio=2.0, num_classes=5, positional_embedding="learnable",
    ),
    "CrossViT": _model(
        CrossViT, image_size=32, num_classes=5, depth=1, sm_dim=16, sm_patch_size=8, sm_enc_depth=1, sm_enc_heads=2, sm_enc_mlp_dim=16, lg_dim=32,
        lg_patch_size=16, lg_enc_depth=1, lg_enc_heads=2, lg_enc_mlp_dim=32, cross_attn_depth=1, cross_attn_heads=2,
    ),
    "CvT": _model(CvT, 64, num_classes=5, s1_emb_dim=16, s2_emb_dim=16, s3_emb_dim=16, s3_depth=1, s3_heads=2),
    "LeViT": _model(LeViT, 64, image_size=64, num_classes=5, stages=2, dim=(16, 32), depth=1, heads=(2, 2), mlp_mult=2),
    "MaxViT": _model(
        MaxViT, 64, num_classes=5, dim_conv_stem=8, dim=16, dim_head=8, depth=(1, 1), window_size=4, mbconv_expansion_rate=2, mbconv_shrinkage_rate=0.25
    ),
    "MobileViT": _model(MobileViT, 64, image_size=(64, 64), dims=[16, 16, 16], channels=[8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 16], num_classes=5),
    "PiT": _model(PiT, image_size=32, patch_size=8, dim=16, num_classes=5, depth=(1, 1), heads=2, mlp_dim=16),
}  # fmt: skip
