"""What was measured, and figures that follow from it."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Speeds:
    """What plain loops on all cores reach: bytes copied and read a second, and multiplications and additions."""

    copy: float
    read: float
    flops: float


@dataclass(frozen=True)
class Outcome:
    """A case's medians in seconds, by library, and its least work."""

    group: str
    name: str
    moved: int
    flops: int
    seconds: dict

    @property
    def ours(self):
        return self.seconds["opforge"]

    @property
    def torch(self):
        return self.seconds["torch"]

    @property
    def ratio(self):
        """PyTorch's time over ours: above 1, opforge is faster."""
        return self.torch / self.ours

    def share(self, speeds):
        """The share of the machine's speed that opforge reaches; None where only the call counts."""
        floor = max(self.moved / speeds.copy, self.flops / speeds.flops)
        return floor / self.ours if floor else None


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def duration(seconds):
    unit, scale = next((u, s) for u, s in (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)) if seconds >= s or u == "ns")
    return f"{seconds / scale:.3g} {unit}"
