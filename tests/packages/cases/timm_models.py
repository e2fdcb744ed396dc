"""timm: an architecture of each family that the package has, without pretrained weights, of small inputs."""

import models
import timm

PACKAGE = "timm"
# Names, and the sizes of images.
_NAMES = """
beit_base_patch16_224:32 cait_xxs24_224:32 coat_lite_tiny:64 coatnet_nano_rw_224:64 convit_tiny:32 convmixer_768_32:32 convnextv2_atto:64
crossvit_tiny_240:48 davit_tiny:64 deit3_small_patch16_224:32 densenet121:64 dla34:64 dpn48b:64 edgenext_xx_small:64 efficientformer_l1:64
efficientvit_b0:64 fastvit_t8:64 focalnet_tiny_srf:64 ghostnet_050:64 gmlp_ti16_224:32 hardcorenas_a:64 hgnetv2_b0:64 hiera_tiny_224:64
hrnet_w18_small:64 inception_next_atto:64 levit_128s:64 maxvit_rmlp_pico_rw_256:64 mobilenetv4_conv_small:64 mobileone_s0:64
mobilevitv2_050:64 mvitv2_tiny:64 nest_tiny:64 nf_regnet_b0:64 pit_ti_224:64 poolformer_s12:64 pvt_v2_b0:64 repvgg_a0:64 repvit_m0_9:64
res2net50_26w_4s:64 resmlp_12_224:32 resnest14d:64 resnetv2_50:64 rexnet_100:64 selecsls42:64 sequencer2d_s:32 shvit_s1:64 skresnet18:64
starnet_s1:64 swinv2_cr_tiny_224:64 tiny_vit_5m_224:64 tnt_s_patch16_224:32 tresnet_m:64 twins_pcpvt_small:64 vgg11:64 visformer_tiny:64
vit_small_patch16_rope_224:32 volo_d1_224:64 vovnet39a:64 xception41:64 xcit_nano_12_p16_224:32
"""


def _built(name, size):
    """The model for images of a size, which those that have positions must know."""
    for options in ({"img_size": size}, {}):
        try:
            return timm.create_model(name, num_classes=5, **options)
        except TypeError:
            continue
    raise ValueError(name)


def _case(name, size):
    return lambda: models.passes(_built(name, size), models.normal(models.BATCH, 3, size, size))


CASES = {name: _case(name, int(size)) for name, size in (text.split(":") for text in _NAMES.split())}
