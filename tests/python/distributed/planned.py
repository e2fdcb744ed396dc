"""Planned modules on real ranks: the losses and gradients of one process, and everything in the distributions that were planned."""

import dataclasses

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
print("all is right", flush=True)
