"""Grids of devices, which need process groups."""

from __future__ import annotations

from . import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
