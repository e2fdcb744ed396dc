"""The part of a data set that one of several processes reads."""

from __future__ import annotations

import math

from ... import _core, distributed
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """The samples of process `rank` of `num_replicas`: every `num_replicas`-th one, of an order drawn from `seed` and the epoch if `shuffle`.

    Processes get as many each: some samples twice, or with `drop_last` not all of them. Numbers that are not given are those of `distributed`, which
    must be initialized then.
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
        rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        uneven = drop_last and len(dataset) % num_replicas
        self.num_samples = len(dataset) // num_replicas if uneven else math.ceil(len(dataset) / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        generator = _core.Generator()
        generator.manual_seed(self.seed + self.epoch)
        order = _core.randperm(len(self.dataset), generator=generator).tolist() if self.shuffle else list(range(len(self.dataset)))
        repeats = math.ceil(self.total_size / len(order)) if order else 0
        return iter((order * repeats)[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Has the next pass draw another order."""
        self.epoch = epoch
