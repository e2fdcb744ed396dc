"""What a worker process knows of itself."""

from __future__ import annotations

from ..worker import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]


def _generate_state(base_seed, worker_id):
    """Four numbers of 32 bits that a worker may seed other generators with: those of `numpy.random.SeedSequence`."""
    import numpy

    return numpy.random.SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4).tolist()
