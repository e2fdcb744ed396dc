"""A network trained in several distributions: the losses of one process."""

import opforge as torch
import opforge.distributed as dist
from opforge import nn, sbp

dist.init_process_group()
size = dist.get_world_size()


def data():
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(30, 12, generator=generator)
    return x, (x[:, :5].argmax(1) + (x.sum(1) > 0)) % 5


def network():
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(12, 14), nn.GELU(), nn.LayerNorm(14), nn.Linear(14, 5))


def train(place=lambda model, x, y: (model, x, y), optimizer=torch.optim.AdamW):
    model, x, y = place(network(), *data())
    optimizer = optimizer(model.parameters(), lr=0.02)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    lies = [(parameter, optimizer.state[parameter].get("exp_avg")) for parameter in model.parameters() if parameter.is_global]
    assert all(state is None or state.sbp == parameter.sbp for parameter, state in lies)
    return losses


def spread(batch, weights, mesh):
    """Places data and parameters: `weights` maps names to sbp, others are broadcast."""

    def place(model, x, y):
        whole = [sbp.broadcast] * len(mesh.shape)
        for name, parameter in model.named_parameters():
            parameter.data = parameter.data.to_global(mesh, whole).to_global(sbp=weights.get(name, whole))
        return model, x.to_global(mesh, whole).to_global(sbp=batch), y.to_global(mesh, whole).to_global(sbp=batch)

    return place


row = torch.placement.all()
tensor = {"0.weight": sbp.split(0), "0.bias": sbp.split(0), "3.weight": sbp.split(1)}
plans = {"data": spread(sbp.split(0), {}, row), "tensor": spread(sbp.broadcast, tensor, row)}


def share(model, x, y):
    """Data are split, and each rank has a part of every parameter, its gradient and the optimizer's states."""
    model.to_global(row, sbp.broadcast, zero=True)
    assert size == 1 or all(parameter.sbp == (sbp.split(0),) for parameter in model.parameters())
    return model, x.to_global(row, sbp.broadcast).to_global(sbp=sbp.split(0)), y.to_global(row, sbp.broadcast).to_global(sbp=sbp.split(0))


plans["zero"] = share
if size == 4:
    mesh = torch.placement("cpu", [[0, 1], [2, 3]])
    both = {name: [sbp.broadcast, how] for name, how in tensor.items()}
    plans["both"] = spread([sbp.split(0), sbp.broadcast], both, mesh)

    def share_both(model, x, y):
        """Both, where the ranks that have the same parts share them."""
        placed = plans["both"](model, x, y)
        assert model.to_global(zero=True)[0].weight.sbp == (sbp.split(0), sbp.split(0))
        return placed

    plans["both, zero"] = share_both


def train_in_stages():
    """Layers on ranks of their own, which work on three micro-batches side by side."""
    model, x, y = network(), *data()
    first, last = (torch.placement("cpu", ranks) for ranks in ([0], list(range(1, size)) or [0]))
    stages = [model[:2], model[2:]]
    for stage, place in zip(stages, (first, last)):
        stage.to_global(place, sbp.broadcast)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        outputs = []
        for part, target in zip(x.chunk(3), y.chunk(3)):
            between = stages[0](part.to_global(first, sbp.broadcast)).to_global(last, sbp.broadcast)
            outputs.append(nn.functional.cross_entropy(stages[1](between), target.to_global(last, sbp.broadcast)) / 3)
        for output in outputs:
            output.backward()
        optimizer.step()
        losses.append(sum(output.detach().to_global(row, sbp.broadcast).item() for output in outputs))
    return losses


def train_plainly():
    model, (x, y) = network(), data()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if size > 1:
    assert all(abs(a - b) < 1e-4 for a, b in zip(train_in_stages(), train_plainly()))

wanted = train()
for name, place in plans.items():
    for optimizer in torch.optim.AdamW, torch.optim.SGD:
        alone = wanted if optimizer is torch.optim.AdamW else train(optimizer=optimizer)
        losses = train(place, optimizer)
        near = all(abs(a - b) < 1e-4 * (1 + abs(b)) for a, b in zip(losses, alone))
        assert near and losses[0] > losses[-1], (name, losses, alone)
print("all is right")
dist.destroy_process_group()
