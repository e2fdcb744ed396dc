"""A program of two ranks in which something goes wrong: its argument says what."""

import datetime
import signal
import sys
import time

import opforge as torch
import opforge.distributed as dist

dist.init_process_group(timeout=datetime.timedelta(seconds=3))
rank, kind = dist.get_rank(), sys.argv[1]
x = torch.ones(2 + (kind == "shapes" and rank))
if kind == "diverged" and rank == 1:
    dist.broadcast(x, 0)
elif kind == "raises" and rank == 1:
    raise FileNotFoundError("no such file: weights")
elif kind == "raises_under_way":
    works = [dist.all_reduce(torch.ones(1_000_000), async_op=True) for _ in range(5 - rank)]
    if rank == 1:
        raise FileNotFoundError("no such file: weights")
    [work.wait() for work in works]
elif kind == "leaves" and rank == 1:
    sys.exit(3)
elif kind == "stuck" and rank == 1:
    time.sleep(60)
elif kind == "interrupted":
    # As Ctrl-C does, while this rank waits.
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    if rank == 1:
        signal.setitimer(signal.ITIMER_REAL, 0)
        time.sleep(60)
elif kind == "caught":
    try:
        dist.all_reduce(x) if rank else dist.barrier()
    except dist.DistError as error:
        print(f"rank {rank} caught: {error}", flush=True)
        dist.all_reduce(x)
dist.all_reduce(x)
