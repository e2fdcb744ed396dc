"""A case: a call, and the work that it cannot do without."""

import time
from dataclasses import dataclass
from typing import Callable

SAMPLES = 15
# Calls that take as many seconds or more are waited for one by one: what was asked for many times and never looked at might not be computed at all.
LONG = 0.5e-3


@dataclass(frozen=True)
class Case:
    """`moved` bytes have to pass through memory, or `flops` operations to be computed; where both are 0 only the call counts."""

    call: Callable[[], object]
    moved: int = 0
    flops: int = 0


def clock(call, settle, seconds=0.15):
    """The median seconds of a call, of samples that fill the time; a sample ends when what was asked for is there."""
    for _ in range(3):
        timed(call, settle, 1)
    once = max(timed(call, settle, 1), 1e-7)
    batch = 1 if once > LONG else max(1, min(int(seconds / SAMPLES / once), 10_000))
    samples = max(5, min(SAMPLES, int(seconds / once / batch)))
    return sorted(timed(call, settle, batch) for _ in range(samples))[samples // 2]


def timed(call, settle, batch):
    """The seconds of one of `batch` calls. The last result is held until it is there."""
    start = time.perf_counter()
    for _ in range(batch):
        result = call()
    settle()
    del result
    return (time.perf_counter() - start) / batch


def recorded(call, *inputs):
    """A call and its gradients with respect to all inputs."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    weight = call(*leaves).detach() * 0 + 1

    def step():
        call(*leaves).backward(weight)
        for leaf in leaves:
            leaf.grad = None

    return step
