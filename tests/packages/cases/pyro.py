"""pyro: probabilistic programs, their densities and guides; what is drawn is given."""

import models
import pyro
import pyro.distributions as dist
import torch
from pyro import poutine

PACKAGE = "pyro-ppl"


def _model(x, y):
    weight = pyro.sample("weight", dist.Normal(torch.zeros(3), torch.ones(3)).to_event(1))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))
    with pyro.plate("rows", x.size(0)):
        pyro.sample("y", dist.StudentT(4.0, x @ weight, scale), obs=y)


def _data():
    return models.normal(12, 3), models.normal(12, name="y")


def _density():
    values = {"weight": models.normal(3, name="w").requires_grad_(), "scale": torch.tensor(0.7, requires_grad=True)}
    trace = poutine.trace(poutine.condition(_model, data=values)).get_trace(*_data())
    total = trace.log_prob_sum()
    total.backward()
    return models.arrays([total, values["weight"].grad, values["scale"].grad])


def _point():
    """The most likely values, found by steps of gradients: nothing is drawn."""
    pyro.clear_param_store()
    guide = pyro.infer.autoguide.AutoDelta(
        _model, init_loc_fn=pyro.infer.autoguide.init_to_value(values={"weight": torch.zeros(3), "scale": torch.tensor(1.0)})
    )
    svi = pyro.infer.SVI(_model, guide, pyro.optim.Adam({"lr": 0.05}), pyro.infer.Trace_ELBO())
    losses = [torch.tensor(svi.step(*_data())) for _ in range(10)]
    return models.arrays([losses, {name: value for name, value in pyro.get_param_store().items()}])


def _enumerated():
    def mixture(y):
        weights = pyro.param("weights", torch.tensor([0.3, 0.7]), constraint=dist.constraints.simplex)
        centres = pyro.param("centres", torch.tensor([-1.0, 2.0]))
        with pyro.plate("rows", y.size(0)):
            kind = pyro.sample("kind", dist.Categorical(weights), infer={"enumerate": "parallel"})
            pyro.sample("y", dist.Normal(centres[kind], 1.0), obs=y)

    pyro.clear_param_store()
    loss = pyro.infer.TraceEnum_ELBO(max_plate_nesting=1).differentiable_loss(mixture, lambda y: None, _data()[1])
    loss.backward()
    return models.arrays([loss, {name: p.grad for name, p in pyro.get_param_store().named_parameters()}])


CASES = {"density": _density, "SVI with a point": _point, "enumeration": _enumerated}
