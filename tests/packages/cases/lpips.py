"""lpips: distances of images in a network's features."""

import lpips
import models

PACKAGE = "lpips"


def _distance(net, **options):
    def run():
        model = models.filled(lpips.LPIPS(net=net, pretrained=False, pnet_rand=True, verbose=False, **options)).eval()
        image = models.uniform(models.BATCH, 3, 64, 64).requires_grad_()
        distance = model(image, models.uniform(models.BATCH, 3, 64, 64, name="other"), normalize=True)
        distance.mean().backward()
        return models.arrays([distance, image.grad])

    return run


CASES = {
    "AlexNet": _distance("alex"),
    "VGG": _distance("vgg"),
    "SqueezeNet": _distance("squeeze"),
    "a distance for each pixel": _distance("alex", spatial=True),
    "without weights": _distance("alex", lpips=False),
}
