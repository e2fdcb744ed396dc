"""piq: measures of images' quality. In float64 are those that invert nearly singular matrices, and those whose own rounding in float32 is as large as the
tolerance: `fsim` and `vsi`."""

import models
import piq
import torch

PACKAGE = "piq"
SIZE = 64


def _compared(function, size=SIZE, dtype=torch.float32, **options):
    def run():
        a, b = (models.uniform(2, 3, size, size, name=name).to(dtype).requires_grad_() for name in ("input", "other"))
        found = function(a, b, **options)
        found.sum().backward()
        return models.arrays([found, a.grad])

    return run


def _features(build):
    return lambda: models.arrays(build()(models.normal(20, 6), models.normal(20, 6, name="other")))


def _alone(function):
    def run():
        a = models.uniform(2, 3, SIZE, SIZE).requires_grad_()
        found = function(a)
        found.sum().backward()
        return models.arrays([found, a.grad])

    return run


CASES = {
    name: _compared(getattr(piq, name))
    for name in ("ssim", "psnr", "gmsd", "multi_scale_gmsd", "vif_p", "mdsi", "haarpsi", "srsim", "dss")
} | {
    "multi_scale_ssim": _compared(piq.multi_scale_ssim, 161),
    "information_weighted_ssim": _compared(piq.information_weighted_ssim, 161, torch.float64),
    "fsim": _compared(piq.fsim, dtype=torch.float64),
    "vsi": _compared(piq.vsi, dtype=torch.float64),
    "total_variation": _alone(piq.total_variation),
    "FID": lambda: models.arrays(piq.FID().compute_metric(models.normal(20, 6), models.normal(20, 6, name="other"))),
    "KID": _features(lambda: piq.KID().compute_metric),
    "precision and recall": _features(lambda: piq.PR().compute_metric),
    "inception score": lambda: models.arrays(piq.inception_score(models.normal(20, 6), num_splits=2)),
}
