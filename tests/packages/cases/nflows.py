"""nflows: normalizing flows of transforms, their densities and inverses."""

import models
from nflows import distributions, flows, transforms
from nflows.nn.nets import ResidualNet

PACKAGE = "nflows"
WIDTH = 4


def _flow(build, base=lambda: distributions.StandardNormal([WIDTH])):
    def run():
        flow = models.filled(flows.Flow(build(), base()))
        x = models.normal(5, WIDTH).requires_grad_()
        density = flow.log_prob(x)
        density.mean().backward()
        gradients = {name: parameter.grad for name, parameter in flow.named_parameters() if parameter.grad is not None}
        return models.arrays([density, x.grad, flow.transform_to_noise(x)]) | models.arrays(gradients, "gradient")

    return run


def _inverse(build):
    def run():
        transform = models.filled(build()).eval()
        y, change = transform(models.normal(5, WIDTH))
        return models.arrays([y, change, *transform.inverse(y)])

    return run


def _net(inside, outside):
    return ResidualNet(inside, outside, hidden_features=8, num_blocks=1)


MASK = [1, 0, 1, 0]
AUTOREGRESSIVE = {"features": WIDTH, "hidden_features": 8, "num_blocks": 1}
CASES = {
    "affine autoregressive": _flow(lambda: transforms.MaskedAffineAutoregressiveTransform(**AUTOREGRESSIVE)),
    "rational quadratic autoregressive": _flow(
        lambda: transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(**AUTOREGRESSIVE, num_bins=5, tails="linear", tail_bound=3.0)
    ),
    "affine coupling": _flow(lambda: transforms.AffineCouplingTransform(MASK, _net)),
    "rational quadratic coupling": _flow(
        lambda: transforms.PiecewiseRationalQuadraticCouplingTransform(MASK, _net, num_bins=5, tails="linear", tail_bound=3.0)
    ),
    "cubic coupling": _flow(lambda: transforms.PiecewiseCubicCouplingTransform(MASK, _net, num_bins=5, tails="linear", tail_bound=3.0)),
    "LU": _flow(lambda: transforms.CompositeTransform([transforms.LULinear(WIDTH, identity_init=False), transforms.Sigmoid(), transforms.Logit()])),
    "QR": _flow(lambda: transforms.QRLinear(WIDTH, 3)),
    "SVD": _flow(lambda: transforms.SVDLinear(WIDTH, num_householder=4)),
    "ActNorm, BatchNorm": _flow(lambda: transforms.CompositeTransform([transforms.ActNorm(WIDTH), transforms.BatchNorm(WIDTH)])),
    "inverse of LU": _inverse(lambda: transforms.LULinear(WIDTH, identity_init=False)),
    "inverse of coupling": _inverse(lambda: transforms.PiecewiseRationalQuadraticCouplingTransform(MASK, _net, num_bins=5, tails="linear")),
    "inverse of autoregressive": _inverse(lambda: transforms.MaskedAffineAutoregressiveTransform(**AUTOREGRESSIVE)),
    "permutations, leaky ReLU": _inverse(lambda: transforms.CompositeTransform([transforms.ReversePermutation(WIDTH), transforms.LeakyReLU()])),
    "diagonal normal": _flow(lambda: transforms.IdentityTransform(), lambda: distributions.DiagonalNormal([WIDTH])),
}
