"""A program of any number of ranks: optimizers whose state is split do what those of all parameters do."""

import opforge as torch
import opforge.distributed as dist
from opforge import nn
from opforge.distributed.optim import ZeroRedundancyOptimizer as Zero

dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
KINDS = [
    (torch.optim.AdamW, dict(lr=0.05, weight_decay=0.1)), (torch.optim.SGD, dict(lr=0.1, momentum=0.9)), (torch.optim.RMSprop, dict(lr=0.01)),
    (torch.optim.Adagrad, dict(lr=0.1)), (torch.optim.Adam, dict(lr=0.05, amsgrad=True)), (torch.optim.NAdam, dict(lr=0.05)),
    (torch.optim.Adafactor, dict(lr=0.05)),
]  # fmt: skip


def network():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))


def step(model, optimizer, number):
    generator = torch.Generator().manual_seed(number)
    x = torch.randn(6, 4, generator=generator)
    optimizer.zero_grad()

    def closure():
        loss = model(x).pow(2).mean()
        loss.backward()
        return loss

    return optimizer.step(closure)


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return set(a) == set(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


def is_the_plain_optimizer():
    """Steps, schedules, states and losses are those of the plain optimizer, bit for bit."""
    for kind, options in KINDS:
        one, other = network(), network()
        plain, split = kind(one.parameters(), **options), Zero(other.parameters(), kind, **options)
        schedules = [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.1) for optimizer in (plain, split)]
        for number in range(4):
            assert torch.equal(step(one, plain, number), step(other, split, number))
            [schedule.step() for schedule in schedules]
        assert all(torch.equal(p, q) for p, q in zip(other.parameters(), one.parameters())), kind
        own = sum(p.numel() for group in split.optim.param_groups for p in group["params"])
        assert own < sum(p.numel() for p in one.parameters()) or size == 1
        split.consolidate_state_dict(to=size - 1)
        if rank == size - 1:
            assert split.state_dict()["param_groups"] == plain.state_dict()["param_groups"]
            assert equal(split.state_dict()["state"], plain.state_dict()["state"]), kind


def loads_states():
    """A state goes on in a plain optimizer, and a plain one's in ranks."""
    one, other = network(), network()
    plain, split = torch.optim.AdamW(one.parameters(), 0.05), Zero(other.parameters(), torch.optim.AdamW, lr=0.01)
    [step(one, plain, number) for number in range(2)]
    other.load_state_dict(one.state_dict())
    split.load_state_dict(plain.state_dict())
    assert split.param_groups[0]["lr"] == 0.05 and 0 < len(split.optim.state) <= len(plain.state) // size + 1
    [(step(one, plain, number), step(other, split, number)) for number in (2, 3)]
    assert all(torch.equal(p, q) for p, q in zip(other.parameters(), one.parameters()))
    split.consolidate_state_dict()
    if rank == 0:
        third = network()
        again = torch.optim.AdamW(third.parameters())
        third.load_state_dict(one.state_dict())
        again.load_state_dict(split.state_dict())
        step(one, plain, 4), step(third, again, 4)
        assert all(torch.equal(p, q) for p, q in zip(third.parameters(), one.parameters()))


def groups_of_parameters():
    """Groups with settings of their own, also ones that are added later; more ranks than parameters."""
    one, other = network(), network()
    optimizers = []
    for net in one, other:
        groups = [dict(params=net[0].parameters(), lr=0.5), dict(params=net[2].parameters(), weight_decay=0.1)]
        make = torch.optim.SGD if net is one else lambda groups, **options: Zero(groups, torch.optim.SGD, **options)
        optimizers.append(make(groups, lr=0.1, momentum=0.5))
    step(one, optimizers[0], 0), step(other, optimizers[1], 0)
    for optimizer, net in zip(optimizers, (one, other)):
        optimizer.add_param_group(dict(params=net[4].parameters(), lr=0.3))
        step(net, optimizer, 1), step(net, optimizer, 2)
    assert all(torch.equal(p, q) for p, q in zip(other.parameters(), one.parameters()))
    single = nn.Parameter(torch.ones(3))
    optimizer = Zero([single], torch.optim.SGD, lr=1.0)
    single.sum().backward()
    optimizer.step()
    assert single.tolist() == [0.0] * 3


def refuses():
    net = network()
    for call, error, text in (
        (lambda: Zero(net.parameters(), torch.optim.LBFGS), ValueError, "LBFGS"), (lambda: Zero(net.parameters(), "Adam"), TypeError, "class of optimizers"),
        (lambda: Zero(net.parameters(), torch.optim.Adam, overlap_with_ddp=True), NotImplementedError, "overlap_with_ddp"),
        (lambda: Zero(net.parameters(), torch.optim.Adam).state_dict(), RuntimeError, "consolidate_state_dict"),
    ):  # fmt: skip
        try:
            call()
        except error as found:
            assert text in str(found)
        else:
            raise AssertionError(text)


for test in is_the_plain_optimizer, loads_states, groups_of_parameters, refuses:
    test()
print("all is right", flush=True)
