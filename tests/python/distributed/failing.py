"""A program of two ranks in which something goes wrong: its argument says what."""

import datetime
import signal
import sys
import time

import opforge as torch
import opforge.distributed as dist


def whole(part):
    """The sum of both ranks' parts, which are on their way when this returns."""
    ranks = torch.placement("cpu", [0, 1])
    return part.to_global(placement=ranks, sbp=torch.sbp.partial_sum).to_global(sbp=torch.sbp.broadcast).to_local()


def interrupt_rank_0():
    """As Ctrl-C does, while this rank waits; the other does not come."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    if rank == 1:
        time.sleep(60)
    signal.setitimer(signal.ITIMER_REAL, 0.5)


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
    interrupt_rank_0()
elif kind == "interrupted_global":
    y = x.to_global(placement=torch.placement("cpu", [0, 1]), sbp=torch.sbp.partial_sum)
    interrupt_rank_0()
    print(y.to_global(sbp=torch.sbp.broadcast).sum().item())
elif kind == "part_fails":
    if rank == 1:
        slow = torch.ones(700, 700)
        slow @ slow @ slow
    print(whole(torch.ones(2, dtype=torch.int64) % (1 - rank)))
elif kind in ("no_memory", "no_memory_for_a_part"):
    y = torch.ones(1 << 20).to_global(placement=torch.placement("cpu", [0, 1]), sbp=torch.sbp.split(0))
    if rank == 1:
        torch._core.set_memory_limit(torch._core.memory_allocated() + (1 << 19))
    y = y * 2 if kind == "no_memory_for_a_part" else y.to_global(sbp=torch.sbp.broadcast)
    print(y.sum().to_global(sbp=torch.sbp.broadcast).item())
elif kind == "diverged_global":
    y = whole(x)
    print(whole(y) if rank else dist.all_reduce(y))
elif kind == "caught":
    try:
        dist.all_reduce(x) if rank else dist.barrier()
    except dist.DistError as error:
        print(f"rank {rank} caught: {error}", flush=True)
        dist.all_reduce(x)
dist.all_reduce(x)
