"""What calls on global tensors cost beside local ones, and what boxing takes.

`opforge run -n 2 bench/python/global_calls.py` (`pip install mpich`). The first table is of calls that need no boxing, in microseconds, on tensors of 4 floats: medians of rounds of many
calls. The second is of `P(sum)` to `B`, by the bytes of the tensor. Every rank measures; the first one prints. `--small` only shows that the program runs.
"""

import statistics
import sys
import time

import opforge as torch
import opforge.distributed as dist
from opforge import sbp

IS_SMALL = "--small" in sys.argv
ROUNDS, CALLS = (2, 10) if IS_SMALL else (7, 2000)
SIZES = (1, 256) if IS_SMALL else (1, 1 << 16, 1 << 20, 1 << 24)


def seconds(call, calls):
    """The median over rounds of one call's time."""

    def one_round():
        torch.synchronize()
        begun = time.perf_counter()
        for _ in range(calls):
            call()
        torch.synchronize()
        return (time.perf_counter() - begun) / calls

    one_round()
    return statistics.median(one_round() for _ in range(ROUNDS))


def calls(x, y):
    recorded = x.detach().requires_grad_()
    return {"x + y": lambda: x + y, "x.relu()": x.relu, "x.sum(0)": lambda: x.sum(0), "x + y, recorded": lambda: recorded + y}


def main():
    dist.init_process_group()
    row, is_first = torch.placement.all(), dist.get_rank() == 0
    local = torch.ones(4), torch.ones(4)
    spread = [one.to_global(row, sbp.broadcast) for one in local]
    if is_first:
        print(f"{'call':18} {'local':>8} {'global':>8} {'more':>8}  us")
    for (name, here), there in zip(calls(*local).items(), calls(*spread).values()):
        here, there = 1e6 * seconds(here, CALLS), 1e6 * seconds(there, CALLS)
        if is_first:
            print(f"{name:18} {here:8.2f} {there:8.2f} {there - here:8.2f}")
    for size in SIZES:
        part = torch.ones(size).to_global(row, sbp.partial_sum)
        took = 1e6 * seconds(lambda: part.to_global(sbp=sbp.broadcast), 1 if IS_SMALL else max(2, min(200, (1 << 24) // size)))
        if is_first:
            print(f"P(sum) to B, {4 * size:9} bytes {took:10.1f} us")


main()
