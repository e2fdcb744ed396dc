"""A program of any number of ranks: goes on with a training from a folder, if there is one, for two steps; `resumed.py FOLDER zero` splits the states.

Rank 0 saves, all load. In the end the losses so far are those of one process.
"""

import os
import sys

import opforge as torch
import opforge.distributed as dist
from opforge import nn
from opforge.distributed.optim import ZeroRedundancyOptimizer
from opforge.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
path, is_split = os.path.join(sys.argv[1], "state.pt"), sys.argv[2] == "zero"
ROWS = 12


def network():
    torch.manual_seed(11)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).double()


def batch(number):
    return torch.randn(ROWS, 4, generator=torch.Generator().manual_seed(number)).double()


def step(model, optimizer, schedule, x):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    schedule.step()
    return loss.detach()


def made(parameters):
    optimizer = ZeroRedundancyOptimizer(parameters, torch.optim.AdamW, lr=0.1) if is_split else torch.optim.AdamW(parameters, lr=0.1)
    return optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)


model = DDP(network())
optimizer, schedule = made(model.parameters())
first, losses = 0, []
if os.path.exists(path):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    first, losses = state["step"], state["losses"]
for number in range(first, first + 2):
    loss = step(model, optimizer, schedule, batch(number)[rank * (ROWS // size) :][: ROWS // size])
    dist.all_reduce(loss, dist.ReduceOp.AVG)
    losses.append(loss.item())
if is_split:
    optimizer.consolidate_state_dict(to=0)
dist.barrier()
if rank == 0:
    state = dict(model=model.state_dict(), optimizer=optimizer.state_dict(), schedule=schedule.state_dict(), step=first + 2, losses=losses)
    torch.save(state, path)

one = network()
plain = torch.optim.AdamW(one.parameters(), lr=0.1)
rates = torch.optim.lr_scheduler.ExponentialLR(plain, 0.9)
expected = [step(one, plain, rates, batch(number)).item() for number in range(first + 2)]
assert torch.allclose(torch.tensor(losses), torch.tensor(expected), atol=1e-12), (losses, expected)
assert all(torch.allclose(p, q, atol=1e-10) for p, q in zip(model.parameters(), one.parameters()))
print(f"{first + 2} steps are right", flush=True)
