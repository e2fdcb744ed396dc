"""kornia: colors, filters, geometry, features and losses of images."""

import kornia
import models
import torch

PACKAGE = "kornia"


def _image(name="image", size=(24, 32)):
    return models.uniform(2, 3, *size, name=name)


def _differentiated(function, *others):
    """The result for an image that needs a gradient, and the gradient."""

    def run():
        image = _image().requires_grad_()
        result = function(image, *others)
        result = result if isinstance(result, torch.Tensor) else torch.cat([part.flatten() for part in result])
        (result * models.uniform(*result.shape, name="weights of the loss")).mean().backward()
        return models.arrays([result, image.grad])

    return run


def _matrix():
    return torch.tensor([[[1.1, 0.2, 1.0], [-0.1, 0.9, 2.0], [0.001, -0.002, 1.0]]]).expand(2, 3, 3)


def _camera():
    points, turn = models.normal(2, 7, 3), models.normal(2, 3, name="turn")
    matrix = kornia.geometry.axis_angle_to_rotation_matrix(turn)
    return models.arrays([
        matrix, kornia.geometry.rotation_matrix_to_axis_angle(matrix),
        kornia.geometry.transform_points(torch.eye(4).expand(2, 4, 4) * 1.1, points),
        kornia.geometry.convert_points_to_homogeneous(points), kornia.geometry.quaternion_to_rotation_matrix(models.normal(2, 4)),
        kornia.geometry.homography.find_homography_dlt(models.uniform(2, 8, 2), models.uniform(2, 8, 2, name="other")),
    ])  # fmt: skip


def _augmented():
    """Augmentations whose numbers are given, so that both sides have the same."""
    image = _image()
    flip, normal = kornia.augmentation.RandomHorizontalFlip(p=1.0), kornia.augmentation.Normalize(mean=0.5, std=0.2)
    crop = kornia.augmentation.CenterCrop((16, 20))
    turn = kornia.augmentation.RandomRotation(degrees=(30.0, 30.0), p=1.0)
    sequence = kornia.augmentation.AugmentationSequential(flip, normal, data_keys=["input", "mask"])
    return models.arrays([flip(image), normal(image), crop(image), turn(image), turn.inverse(turn(image)), *sequence(image, (image > 0.5).float())])


_COLORS = "grayscale hsv hls lab luv xyz ycbcr yuv linear_rgb".split()
_FILTERS = {
    "gaussian_blur2d": lambda x: kornia.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.0)),
    "box_blur": lambda x: kornia.filters.box_blur(x, (3, 5)),
    "median_blur": lambda x: kornia.filters.median_blur(x, (3, 3)),
    "bilateral_blur": lambda x: kornia.filters.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)),
    "sobel": kornia.filters.sobel,
    "laplacian": lambda x: kornia.filters.laplacian(x, 3),
    "spatial_gradient": kornia.filters.spatial_gradient,
    "unsharp_mask": lambda x: kornia.filters.unsharp_mask(x, (3, 3), (1.0, 1.0)),
    "motion_blur": lambda x: kornia.filters.motion_blur(x, 5, 35.0, 0.5),
    "canny": lambda x: kornia.filters.canny(x)[0],
}
_GEOMETRY = {
    "rotate": lambda x: kornia.geometry.rotate(x, torch.tensor([30.0, -10.0])),
    "resize": lambda x: kornia.geometry.resize(x, (15, 17), antialias=True),
    "warp_perspective": lambda x: kornia.geometry.warp_perspective(x, _matrix(), (20, 22)),
    "warp_affine": lambda x: kornia.geometry.warp_affine(x, _matrix()[:, :2], (20, 22), padding_mode="reflection"),
    "pyramid": lambda x: kornia.geometry.build_pyramid(x, 3),
    "elastic": lambda x: kornia.geometry.elastic_transform2d(x, models.uniform(2, 2, 24, 32, name="noise")),
}
_ENHANCEMENTS = {
    "adjust": lambda x: kornia.enhance.adjust_hue(kornia.enhance.adjust_saturation(kornia.enhance.adjust_gamma(x, 0.8), 1.3), 0.2),
    "sharpness": lambda x: kornia.enhance.sharpness(x, 1.5),
    "zca": lambda x: kornia.enhance.zca_whiten(x.reshape(2 * 3 * 24, 32)[:, :6]),
    "jpeg": lambda x: kornia.enhance.jpeg_codec_differentiable(x[..., :16, :16], torch.tensor([50.0, 80.0])),
}
_LOSSES = {
    "ssim": lambda x: kornia.losses.ssim_loss(x, _image("other"), 5),
    "total variation": kornia.losses.total_variation,
    "focal": lambda x: kornia.losses.focal_loss(x, models.integers(3, 2, 24, 32), alpha=0.5, reduction="mean"),
    "dice": lambda x: kornia.losses.dice_loss(x, models.integers(3, 2, 24, 32)),
    "Lovasz": lambda x: kornia.losses.lovasz_softmax_loss(x, models.integers(3, 2, 24, 32)),
    "edge": lambda x: kornia.losses.inverse_depth_smoothness_loss(x[:, :1], _image("other")),
}
_FEATURES = {
    "Harris": kornia.feature.harris_response,
    "DoG": lambda x: kornia.feature.dog_response_single(x, 1.0, 1.6),
    "Hessian": kornia.feature.hessian_response,
    "SIFT": lambda x: kornia.feature.SIFTDescriptor(16)(x[:, :1, :16, :16]),
    "HardNet": lambda x: models.filled(kornia.feature.HardNet(False)).eval()(x[:, :1, :24, :24].repeat(1, 1, 2, 2)[..., :32, :32]),
}
CASES = {
    **{f"rgb_to_{name}": _differentiated(getattr(kornia.color, f"rgb_to_{name}")) for name in _COLORS},
    **{name: _differentiated(function) for name, function in {**_FILTERS, **_GEOMETRY, **_ENHANCEMENTS, **_LOSSES, **_FEATURES}.items()},
    "morphology": lambda: models.arrays([getattr(kornia.morphology, name)(_image(), torch.ones(3, 3)) for name in "dilation erosion opening gradient".split()]),
    "camera": _camera,
    "augmentations": _augmented,
    "matching": lambda: models.arrays(kornia.feature.match_snn(models.normal(9, 8), models.normal(11, 8, name="other"), 0.95)),
    "metrics": lambda: models.arrays([kornia.metrics.psnr(_image(), _image("other"), 1.0), kornia.metrics.ssim(_image(), _image("other"), 5)]),
}
