"""normflows: normalizing flows, their densities and training by forward divergence."""

import models
import normflows
import torch

PACKAGE = "normflows"


def _flow(build, layers=2):
    def run():
        base = normflows.distributions.base.DiagGaussian(2)
        model = models.filled(normflows.NormalizingFlow(base, [flow for _ in range(layers) for flow in build()]))
        x = models.normal(6, 2)
        loss = model.forward_kld(x)
        loss.backward()
        gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
        return models.arrays([loss, model.log_prob(x)]) | models.arrays(gradients, "gradient")

    return run


def _forward(build):
    def run():
        flow = models.filled(build())
        y, change = flow(models.normal(6, 2))
        (y.sum() + change.sum()).backward()
        return models.arrays([y, change]) | models.arrays({name: parameter.grad for name, parameter in flow.named_parameters()}, "gradient")

    return run


def _net(inside, outside):
    return normflows.nets.MLP([inside, 8, outside], init_zeros=False)


def _targets():
    points = models.normal(5, 2)
    return models.arrays([normflows.distributions.TwoMoons().log_prob(points), normflows.distributions.CircularGaussianMixture().log_prob(points)])


CASES = {
    "RealNVP": _flow(lambda: [normflows.flows.AffineCouplingBlock(_net(1, 2)), normflows.flows.Permute(2, mode="swap")]),
    "masked affine": _flow(lambda: [normflows.flows.MaskedAffineFlow(torch.tensor([1.0, 0.0]), _net(2, 2), _net(2, 2)), normflows.flows.ActNorm(2)]),
    "MAF": _flow(lambda: [normflows.flows.MaskedAffineAutoregressive(2, 8, num_blocks=1)]),
    "spline coupling": _flow(lambda: [normflows.flows.CoupledRationalQuadraticSpline(2, 1, 8)]),
    "spline autoregressive": _flow(lambda: [normflows.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8)]),
    "invertible 1x1": _flow(lambda: [normflows.flows.InvertibleAffine(2, use_lu=False)]),
    "planar": _forward(lambda: normflows.flows.Planar((2,), act="leaky_relu")),
    "radial": _forward(lambda: normflows.flows.Radial((2,))),
    "targets": _targets,
}
