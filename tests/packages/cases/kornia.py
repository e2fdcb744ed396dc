"""kornia: images as tensors."""

import kornia
import models
import torch

PACKAGE = "kornia"


def _image(size=24):
    return models.uniform(2, 3, size, size)


def _gradient(function):
    def case():
        x = _image().requires_grad_()
        output = function(x)
        (output * models.uniform(*output.shape, name="weights")).sum().backward()
        return models.arrays([output, x.grad])

    return case


def _warped(x):
    matrix = torch.tensor([[1.0, 0.1, 2.0], [-0.1, 0.9, 1.0], [1e-3, 0.0, 1.0]]).expand(2, 3, 3)
    return kornia.geometry.transform.warp_perspective(x, matrix, (20, 22))


def _geometry():
    angles = models.normal(4, 3)
    rotation = kornia.geometry.conversions.axis_angle_to_rotation_matrix(angles)
    points = models.normal(1, 8, 2, name="points")
    homography = kornia.geometry.homography.find_homography_dlt(points, points * 1.5 + 0.3)
    return models.arrays([rotation, kornia.geometry.conversions.rotation_matrix_to_axis_angle(rotation), homography])


CASES = {
    "gaussian_blur2d": _gradient(lambda x: kornia.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5))),
    "sobel": _gradient(kornia.filters.sobel),
    "median_blur": _gradient(lambda x: kornia.filters.median_blur(x, 3)),
    "bilateral_blur": _gradient(lambda x: kornia.filters.bilateral_blur(x, (3, 3), 0.1, (1.0, 1.0))),
    "laplacian": _gradient(lambda x: kornia.filters.laplacian(x, 3)),
    "canny": lambda: models.arrays(kornia.filters.canny(_image())[0]),
    "colors": _gradient(lambda x: torch.cat([kornia.color.rgb_to_hsv(x), kornia.color.rgb_to_lab(x), kornia.color.rgb_to_yuv(x)], 1)),
    "warp_perspective": _gradient(_warped),
    "rotate": _gradient(lambda x: kornia.geometry.transform.rotate(x, torch.tensor([20.0, -35.0]))),
    "resize": _gradient(lambda x: kornia.geometry.transform.resize(x, (13, 17), antialias=True)),
    "morphology": _gradient(lambda x: kornia.morphology.dilation(x, torch.ones(3, 3)) - kornia.morphology.erosion(x, torch.ones(3, 3))),
    "equalize_clahe": lambda: models.arrays(kornia.enhance.equalize_clahe(_image(32))),
    "losses": _gradient(lambda x: kornia.losses.ssim_loss(x, x.detach().flip(-1), 5)[None]),
    "geometry": _geometry,
    "harris": _gradient(kornia.feature.harris_response),
}
