"""PyTorch's tutorial "Getting started with DistributedDataParallel", on the CPU: its argument is a port."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.optim as optim
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = sys.argv[1]
    backend = torch.distributed.get_default_backend_for_device("cpu")
    dist.init_process_group(backend, rank=rank, world_size=world_size)


def cleanup():
    dist.destroy_process_group()


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def demo_basic(rank, world_size):
    setup(rank, world_size)
    ddp_model = DDP(ToyModel())
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)
    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10))
    loss_fn(outputs, torch.randn(20, 5)).backward()
    optimizer.step()
    cleanup()
    sys.stdout.write(f"Finished running basic DDP example on rank {rank}.\n")


def demo_checkpoint(rank, world_size):
    setup(rank, world_size)
    ddp_model = DDP(ToyModel())
    checkpoint_path = tempfile.gettempdir() + f"/model-{sys.argv[1]}.checkpoint"
    if rank == 0:
        torch.save(ddp_model.state_dict(), checkpoint_path)
    dist.barrier()
    map_location = {"cuda:0": f"cuda:{rank}"}
    ddp_model.load_state_dict(torch.load(checkpoint_path, map_location=map_location, weights_only=True))
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)
    optimizer.zero_grad()
    loss_fn(ddp_model(torch.randn(20, 10)), torch.randn(20, 5)).backward()
    optimizer.step()
    total = sum(p.detach().abs().sum() for p in ddp_model.parameters())
    found = [torch.zeros_like(total) for _ in range(world_size)]
    dist.all_gather(found, total)
    assert all(torch.equal(one, total) for one in found)
    if rank == 0:
        os.remove(checkpoint_path)
    cleanup()
    sys.stdout.write(f"Finished running DDP checkpoint example on rank {rank}.\n")


def run_demo(demo_fn, world_size):
    mp.spawn(demo_fn, args=(world_size,), nprocs=world_size, join=True)


if __name__ == "__main__":
    run_demo(demo_basic, 2)
    run_demo(demo_checkpoint, 2)
