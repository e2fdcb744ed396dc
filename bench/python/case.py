"""A case: a call, and the work that it cannot do without."""

import time
from dataclasses import dataclass
from typing import Callable

SAMPLES = 15


@dataclass(frozen=True)
class Case:
    """`moved` bytes have to pass through memory, or `flops` operations to be computed; where both are 0 only the call counts."""

    call: Callable[[], object]
    moved: int = 0
    flops: int = 0


def clock(call, settle, seconds=0.15):
    """The median seconds of a call, of samples that fill the time; a sample ends when what was asked for is there."""
    for _ in range(3):
        call()
    settle()
    start = time.perf_counter()
    call()
    settle()
    once = max(time.perf_counter() - start, 1e-7)
    batch = max(1, min(int(seconds / SAMPLES / once), 10_000))
    times = []
    for _ in range(max(5, min(SAMPLES, int(seconds / once / batch)))):
        start = time.perf_counter()
        for _ in range(batch):
            call()
        settle()
        times.append((time.perf_counter() - start) / batch)
    return sorted(times)[len(times) // 2]


def recorded(call, *inputs):
    """A call and its gradients with respect to all inputs."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    weight = call(*leaves).detach() * 0 + 1

    def step():
        call(*leaves).backward(weight)
        for leaf in leaves:
            leaf.grad = None

    return step
