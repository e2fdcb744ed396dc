"""botorch: models, acquisition functions and their optimization. In float64."""

import botorch
import models
import torch
from botorch.acquisition import ExpectedImprovement, LogExpectedImprovement, UpperConfidenceBound, qExpectedImprovement, qUpperConfidenceBound
from botorch.models import ModelListGP, MultiTaskGP, SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.sampling import IIDNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

PACKAGE = "botorch"


def _data(outputs=1):
    x = models.uniform(10, 2).double()
    y = torch.stack([torch.sin(3 * x).sum(1) + place * x[:, 0] for place in range(outputs)], 1)
    return x, y


def _model(**options):
    return SingleTaskGP(*_data(), input_transform=Normalize(2), outcome_transform=Standardize(1), **options)


def _posterior():
    points = models.uniform(4, 2, name="points").double()
    posterior = _model().posterior(points)
    several = ModelListGP(_model(), _model()).posterior(points)
    return models.arrays([posterior.mean, posterior.variance, posterior.mvn.covariance_matrix, several.mean, several.variance])


def _likelihood():
    model = _model()
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    loss = -likelihood(model(*model.train_inputs), model.train_targets)
    loss.backward()
    return models.arrays([loss]) | models.arrays({name: p.grad for name, p in model.named_parameters() if p.grad is not None}, "gradient")


def _fitted():
    model = _model()
    botorch.fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return models.arrays([model.posterior(models.uniform(4, 2, name="points").double()).mean.float().round(decimals=2)])


def _tasks():
    x, y = _data()
    x = torch.cat([x, (torch.arange(10) % 2).double()[:, None]], 1)
    model = MultiTaskGP(x, y, task_feature=2)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(models.uniform(*parameter.shape, name=name))
    return models.arrays([model.posterior(models.uniform(4, 2, name="points").double()).mean])


def _acquired(build, q=1):
    def run():
        points = models.uniform(3, q, 2, name="points").double().requires_grad_()
        value = build(_model())(points)
        value.sum().backward()
        return models.arrays([value, points.grad])

    return run


class _Sampler(IIDNormalSampler):
    """Samples that are made of given numbers."""

    def _construct_base_samples(self, posterior):
        shape = self._get_collapsed_shape(posterior=posterior)
        self.base_samples = models.normal(*shape).double()


def _sampler():
    return _Sampler(torch.Size([8]))


def _optimized():
    start = models.uniform(4, 1, 2, name="start").double()
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    found, value = botorch.optim.optimize_acqf(UpperConfidenceBound(_model(), beta=0.2), bounds, q=1, num_restarts=4, batch_initial_conditions=start)
    return models.arrays([found.float().round(decimals=3), value.float().round(decimals=3)])


def _fronts():
    values = models.normal(12, 2).double()
    front = values[botorch.utils.multi_objective.is_non_dominated(values)]
    volume = botorch.utils.multi_objective.hypervolume.Hypervolume(torch.tensor([-3.0, -3.0], dtype=torch.float64)).compute(front)
    return models.arrays([front, volume])


CASES = {
    "posterior": _posterior,
    "likelihood": _likelihood,
    "fitted": _fitted,
    "tasks": _tasks,
    "EI": _acquired(lambda model: ExpectedImprovement(model, 0.5)),
    "logEI": _acquired(lambda model: LogExpectedImprovement(model, 0.5)),
    "UCB": _acquired(lambda model: UpperConfidenceBound(model, 0.2)),
    "qEI": _acquired(lambda model: qExpectedImprovement(model, 0.5, sampler=_sampler()), 2),
    "qUCB": _acquired(lambda model: qUpperConfidenceBound(model, 0.2, sampler=_sampler()), 2),
    "optimize_acqf": _optimized,
    "fronts": _fronts,
    "Sobol": lambda: models.arrays(botorch.utils.sampling.draw_sobol_samples(torch.tensor([[0.0, 0.0], [1.0, 1.0]]), 4, 2, seed=1).shape),
}
