"""gpytorch: Gaussian processes, exact and variational."""

import gpytorch
import models
import torch

PACKAGE = "gpytorch"


class Exact(gpytorch.models.ExactGP):
    """A process that is seen at points."""

    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean, self.kernel = gpytorch.means.ConstantMean(), kernel

    def forward(self, x):
        """The process at points."""
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


class Variational(gpytorch.models.ApproximateGP):
    """A process that is known by points that it learns."""

    def __init__(self, points):
        inducing = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, inducing))
        self.mean, self.kernel = gpytorch.means.ZeroMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    forward = Exact.forward


def _points():
    x = models.uniform(20, 2).double()
    return x, torch.sin(3 * x.sum(-1))


def _exact(kernel):
    def case():
        x, y = _points()
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        model = Exact(x, y, likelihood, kernel()).double()
        loss = -gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(x), y)
        loss.backward()
        found = [loss, {name: p.grad for name, p in model.named_parameters()}]
        model.eval()
        with torch.no_grad(), gpytorch.settings.fast_pred_var(False):
            told = likelihood(model(models.uniform(5, 2, name="new").double()))
        return models.arrays([*found, told.mean, told.variance])

    return case


def _variational():
    x, y = _points()
    likelihood, model = gpytorch.likelihoods.GaussianLikelihood().double(), Variational(x[:6].clone()).double()
    optimizer = torch.optim.SGD([*model.parameters(), *likelihood.parameters()], 0.01)
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=20)
    losses = []
    model.variational_strategy.variational_params_initialized.fill_(1)
    for _ in range(4):
        optimizer.zero_grad()
        losses.append(-objective(model(x), y))
        losses[-1].backward()
        optimizer.step()
    return models.arrays([losses, dict(model.named_parameters())])


_RBF = lambda: gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=2))
CASES = {
    "exact, RBF": _exact(_RBF),
    "exact, Matern": _exact(lambda: gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5))),
    "exact, periodic and linear": _exact(lambda: gpytorch.kernels.PeriodicKernel() + gpytorch.kernels.LinearKernel()),
    "variational": _variational,
}
