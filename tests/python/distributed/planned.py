"""Planned modules on real ranks: the losses and gradients of one process, and everything in the distributions that were planned."""

import dataclasses

import pytest

import opforge as torch
import opforge.distributed as dist
from opforge import nn

dist.init_process_group()
size = dist.get_world_size()


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(24, 96), nn.GELU(), nn.Linear(96, 24), nn.LayerNorm(24))


def step(model, x):
    loss = model(x).sin().mean()
    loss.backward()
    return loss


torch.manual_seed(4)
x = torch.randn(12, 24)
alone = network()
expected = step(alone, x)

# Slow arithmetic is shared; slow links are not used.
def check(plan, model, loss):
    assert abs(loss.item() - expected.item()) < 1e-6, (loss.item(), expected.item())
    for (name, mine), theirs in zip(model.named_parameters(), alone.parameters()):
        assert mine.sbp == plan.parameters[name] and mine.grad.sbp == mine.sbp
        assert torch.allclose(mine.grad.to_global(sbp=torch.sbp.broadcast).to_local(), theirs.grad, atol=1e-6), name


machines = [dist.Machine(flops=1e6, bandwidth=1e6, launch=0.0), dist.Machine(links=((1.0, 1.0),))]
for machine in machines:
    plan = dist.plan(network(), size, x, loss=lambda y: y.sin().mean(), machine=machine)
    model = plan.apply(network())
    check(plan, model, step(model, x))
    lies = [*plan.parameters.values(), *plan.inputs]
    is_split = any(one.dim is not None for sbp in lies for one in sbp)
    assert is_split == (machine is machines[0] and size > 1), str(plan)
# What submodules give lies as is planned, whatever that is.
split = torch.sbp.split
for lies in (split(0), split(1)), (torch.sbp.broadcast, split(0)), (split(1), None):
    decided = dataclasses.replace(plan, activations={"0": lies[:1], "2": lies[1:]})
    model, seen = decided.apply(network()), {}
    for name in "02":
        model.get_submodule(name).register_forward_hook(lambda _, given, made, name=name: seen.update({name: made.sbp}))
    check(decided, model, step(model, x))
    assert all(one is None or seen[name] == (one,) for name, one in zip("02", lies)), (seen, lies)


class Training(nn.Graph):
    """A step that differentiates, and trains, by itself."""

    def __init__(self):
        super().__init__()
        self.model = network()
        self.add_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.5))

    def build(self, x):
        return step(self.model, x)


alone, trained = Training(), Training()
plan = dist.plan(Training(), size, x, machine=machines[0], optimizer=torch.optim.SGD)
plan.apply(trained)
for _ in range(3):
    expected, found = alone(x).item(), trained(x).item()
    assert abs(expected - found) < 1e-6, (expected, found)
assert all(mine.sbp == plan.parameters[f"model.{name}"] for name, mine in trained.model.named_parameters())

# A function of global tensors gives what it gives without being compiled, and says that it is no graph.
with pytest.warns(UserWarning, match="global tensors"):
    found = torch.compile(lambda x: x.sin().sum())(x.to_global(torch.placement("cpu", range(size)), torch.sbp.broadcast))
assert torch.equal(found.to_local(), x.sin().sum())
print("all is right", flush=True)
