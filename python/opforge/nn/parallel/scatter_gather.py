"""Batches shared among devices, of which there is one."""

from __future__ import annotations

from ..._absent import absent_names

globals().update(absent_names(__name__, "opforge is built for the CPU alone", functions="gather scatter scatter_kwargs"))
