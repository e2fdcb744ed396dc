"""PyTorch's tutorial on DistributedDataParallel, the part that its launcher starts."""

import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.optim as optim
from torch.nn.parallel import DistributedDataParallel as DDP


def demo_basic():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    assert dist.is_torchelastic_launched() and dist.get_node_local_rank() == rank
    model = DDP(nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5)))
    optimizer = optim.SGD(model.parameters(), lr=0.001)
    optimizer.zero_grad()
    nn.MSELoss()(model(torch.randn(20, 10)), torch.randn(20, 5)).backward()
    optimizer.step()
    sys.stdout.write(f"rank {rank} of {dist.get_world_size()} {sys.argv[1:]}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    demo_basic()
