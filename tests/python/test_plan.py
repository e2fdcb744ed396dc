"""The planner: plans of modules for devices that are not there."""

import doctest

import pytest

import opforge as torch
import opforge.distributed as dist
from opforge import nn
from opforge.distributed import _plan

# Eight devices are 300 GB/s from each other, and 25 GB/s from others.
MACHINE = dist.Machine(links=((10e-6, 25e9), (5e-6, 300e9)))


class Block(nn.Module):
    """A block of GPT-2."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (one(y).unflatten(2, (self.heads, -1)).transpose(1, 2) for one in (self.q, self.k, self.v))
        x = x + self.o(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


@pytest.mark.parametrize("mesh, samples", [(8, 8), ((8, 8), 64), ((125, 80), 10_000)])
def test_a_block_is_planned_no_dearer_than_by_hand(mesh, samples):
    with torch.device("meta"):
        block, x = Block(1024, 16), torch.empty(samples, 128, 1024)
    plan = dist.plan(block, mesh, x, machine=MACHINE)
    assert "columns and rows" in plan.usual and plan.tried > 50
    assert all(plan.spent.seconds <= spent.seconds for spent in plan.usual.values())


def test_what_submodules_give_is_decided_too():
    with torch.device("meta"):
        block, x = Block(1024, 16), torch.empty(64, 128, 1024)
    plan = dist.plan(block, (8, 8), x, machine=MACHINE)
    # The sums of products by rows are split between ranks, and what q, k and v are made of is brought together once.
    assert str(plan.activations["o"][1]).startswith("S") and str(plan.activations["norm1"][1]) == "B", plan
    by_hand = plan.usual["data parallel, columns and rows"]
    assert plan.spent.seconds < 0.95 * by_hand.seconds and plan.spent.moved < by_hand.moved
    assert "norm1()" in str(plan) and "as it comes" in str(plan)


def test_weights_that_fill_memory_are_split():
    with torch.device("meta"):
        block, x = Block(1024, 16), torch.empty(8, 128, 1024)
    adam = torch.optim.Adam
    free = dist.plan(block, 8, x, machine=MACHINE, optimizer=adam)
    limit = free.spent.memory // 2
    small = dist.plan(block, 8, x, machine=dist.Machine(links=MACHINE.links, memory=limit), optimizer=adam)
    assert small.spent.memory <= limit and small.spent.seconds >= free.spent.seconds
    assert any(str(one).startswith("S") for sbp in small.parameters.values() for one in sbp)
    with pytest.raises(ValueError, match="memory"):
        dist.plan(block, 8, x, machine=dist.Machine(memory=1 << 20))


def test_layers_of_a_stack_lie_alike():
    with torch.device("meta"):
        stack, x = nn.Sequential(*(Block(256, 4) for _ in range(3))), torch.empty(8, 16, 256)
    plan = dist.plan(stack, 4, x, machine=MACHINE)
    for name, _ in Block(8, 2).named_parameters():
        assert plan.parameters[f"0.{name}"] == plan.parameters[f"1.{name}"] == plan.parameters[f"2.{name}"]
    assert "0.q.weight" in str(plan) and "this plan" in str(plan) and "data parallel" in str(plan)


def test_steps_that_cannot_be_planned_say_why():
    class Reads(nn.Module):
        def forward(self, x):
            return x * x.sum().item()

    class Fails(nn.Module):
        def forward(self, x):
            raise KeyError("not this one")

    class Stops(nn.Module):
        def forward(self, x):
            raise KeyboardInterrupt

    x = torch.ones(4, 4, requires_grad=True)
    for module, error in [(Reads(), RuntimeError), (Fails(), KeyError), (Stops(), KeyboardInterrupt)]:
        with pytest.raises(error):
            dist.plan(module, 2, x)
    for mesh in 0, (), (2, 0):
        with pytest.raises((ValueError, RuntimeError), match="mesh"):
            dist.plan(nn.Linear(4, 4), mesh, x)
    with pytest.raises(ValueError, match="flops"):
        dist.plan(nn.Linear(4, 4), 2, x, machine=dist.Machine(flops=0))


def test_a_graph_has_its_own_loss():
    class Step(nn.Graph):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def build(self, x):
            return self.layer(x).sum().backward()

    plan = dist.plan(Step(), 2, torch.ones(4, 4))
    assert set(plan.parameters) == {"layer.weight", "layer.bias"}
    with pytest.raises(TypeError, match="loss"):
        dist.plan(Step(), 2, torch.ones(4, 4), loss=torch.sum)


def test_a_plan_is_for_its_module():
    plan = dist.plan(nn.Linear(4, 4), 2, torch.ones(4, 4))
    with pytest.raises(KeyError, match="weight"):
        plan.apply(nn.Sequential(nn.Linear(4, 4)))
    with pytest.raises(ValueError, match="2 of them"):
        plan.apply(nn.Linear(4, 4), ranks=[0])


def test_examples():
    assert doctest.testmod(_plan).failed == 0
