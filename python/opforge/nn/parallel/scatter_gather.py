"""Batches shared among devices, which opforge does not do."""

from __future__ import annotations

from ..._absent import absent_names

globals().update(absent_names(__name__, "opforge does not share batches among devices; ranks of opforge.distributed do", functions="gather scatter scatter_kwargs"))
