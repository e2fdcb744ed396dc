"""pytorch-optimizer: its optimizers and schedules, each for a few steps of a small network."""

import models
import pytorch_optimizer
import torch
from torch import nn

PACKAGE = "pytorch-optimizer"

# What an optimizer cannot do without.
_OPTIONS = {"ranger21": {"num_iterations": 8}, "apollodqn": {"lr": 1e-3}, "lars": {"lr": 1e-3}}
# Optimizers whose steps are made of random numbers, that need processes or hooks into `backward`, or a list of losses; that iterate in bfloat16; and
# whose steps depend on eigenvectors of singular matrices, of which there are many.
_RANDOM = """
adahessian adalomo adammini alice alig apollo bsam conda demo distributedmuon dualadam emofact emolynx emonavi fira flashadamw galore gravity kron lomo
lorarite magma muonclip sara sophiah spam spectralsphere stablespam vsgd
""".split()
_ROUNDED = "adago adamuon muon normuon scion scionlight".split()
_SINGULAR = "soap splus".split()
_OTHERS = {*_RANDOM, *_ROUNDED, *_SINGULAR}


def _network():
    return models.filled(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)))


def _loss(network):
    return (network(models.normal(4, 6)) - models.uniform(4, 3, name="target")).square().mean()


def _optimized(name):
    def run():
        network = _network()
        optimizer = pytorch_optimizer.load_optimizer(name)(network.parameters(), **_OPTIONS.get(name, {}))
        for _ in range(4):
            optimizer.zero_grad()
            loss = _loss(network)
            loss.backward()
            optimizer.step(lambda: loss)
        return models.arrays({**dict(network.named_parameters()), "loss": loss})

    return run


def _scheduled():
    network, rates = _network(), []
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    schedules = [
        pytorch_optimizer.CosineAnnealingWarmupRestarts(optimizer, 6, max_lr=0.1, min_lr=0.01, warmup_steps=2),
        pytorch_optimizer.PolyScheduler(optimizer, t_max=8, max_lr=0.1),
        pytorch_optimizer.REXScheduler(optimizer, total_steps=8, max_lr=0.1, min_lr=0.01),
    ]
    for schedule in schedules:
        for _ in range(7):
            optimizer.step()
            schedule.step()
            rates.append(optimizer.param_groups[0]["lr"])
    return {"rates": models.numpy.array(rates)}


def _lookahead():
    network = _network()
    optimizer = pytorch_optimizer.Lookahead(torch.optim.AdamW(network.parameters(), lr=1e-2), k=2)
    for _ in range(5):
        optimizer.zero_grad()
        _loss(network).backward()
        optimizer.step()
    return models.arrays(dict(network.named_parameters()))


def _sharpness():
    """SAM, whose step takes the gradient at two places."""
    network = _network()
    optimizer = pytorch_optimizer.SAM(network.parameters(), torch.optim.SGD, lr=0.1)
    for _ in range(3):
        _loss(network).backward()
        optimizer.first_step(zero_grad=True)
        _loss(network).backward()
        optimizer.second_step(zero_grad=True)
    return models.arrays(dict(network.named_parameters()))


def _losses():
    x, y = models.normal(6, 4), models.uniform(6, 4).round()
    losses = [
        pytorch_optimizer.BCEFocalLoss()(x, y),
        pytorch_optimizer.DiceLoss(mode="multilabel", from_logits=True)(x[None], y[None]),
        pytorch_optimizer.JaccardLoss(mode="multilabel")(x[None], y[None]),
        pytorch_optimizer.TverskyLoss()(x, y),
        pytorch_optimizer.LDAMLoss([3, 4, 5, 6])(x, y.argmax(1)),
    ]
    return models.arrays(losses)


CASES = {name: _optimized(name) for name in sorted(pytorch_optimizer.get_supported_optimizers()) if name not in _OTHERS} | {
    "schedules": _scheduled,
    "Lookahead": _lookahead,
    "SAM": _sharpness,
    "losses": _losses,
}
