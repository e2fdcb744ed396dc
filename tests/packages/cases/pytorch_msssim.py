"""pytorch-msssim: structural similarity, of one scale and of many."""

import models
import pytorch_msssim

PACKAGE = "pytorch-msssim"


def _similar(function, size, **options):
    def run():
        a, b = models.uniform(2, 3, size, size).requires_grad_(), models.uniform(2, 3, size, size, name="other")
        found = function(a, b, data_range=1.0, **options)
        found.sum().backward()
        return models.arrays([found, a.grad])

    return run


CASES = {
    "ssim": _similar(pytorch_msssim.ssim, 32),
    "ssim of each image, not negative": _similar(pytorch_msssim.ssim, 32, size_average=False, nonnegative_ssim=True),
    "ms_ssim": _similar(pytorch_msssim.ms_ssim, 176),
    "ms_ssim, smaller windows": _similar(pytorch_msssim.ms_ssim, 96, win_size=5),
    "module": lambda: models.arrays(
        1 - pytorch_msssim.SSIM(data_range=1.0, channel=3)(models.uniform(2, 3, 24, 24), models.uniform(2, 3, 24, 24, name="b"))
    ),
}
