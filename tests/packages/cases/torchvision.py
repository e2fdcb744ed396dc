"""torchvision: classifiers, segmentation, transforms, operators written in Python."""

import models
import torch
from torchvision import models as zoo
from torchvision import ops, transforms, tv_tensors, utils
from torchvision.models.feature_extraction import create_feature_extractor
from torchvision.transforms import v2

PACKAGE = "torchvision"


def _classifier(build, size=64, **options):
    return lambda: models.passes(build(weights=None, num_classes=7, **options), models.normal(models.BATCH, 3, size, size))


def _trained(build, size=64, **options):
    return lambda: models.passes(build(weights=None, num_classes=7, **options), models.normal(4, 3, size, size), train=True)


def _transforms():
    image = models.uniform(3, 20, 24)
    pipeline = transforms.Compose(
        [transforms.Resize((16, 18), antialias=True), transforms.CenterCrop(14), transforms.Normalize([0.5] * 3, [0.2] * 3), transforms.Grayscale(3)]
    )
    other = v2.Compose([v2.Resize(15, antialias=True), v2.CenterCrop(12), v2.ToDtype(torch.float32, scale=True), v2.GaussianBlur(3, 1.0)])
    return models.arrays([pipeline(image), other(image), transforms.functional.rotate(image, 30.0), transforms.functional.adjust_hue(image, 0.1)])


def _augmented():
    boxes = tv_tensors.BoundingBoxes(torch.tensor([[0, 0, 2, 2], [3, 1, 5, 6]]), format="XYXY", canvas_size=(8, 9))
    image = tv_tensors.Image((255 * models.uniform(3, 8, 9)).to(torch.uint8))
    grey = v2.functional.adjust_contrast(image, 0.5)
    return models.arrays([v2.functional.horizontal_flip(boxes), v2.functional.resize(boxes, [16, 27]), v2.functional.posterize(image, 3), grey])


def _boxes():
    corner = models.uniform(6, 2, name="corner") * 10
    boxes = torch.cat([corner, corner + 1 + 5 * models.uniform(6, 2, name="size")], 1)
    return models.arrays([ops.box_iou(boxes, boxes), ops.generalized_box_iou(boxes, boxes), ops.box_convert(boxes, "xyxy", "cxcywh"), ops.box_area(boxes)])


def _losses():
    x, y = models.normal(5, 3).requires_grad_(), models.uniform(5, 3)
    loss = ops.sigmoid_focal_loss(x, y, reduction="mean")
    loss.backward()
    return models.arrays([loss, x.grad])


def _detected():
    network = zoo.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=4)
    return models.arrays(models.filled(network).eval()([models.uniform(3, 64, 64)])[0])


def _features():
    network = create_feature_extractor(models.filled(zoo.resnet18(weights=None)), {"layer1": "near", "layer3": "far"}).eval()
    return models.passes(network, models.normal(models.BATCH, 3, 64, 64))


CASES = {
    "resnet18": _classifier(zoo.resnet18),
    "resnet18, training": _trained(zoo.resnet18),
    "mobilenet_v3_small": _classifier(zoo.mobilenet_v3_small),
    "efficientnet_b0": _classifier(zoo.efficientnet_b0),
    "densenet121": _classifier(zoo.densenet121),
    "vgg11_bn": _classifier(zoo.vgg11_bn, 32),
    "alexnet": _classifier(zoo.alexnet),
    "googlenet": _classifier(zoo.googlenet, init_weights=False, aux_logits=False),
    "shufflenet_v2_x0_5": _classifier(zoo.shufflenet_v2_x0_5),
    "convnext_tiny": _classifier(zoo.convnext_tiny),
    "vit_b_16": _classifier(zoo.vit_b_16, 32, image_size=32),
    "swin_t": _classifier(zoo.swin_t),
    "fcn_resnet50": lambda: models.passes(
        zoo.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=5), models.normal(1, 3, 33, 40)
    ),
    "create_feature_extractor": _features,
    "Faster R-CNN": _detected,
    "transforms": _transforms,
    "flips of boxes, random augmentation": _augmented,
    "boxes": _boxes,
    "sigmoid_focal_loss": _losses,
    "make_grid": lambda: models.arrays(utils.make_grid(models.uniform(5, 3, 8, 8), nrow=3, normalize=True)),
}
