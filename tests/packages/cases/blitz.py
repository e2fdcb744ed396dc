"""blitz: Bayesian layers. What is drawn is frozen; the divergence is of given weights."""

import models
import torch
from blitz import modules
from blitz.utils import variational_estimator

PACKAGE = "blitz-bayesian-pytorch"


def _frozen(build, *inputs):
    def run():
        module = build()
        module.freeze = True
        return models.passes(module, *inputs)

    return run


def _divergence():
    prior = modules.weight_sampler.PriorWeightDistribution(0.5, 1.0, 0.1)
    drawn = modules.weight_sampler.TrainableRandomDistribution(models.normal(3, 4).requires_grad_(), models.normal(3, 4, name="rho").requires_grad_())
    drawn.sigma = torch.log1p(torch.exp(drawn.rho))
    w = models.normal(3, 4, name="w")
    drawn.w = w
    return models.arrays([prior.log_prior(w), drawn.log_posterior(w)])


def _estimated():
    @variational_estimator
    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = modules.BayesianLinear(4, 2)

        def forward(self, x):
            return self.layer(x)

    network = models.filled(Network())
    loss = network.sample_elbo(models.normal(5, 4), models.normal(5, 2, name="y"), torch.nn.MSELoss(), 3)
    loss.backward()
    return models.arrays([loss.isfinite(), torch.tensor([bool(p.grad.isfinite().all()) for p in network.parameters() if p.grad is not None])])


CASES = {
    "BayesianLinear": _frozen(lambda: modules.BayesianLinear(4, 3), models.normal(5, 4)),
    "BayesianConv2d": _frozen(lambda: modules.BayesianConv2d(2, 3, (3, 3)), models.normal(2, 2, 6, 6)),
    "BayesianLSTM": _frozen(lambda: modules.BayesianLSTM(4, 3), models.normal(2, 5, 4)),
    "BayesianGRU": _frozen(lambda: modules.BayesianGRU(4, 3), models.normal(2, 5, 4)),
    "BayesianEmbedding": _frozen(lambda: modules.BayesianEmbedding(9, 3), models.integers(9, 2, 5)),
    "divergence": _divergence,
    "estimator": _estimated,
}
