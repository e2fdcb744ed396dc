"""Experiments with tensors that are spread over processes, which need process groups."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

globals().update(absent_names(__name__, _REASON, functions="context_parallel implicit_replication local_map register_sharding"))
