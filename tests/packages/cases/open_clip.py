"""open_clip: models of images and texts, and the losses that train them."""

import models
import open_clip
import torch

PACKAGE = "open_clip_torch"
VISION = {"image_size": 32, "layers": 2, "width": 32, "patch_size": 8, "head_width": 16}
TEXT = {"context_length": 12, "vocab_size": 50, "width": 32, "heads": 2, "layers": 2}
IMAGES, TEXTS = models.normal(3, 3, 32, 32), models.integers(49, 3, 12, name="texts") + 1


def _clip(vision=VISION, **options):
    return lambda: models.passes(open_clip.model.CLIP(16, vision, TEXT, **options), IMAGES, TEXTS)


def _loss(build, *more):
    def run():
        images, texts = (torch.nn.functional.normalize(models.normal(4, 8, name=name), dim=1).requires_grad_() for name in ("images", "texts"))
        loss = build()(images, texts, torch.tensor(10.0), *more)
        loss.backward()
        return models.arrays([loss, images.grad, texts.grad])

    return run


def _coca():
    text = TEXT | {"embed_cls": True, "output_tokens": True, "context_length": 11}
    decoder = {"context_length": 11, "vocab_size": 50, "width": 32, "heads": 2, "layers": 2}
    vision = VISION | {"attentional_pool": True, "attn_pooler_heads": 2, "output_tokens": True}
    return models.passes(open_clip.coca_model.CoCa(32, decoder, text, vision), IMAGES, TEXTS[:, :11])


CASES = {
    "CLIP": _clip(),
    "CLIP, faster GELU": _clip(quick_gelu=True),
    "CoCa": _coca,
    "ClipLoss": _loss(open_clip.ClipLoss),
    "SigLipLoss": _loss(open_clip.loss.SigLipLoss, torch.tensor(-10.0)),
    "tokenizer": lambda: models.arrays(open_clip.tokenize(["a diagram", "a photo of a cat"])),
}
