"""A program of ranks that train until one of them is killed in the middle of a step: the others get an error within their limit."""

import datetime
import os
import signal
import sys
import time

import opforge as torch
import opforge.distributed as dist
from opforge import nn
from opforge.nn.parallel import DistributedDataParallel

LIMIT = 3.0
dist.init_process_group(timeout=datetime.timedelta(seconds=LIMIT))
rank, size = dist.get_rank(), dist.get_world_size()
model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 8)), bucket_cap_mb=0.1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
begun = time.monotonic()
try:
    for step in range(1000):
        if step == 5 and rank == size - 1:
            # In the middle of backward, when buckets are under way.
            model.module[0].register_full_backward_pre_hook(lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        begun = time.monotonic()
        optimizer.zero_grad()
        model(torch.randn(32, 64)).square().mean().backward()
        optimizer.step()
except dist.DistError as error:
    waited = time.monotonic() - begun
    assert step == 5 and str(rank) in str(error), (step, str(error))
    assert waited < 3 * LIMIT, waited
    print(f"rank {rank} stops at step {step}: {error}", flush=True)
    sys.exit(7)
