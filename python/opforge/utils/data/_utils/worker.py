"""What a worker process knows of itself."""

from __future__ import annotations

from ..worker import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
