"""`distributed` under the name of the file that PyTorch has it in."""

from __future__ import annotations

import datetime

from . import Backend, GroupMember, ProcessGroup, ReduceOp, Store
from ._state import resolve

__all__ = ["Backend", "GroupMember", "ProcessGroup", "ReduceOp", "Store", "default_pg_timeout"]

default_pg_timeout = default_pg_nccl_timeout = datetime.timedelta(minutes=30)


def _get_default_group():
    """The group of all processes. Raises ValueError before `init_process_group`."""
    return resolve(None)


def __getattr__(name):
    from .. import distributed

    return getattr(distributed, name)
