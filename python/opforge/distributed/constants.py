"""How long processes wait for each other."""

from __future__ import annotations

from .distributed_c10d import default_pg_timeout

__all__ = ["default_pg_timeout"]
