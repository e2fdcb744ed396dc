"""zuko: normalizing flows, their densities and samples' transforms. The adaptive solver's in float64."""

import models
import torch
import zuko

PACKAGE = "zuko"


def _flow(build, context=0, dtype=torch.float32):
    def run():
        flow = models.filled(build()).to(dtype)
        condition = models.normal(5, context, name="context") if context else None
        x = (0.5 * models.normal(5, 3)).to(dtype).requires_grad_()
        distribution = flow(condition)
        density = distribution.log_prob(x)
        density.mean().backward()
        moved = distribution.transform(x.detach()) if hasattr(distribution, "transform") else x.detach()
        gradients = {name: parameter.grad for name, parameter in flow.named_parameters() if parameter.grad is not None}
        return models.arrays([density, x.grad, moved]) | models.arrays(gradients, "gradient")

    return run


def _inverted():
    flow = models.filled(zuko.flows.NSF(3, transforms=2, hidden_features=[16]))
    transform = flow().transform
    x = models.normal(5, 3)
    y, change = transform.call_and_ladj(x)
    return models.arrays([y, change, transform.inv(y)])


def _bernstein():
    theta = models.normal(3, 9)
    transform = zuko.transforms.BernsteinTransform(theta=theta, bound=5.0)
    x = models.normal(4, 3)
    return models.arrays([transform(x), transform.log_abs_det_jacobian(x, transform(x))])


def _distributions():
    mixture = zuko.distributions.Mixture(torch.distributions.Normal(models.normal(4), 1.0), logits=models.normal(4, name="logits"))
    box = zuko.distributions.BoxUniform(-torch.ones(2), 2 * torch.ones(2))
    return models.arrays(
        [
            mixture.log_prob(models.normal(5)),
            box.log_prob(models.uniform(5, 2)),
            zuko.distributions.DiagNormal(torch.zeros(3), torch.ones(3)).log_prob(models.normal(3)),
        ]
    )


SMALL = {"hidden_features": [16, 16]}
CASES = {
    "MAF": _flow(lambda: zuko.flows.MAF(3, 2, transforms=2, **SMALL), 2),
    "NSF": _flow(lambda: zuko.flows.NSF(3, transforms=2, bins=5, **SMALL)),
    "NICE": _flow(lambda: zuko.flows.NICE(3, transforms=2, **SMALL)),
    "NAF": _flow(lambda: zuko.flows.NAF(3, transforms=1, signal=4, **SMALL)),
    "UNAF": _flow(lambda: zuko.flows.UNAF(3, transforms=1, signal=4, **SMALL)),
    "SOSPF": _flow(lambda: zuko.flows.SOSPF(3, transforms=2, **SMALL)),
    "BPF": _flow(lambda: zuko.flows.BPF(3, transforms=1, **SMALL)),
    "GF": _flow(lambda: zuko.flows.GF(3, transforms=2, **SMALL)),
    "CNF": _flow(lambda: zuko.flows.CNF(3, exact=True, **SMALL), dtype=torch.float64),
    "NCSF": _flow(lambda: zuko.flows.NCSF(3, transforms=2, **SMALL)),
    "RealNVP": _flow(lambda: zuko.flows.RealNVP(3, transforms=2, **SMALL)),
    "GMM": _flow(lambda: zuko.flows.GMM(3, 2, components=3, **SMALL), 2),
    "NSF, inverted": _inverted,
    "Bernstein polynomials": _bernstein,
    "distributions": _distributions,
}
