"""lightly: losses, heads and helpers of learning without labels."""

import models
import torch
from lightly import loss as losses
from lightly.models import modules, utils

PACKAGE = "lightly"


def _loss(build, *shapes):
    def run():
        views = [models.normal(*shape, name=f"view {place}").requires_grad_() for place, shape in enumerate(shapes)]
        found = build()(*views)
        found.backward()
        return models.arrays([found, *(view.grad for view in views)])

    return run


def _head(build, width=8):
    return lambda: models.passes(build(), models.normal(6, width), train=True)


def _momentum():
    a, b = models.filled(torch.nn.Linear(4, 3)), torch.nn.Linear(4, 3)
    for parameter in b.parameters():
        parameter.data.fill_(0.5)
    utils.update_momentum(a, b, 0.9)
    return models.arrays(dict(b.named_parameters()))


def _tokens():
    images = models.normal(2, 3, 8, 8)
    patches = utils.patchify(images, 4)
    kept = torch.tensor([[0, 2], [1, 3]])
    tokens = models.normal(2, 4, 6)
    return models.arrays(
        [
            patches,
            utils.get_at_index(tokens, kept),
            utils.set_at_index(tokens, kept, torch.zeros(2, 2, 6)),
            utils.mask_at_index(tokens, kept, torch.ones(1, 1, 6)),
            utils.get_2d_sincos_pos_embed(8, 3),
        ]
    )


def _dino():
    loss = losses.DINOLoss(output_dim=6, warmup_teacher_temp_epochs=2)
    students = [models.normal(3, 6, name=f"student {place}").requires_grad_() for place in range(3)]
    teachers = [models.normal(3, 6, name=f"teacher {place}") for place in range(2)]
    found = loss(teachers, students, epoch=1)
    found.backward()
    return models.arrays([found, *(student.grad for student in students), loss.center.value if hasattr(loss.center, "value") else loss.center])


SAME = ((6, 8), (6, 8))
CASES = {
    "NTXentLoss": _loss(losses.NTXentLoss, *SAME),
    "BarlowTwinsLoss": _loss(losses.BarlowTwinsLoss, *SAME),
    "VICRegLoss": _loss(losses.VICRegLoss, *SAME),
    "NegativeCosineSimilarity": _loss(losses.NegativeCosineSimilarity, *SAME),
    "DCLLoss": _loss(losses.DCLLoss, *SAME),
    "DCLWLoss": _loss(losses.DCLWLoss, *SAME),
    "TiCoLoss": _loss(losses.TiCoLoss, *SAME),
    "DINOLoss": _dino,
    "SimCLR's head": _head(lambda: modules.SimCLRProjectionHead(8, 8, 4)),
    "BYOL's head": _head(lambda: modules.BYOLProjectionHead(8, 8, 4)),
    "DINO's head": _head(lambda: modules.DINOProjectionHead(8, 8, 4, 6)),
    "SwaV's prototypes": _head(lambda: modules.SwaVPrototypes(8, 5)),
    "momentum": _momentum,
    "tokens": _tokens,
}
